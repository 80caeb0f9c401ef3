//! Bearer tokens and scopes against a judge that is written out plainly.

use leasehold::access::{Access, Entry, Misconfigured};
use leasehold::protocol::Code;

use crate::bytes::Bytes;
use crate::seen::{Seen, roughly};

/// Configures access out of the bytes, and asks for some keys under some tokens.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let entries: Vec<Entry> = (0..bytes.below(4)).map(|_| entry(&mut bytes)).collect();
    let access = match Access::new(entries.clone()) {
        Ok(access) => access,
        Err(why) => {
            seen.note(("misconfigured", format!("{why:?}")));
            return assert_eq!(why, flaw(&entries).expect("a reason to refuse everybody"));
        }
    };
    assert_eq!(flaw(&entries), None, "weak entries were taken");
    let shown = format!("{access:?}");
    for _ in 0..4 {
        let bearer = if bytes.once_in(4) {
            bytes.text(40)
        } else {
            nearly(&entries[bytes.below(entries.len())].token, &mut bytes)
        };
        let key = name(&mut bytes);
        check(&access, &entries, &bearer, &key, seen);
    }
    // A scope is no secret, and may hold the same text as another's token.
    let scopes = entries
        .iter()
        .flat_map(|entry| entry.prefixes.iter().flatten());
    let public: String = scopes.map(String::as_str).collect();
    for entry in &entries {
        assert!(
            public.contains(&entry.token) || !shown.contains(&entry.token),
            "a token is shown"
        );
    }
}

fn check(access: &Access, entries: &[Entry], bearer: &str, key: &str, seen: &mut Seen) {
    let fitting: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.token == bearer)
        .collect();
    let opens = |entry: &&Entry| match &entry.prefixes {
        None => true,
        Some(all) => all.iter().any(|prefix| key.starts_with(prefix.as_str())),
    };
    let expected = match (fitting.is_empty(), fitting.iter().any(opens)) {
        (true, _) => Some("unauthorized"),
        (false, false) => Some("out-of-scope"),
        (false, true) => None,
    };
    seen.note((expected, fitting.len(), roughly(bearer.len())));
    let answer = access.check(bearer, key).err();
    assert_eq!(
        answer.as_ref().map(|refusal| refusal.reason.as_ref()),
        expected
    );
    if let Some(refusal) = answer {
        assert_eq!(refusal.code, Code::Denied);
        assert_eq!(refusal.retry_after, None);
        assert!(bearer.len() < Access::MIN_TOKEN_BYTES || !refusal.message.contains(bearer));
    }
    assert_eq!(access.authenticate(bearer).is_ok(), !fitting.is_empty());
}

/// The first reason not to trust these entries.
fn flaw(entries: &[Entry]) -> Option<Misconfigured> {
    if entries.is_empty() {
        return Some(Misconfigured::NoToken);
    }
    let weak = entries.iter().any(|entry| entry.token.len() < 16);
    weak.then_some(Misconfigured::ShortToken)
}

fn entry(bytes: &mut Bytes) -> Entry {
    let token = match bytes.below(8) {
        0 => bytes.text(40),
        which => ["0123456789abcdef", "0123456789abcdef0", "ééééééééé"][which % 3].to_string(),
    };
    let prefixes = (0..bytes.below(4)).map(|_| name(bytes)).collect();
    Entry {
        token,
        prefixes: (!bytes.once_in(3)).then_some(prefixes),
    }
}

/// A text, or what somebody might take for it.
fn nearly(text: &str, bytes: &mut Bytes) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    match bytes.below(6) {
        0 if !chars.is_empty() => {
            chars.pop();
        }
        1 => chars.push(bytes.byte().into()),
        2 if !chars.is_empty() => {
            let place = bytes.below(chars.len().min(256));
            chars[place] = bytes.byte().into();
        }
        3 => return text.to_uppercase(),
        _ => {}
    }
    chars.into_iter().collect()
}

fn name(bytes: &mut Bytes) -> String {
    match bytes.below(6) {
        0 => bytes.text(8),
        which => ["", "o", "orders:", "orders:42", "é"][which - 1].to_string(),
    }
}
