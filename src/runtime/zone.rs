//! The time zone of this machine, as an offset for the state, which knows no zones.

use jiff::tz::TimeZone;
use std::path::{Path, PathBuf};

/// Minutes east of UTC of the local zone, now.
pub fn utc_offset_minutes() -> i32 {
    let now = jiff::Timestamp::now();
    local_zone().to_offset(now).seconds() / 60
}

/// The zone of this machine. Looking a name up walks through all zones there are, which takes longer
/// than everything else at the start together, so the file of the zone is read where it is known.
fn local_zone() -> TimeZone {
    let file = match std::env::var("TZ") {
        Err(_) => Some(PathBuf::from("/etc/localtime")),
        Ok(name) => {
            let name = name.trim_start_matches(':');
            let is_plain = !name.is_empty()
                && !name.contains("..")
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '+'));
            is_plain.then(|| Path::new("/usr/share/zoneinfo").join(name.trim_start_matches('/')))
        }
    };
    file.and_then(|file| std::fs::read(file).ok())
        .and_then(|bytes| TimeZone::tzif("", &bytes).ok())
        .unwrap_or_else(TimeZone::system)
}
