//! What a Worker's variables say about access, read: text, or JSON in it.

use js_sys::{Array, JSON, Object};
use leasehold::access::{
    Access, Entry, Fault, Flaw, Operator, Origins, Right, Rights, not_configured,
};
use leasehold::protocol::{Refusal, Response};
use leasehold_records::js::field;
use wasm_bindgen::prelude::*;

use crate::record;

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
        let access = access(tokens).map_err(&mut sound).ok();
        let operator = text(operator, Fault::of_operator(Flaw::NotText))
            .and_then(|text| text.map(|text| Operator::new(text.trim())).transpose())
            .unwrap_or_else(|fault| {
                sound(fault.into());
                None
            });
        let origins = text(origins, Fault::of_origins(None, Flaw::NotText))
            .map_err(Vec::from)
            .and_then(|text| Origins::parse(&text.unwrap_or_default()))
            .map_err(&mut sound)
            .unwrap_or_default();
        Self {
            access,
            operator,
            origins,
            faults,
        }
    }

    /// Whether there is an operation of this name.
    #[wasm_bindgen(js_name = knows)]
    pub fn knows(&self, operation: &str) -> bool {
        Right::for_operation(operation).is_some()
    }

    /// Why the bearer may not do this to this key, if that is so; without a key, to any.
    pub fn denial(&self, bearer: &str, operation: &str, key: Option<String>) -> JsValue {
        match self.judge(bearer, operation, key.as_deref()) {
            Ok(()) => JsValue::UNDEFINED,
            Err(refusal) => record::response(Response::Refused(refusal)),
        }
    }

    fn judge(&self, bearer: &str, operation: &str, key: Option<&str>) -> Result<(), Refusal> {
        let access = self.access.as_ref().ok_or_else(not_configured)?;
        let right = Right::for_operation(operation).unwrap_or(Right::Hold);
        access.check(bearer, right, key)
    }

    /// Whether it is the operator.
    #[wasm_bindgen(js_name = isOperator)]
    pub fn is_operator(&self, bearer: &str) -> bool {
        self.operator
            .as_ref()
            .is_some_and(|operator| operator.is(bearer))
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

fn text(value: &JsValue, fault: Fault) -> Result<Option<String>, Fault> {
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    value.as_string().map(Some).ok_or(fault)
}

fn access(tokens: &JsValue) -> Result<Access, Vec<Fault>> {
    let text = text(tokens, Fault::of_tokens(None, Flaw::NotText))?.unwrap_or_default();
    Access::new(entries(text.trim())?)
}

fn entries(text: &str) -> Result<Vec<Result<Entry, Flaw>>, Fault> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if !text.starts_with(['[', '{']) {
        return Ok(vec![Ok(Entry {
            token: text.into(),
            prefixes: None,
            rights: Rights::ALL,
        })]);
    }
    let list = JSON::parse(text).ok();
    let list = list.and_then(|list| list.dyn_into::<Array>().ok());
    let list = list.ok_or(Fault::of_tokens(None, Flaw::Unreadable))?;
    Ok(list.iter().map(|value| entry(&value)).collect())
}

fn entry(value: &JsValue) -> Result<Entry, Flaw> {
    let object = value.dyn_ref::<Object>().ok_or(Flaw::Entry)?;
    if Array::is_array(value) {
        return Err(Flaw::Entry);
    }
    let fields = ["token", "prefixes", "rights"].map(JsValue::from);
    if !Object::keys(object)
        .iter()
        .all(|name| fields.contains(&name))
    {
        return Err(Flaw::Field);
    }
    Ok(Entry {
        token: field(value, "token").as_string().ok_or(Flaw::Token)?,
        prefixes: texts(value, "prefixes", Flaw::Prefixes)?,
        rights: match texts(value, "rights", Flaw::Rights)? {
            None => Rights::DEFAULT,
            Some(names) => Rights::named(names.iter().map(String::as_str))?,
        },
    })
}

fn texts(value: &JsValue, name: &str, flaw: Flaw) -> Result<Option<Vec<String>>, Flaw> {
    let list = field(value, name);
    if list.is_undefined() {
        return Ok(None);
    }
    let list = list.dyn_into::<Array>().map_err(|_| flaw)?;
    let texts = list.iter().map(|text| text.as_string().ok_or(flaw));
    texts.collect::<Result<_, _>>().map(Some)
}
