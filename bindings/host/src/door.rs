//! What a Worker's variables say about access.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use leasehold::access::{Access, Fault, Flaw, Operator, Origins, Right, not_configured};
use leasehold::protocol::wire::Verb;
use leasehold::protocol::{Call, Refusal, Response};
use wasm_bindgen::prelude::*;

/// Who may do what, as the variables say.
#[wasm_bindgen]
pub struct Door {
    access: Option<Access>,
    operator: Option<Operator>,
    origins: Origins,
    faults: Vec<Fault>,
}

#[wasm_bindgen]
impl Door {
    /// From `LEASEHOLD_TOKENS`, `LEASEHOLD_OPERATOR_TOKEN` and `LEASEHOLD_ORIGINS`, each of which
    /// may be undefined.
    #[wasm_bindgen(constructor)]
    pub fn new(tokens: &JsValue, operator: &JsValue, origins: &JsValue) -> Self {
        let mut faults = Vec::new();
        let mut sound = |faulty: Vec<Fault>| faults.extend(faulty);
        let access = text(tokens, Fault::of_tokens(None, Flaw::NotText))
            .and_then(|text| Access::parse(&text.unwrap_or_default()));
        let operator = text(operator, Fault::of_operator(Flaw::NotText)).and_then(|text| {
            let operator = text.map(|text| Operator::new(text.trim()));
            operator.transpose().map_err(Vec::from)
        });
        let origins = text(origins, Fault::of_origins(None, Flaw::NotText))
            .and_then(|text| Origins::parse(&text.unwrap_or_default()));
        Self {
            access: access.map_err(&mut sound).ok(),
            operator: operator.map_err(&mut sound).ok().flatten(),
            origins: origins.map_err(&mut sound).unwrap_or_default(),
            faults,
        }
    }

    /// Whether there is an operation of this name.
    pub fn knows(&self, operation: &str) -> bool {
        Verb::from_name(operation).is_some()
    }

    /// Why the bearer may not do this to any key, if that is so.
    pub fn denial(&self, bearer: &str, operation: &str) -> Option<String> {
        let refusal = self
            .access()
            .and_then(|access| access.authorize(bearer, right(operation)));
        Some(Response::Refused(refusal.err()?).to_json())
    }

    /// What the protocol knows of the body of a request of this operation, as JSON, and the key that
    /// it is about, if it is about one; or the answer, as JSON, if it is not carried out for this bearer.
    #[wasm_bindgen(unchecked_return_type = "[call: string, key?: string] | string")]
    pub fn admit(&self, bearer: &str, operation: &str, body: &str) -> JsValue {
        match self.admitted(bearer, operation, body) {
            Ok(call) => {
                let mut admitted = vec![call.to_json()];
                if let Call::Request(request) = call {
                    admitted.push(request.key.as_str().into());
                }
                admitted.into()
            }
            Err(refusal) => Response::Refused(refusal).to_json().into(),
        }
    }

    fn admitted(&self, bearer: &str, operation: &str, body: &str) -> Result<Call, Refusal> {
        let verb = Verb::from_name(operation).ok_or_else(not_configured)?;
        let call = Call::from_body(verb, body)?;
        self.access()?
            .check(bearer, Right::for_operation(verb), &call)?;
        Ok(call)
    }

    fn access(&self) -> Result<&Access, Refusal> {
        self.access.as_ref().ok_or_else(not_configured)
    }

    /// Whether it is the operator.
    #[wasm_bindgen(js_name = isOperator)]
    pub fn is_operator(&self, bearer: &str) -> bool {
        let operator = self.operator.as_ref();
        operator.is_some_and(|operator| operator.is(bearer))
    }

    /// Whether a page of this origin may ask.
    pub fn allows(&self, origin: &str) -> bool {
        self.origins.allow(origin)
    }

    /// What is wrong with the variables, in sentences.
    pub fn faults(&self) -> Vec<String> {
        self.faults.iter().map(Fault::message).collect()
    }
}

impl Door {
    /// What the keys of the tokens' scopes begin with.
    pub(crate) fn prefixes(&self) -> Vec<String> {
        let access = self.access.iter();
        access.flat_map(Access::prefixes).map(Into::into).collect()
    }
}

fn right(operation: &str) -> Right {
    Verb::from_name(operation).map_or(Right::Hold, Right::for_operation)
}

fn text(value: &JsValue, fault: Fault) -> Result<Option<String>, Vec<Fault>> {
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    value.as_string().map(Some).ok_or(fault.into())
}
