//! Bearer tokens and scopes against a judge that is written out plainly.

use leasehold::access::{Access, Entry, Fault, Flaw, Right, Rights};
use leasehold::id::OpId;
use leasehold::name::Key;
use leasehold::protocol::{Call, Code, Operation, Request};

use crate::bytes::Bytes;
use crate::seen::{Seen, roughly};

/// Configures access out of the bytes, and asks for some keys under some tokens.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let entries: Vec<Entry> = (0..bytes.below(4)).map(|_| entry(&mut bytes)).collect();
    let access = match Access::new(entries.iter().cloned().map(Ok).collect()) {
        Ok(access) => access,
        Err(faults) => {
            seen.note(("faulty", format!("{faults:?}")));
            return assert_eq!(faults, flaws(&entries));
        }
    };
    assert_eq!(flaws(&entries), [], "faulty entries were taken");
    let shown = format!("{access:?}");
    for _ in 0..4 {
        let bearer = if bytes.once_in(4) {
            bytes.text(40)
        } else {
            nearly(&entries[bytes.below(entries.len())].token, &mut bytes)
        };
        let key = name(&mut bytes);
        let right = Right::ALL[bytes.below(Right::ALL.len())];
        check(&access, &entries, &bearer, right, &key, seen);
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

fn check(
    access: &Access,
    entries: &[Entry],
    bearer: &str,
    right: Right,
    key: &str,
    seen: &mut Seen,
) {
    let request = Request {
        key: Key::parse(key).unwrap_or_else(|_| Key::parse("k").expect("a key")),
        op: OpId::from_bits(1),
        operation: Operation::Inspect,
    };
    let key = request.key.as_str();
    let found = entries.iter().find(|entry| entry.token == bearer);
    let opens = |entry: &Entry| match &entry.prefixes {
        None => true,
        Some(all) => all.iter().any(|prefix| key.starts_with(prefix.as_str())),
    };
    let expected = match found {
        None => Some("unauthorized"),
        Some(entry) if !entry.rights.include(right) => Some("no-right"),
        Some(entry) if !opens(entry) => Some("out-of-scope"),
        Some(_) => None,
    };
    seen.note((expected, right as u8, roughly(bearer.len())));
    let answer = access.check(bearer, right, &Call::Request(request)).err();
    assert_eq!(
        answer.as_ref().map(|refusal| refusal.reason.as_ref()),
        expected
    );
    if let Some(refusal) = answer {
        assert_eq!(refusal.code, Code::Denied);
        assert_eq!(refusal.retry_after, None);
        assert!(bearer.len() < Entry::MIN_TOKEN_BYTES || !refusal.message.contains(bearer));
    }
    let anywhere = access.authorize(bearer, right).is_ok();
    assert_eq!(anywhere, matches!(expected, None | Some("out-of-scope")));
}

/// Every reason not to trust these entries.
fn flaws(entries: &[Entry]) -> Vec<Fault> {
    if entries.is_empty() {
        return vec![Fault::of_tokens(None, Flaw::NoToken)];
    }
    let mut sound: Vec<&str> = Vec::new();
    let mut faults = Vec::new();
    for (index, Entry { token, .. }) in entries.iter().enumerate() {
        let flaw = if token.chars().any(|char| !('!'..='~').contains(&char)) {
            Flaw::Unmatchable
        } else if token.len() < 16 {
            Flaw::Short
        } else if sound.contains(&token.as_str()) {
            Flaw::Duplicate
        } else {
            sound.push(token);
            continue;
        };
        faults.push(Fault::of_tokens(Some(index + 1), flaw));
    }
    faults
}

fn entry(bytes: &mut Bytes) -> Entry {
    let token = match bytes.below(8) {
        0 => bytes.text(40),
        which => [
            "0123456789abcdef",
            "0123456789abcdef0",
            "orders-0123456789",
            "ééééééééé",
            "0123456789 abcdef",
        ][which % 5]
            .to_string(),
    };
    let prefixes = (0..bytes.below(4)).map(|_| name(bytes)).collect();
    Entry {
        token,
        prefixes: (!bytes.once_in(3)).then_some(prefixes),
        rights: match bytes.below(4) {
            0 => Rights::ALL,
            1 => Rights::DEFAULT,
            which => Rights::named([Right::ALL[which - 1].name()]).expect("a right"),
        },
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
