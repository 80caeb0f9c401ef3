//! The script, before it is shortened: what it is told of the rules that are the same on every host.

use leasehold::host::HostConfig;
use leasehold::redis::{KEY_LOCKING, script};

#[test]
fn the_script_goes_by_the_settings_of_a_redis_host() {
    let script = script();
    let config = HostConfig::REDIS;
    for line in [
        format!("local GRACE = {}\n", config.grace.as_micros()),
        format!("local RETENTION = {}\n", config.retention.as_micros()),
        format!("local WAITERS = {}\n", config.max_waiters),
        // A fortieth of the term, half a second at most.
        "local MARGIN_PART = 40\n".to_string(),
        "local MARGIN_MOST = 500000\n".to_string(),
    ] {
        assert!(script.contains(&line), "{line}");
    }
}

#[test]
fn the_key_locking_flag_is_a_line_of_its_own() {
    assert_eq!(KEY_LOCKING, "#!lua flags=allow-key-locking\n");
    assert!(!script().contains("#!lua"));
}
