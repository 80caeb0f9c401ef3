//! The scripts' hashes are pinned, so that no hashing is done at run time: here they are checked.

use leasehold::redis::SCRIPTS;

#[test]
fn every_pinned_hash_is_that_of_its_text() {
    for script in SCRIPTS {
        for key_locking in [true, false] {
            let text = script.text(key_locking);
            assert_eq!(
                script.hash(key_locking),
                sha1_smol::Sha1::from(text.as_bytes()).digest().to_string(),
                "pin the hash on the right in src/redis/script.rs for {} (key locking: {key_locking})",
                script.name,
            );
        }
    }
}

#[test]
fn the_key_locking_flag_is_the_very_first_line() {
    for script in SCRIPTS {
        assert!(
            script
                .text(true)
                .starts_with("#!lua flags=allow-key-locking\n")
        );
        assert!(!script.text(false).contains("#!lua"));
    }
}
