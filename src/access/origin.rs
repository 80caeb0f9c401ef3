//! The pages that may ask from a browser.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Fault, Flaw};

/// The origins of pages that may ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(Vec<String>);

impl Origins {
    /// From a list with commas between.
    ///
    /// # Errors
    /// Every [`Fault`] there is: then no page may ask.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        let all = text
            .split(',')
            .map(str::trim)
            .filter(|text| !text.is_empty());
        let mut faults = Vec::new();
        let mut origins = Vec::new();
        for (index, origin) in all.enumerate() {
            if is_origin(origin) {
                origins.push(origin.into());
            } else {
                faults.push(Fault::of_origins(Some(index + 1), Flaw::Origin));
            }
        }
        if faults.is_empty() {
            Ok(Self(origins))
        } else {
            Err(faults)
        }
    }

    /// Whether a page of this origin may ask.
    pub fn allow(&self, origin: &str) -> bool {
        self.0.iter().any(|allowed| allowed == origin)
    }
}

/// Written as a browser writes it, or it would never match: scheme, host, and a port that is not
/// the scheme's own.
fn is_origin(text: &str) -> bool {
    let secure = text.strip_prefix("https://").map(|rest| (rest, "443"));
    let plain = || text.strip_prefix("http://").map(|rest| (rest, "80"));
    let Some((rest, own)) = secure.or_else(plain) else {
        return false;
    };
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let is_host =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.[]:".contains(&byte);
    let is_port = |port: &str| {
        port != own
            && port
                .parse::<u16>()
                .is_ok_and(|_| !port.starts_with(['0', '+']))
    };
    !host.is_empty() && host.bytes().all(is_host) && port.is_none_or(is_port)
}
