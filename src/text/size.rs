//! Sizes in words, the same everywhere.

/// A number of bytes as a person reads it: "1.2 MB".
pub fn size_words(bytes: u64) -> String {
    let mut scaled = bytes;
    let mut tenths = 0;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if scaled < 1000 {
            return if unit == "B" || scaled >= 100 {
                format!("{scaled} {unit}")
            } else {
                format!("{scaled}.{tenths} {unit}")
            };
        }
        tenths = scaled % 1000 / 100;
        scaled /= 1000;
    }
    format!("{scaled} PB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(size_words(999), "999 B");
        assert_eq!(size_words(1200), "1.2 kB");
        assert_eq!(size_words(524_288), "524 kB");
        assert_eq!(size_words(64 << 20), "67.1 MB");
        assert_eq!(size_words(u64::MAX), "18446 PB");
    }
}
