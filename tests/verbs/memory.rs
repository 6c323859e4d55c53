//! What a file costs in memory, measured on the program itself.

use super::{Profile, read};
use std::fs::File;

const MIB: u64 = 1024 * 1024;

/// Uploads a file of that size and gives the most memory that was resident so far, in bytes.
fn peak_of_upload(profile: &Profile, size: u64) -> u64 {
    let path = profile.home.path().join("trace.bin");
    File::create(&path).unwrap().set_len(size).unwrap();
    let name = path.to_str().unwrap();
    let mut sending = profile.start(&["send", "--json", "--attach", name, "plain"]);
    sending.line(|line| line.contains("\"event\":\"accepted\""));
    let status = read(format!("/proc/{}/status", sending.child.id()));
    assert_eq!(sending.exit_code(), Some(0));
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    kib * 1024
}

#[test]
fn a_large_upload_takes_no_more_memory_than_a_small_one() {
    let profile = Profile::new("iris", &["speed=400", "iris.max-upload=1073741824"]);
    let small = peak_of_upload(&profile, MIB);
    let large = peak_of_upload(&profile, 128 * MIB);
    assert!(
        large < small + 8 * MIB,
        "{} MiB for 1 MiB, {} MiB for 128 MiB",
        small / MIB,
        large / MIB
    );
}
