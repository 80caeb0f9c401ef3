//! The script's hashes are pinned, so that no hashing is done at run time: here they are checked.

use leasehold::redis::{hash, text};

#[test]
fn every_pinned_hash_is_that_of_its_text() {
    for key_locking in [true, false] {
        assert_eq!(
            hash(key_locking),
            sha1_smol::Sha1::from(text(key_locking).as_bytes())
                .digest()
                .to_string(),
            "pin the hash on the right in src/redis/script.rs (key locking: {key_locking})",
        );
    }
}

#[test]
fn the_key_locking_flag_is_the_very_first_line() {
    assert!(text(true).starts_with("#!lua flags=allow-key-locking\n"));
    assert!(!text(false).contains("#!lua"));
}

#[test]
fn comments_and_indentation_are_not_sent() {
    for line in text(false).lines() {
        assert!(
            !line.is_empty() && !line.starts_with(' ') && !line.starts_with("--"),
            "{line}"
        );
    }
}
