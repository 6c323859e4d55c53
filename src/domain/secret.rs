//! A secret never shows itself: no `Display`, a redacted `Debug`, no serialisation, wiped on drop.

use std::fmt;
use zeroize::Zeroize;

/// A token or password.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes the text over.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one frame or header that carries it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is anything in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl PartialEq for Secret {
    /// Compares in time that depends on the lengths only.
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.0.as_bytes(), other.0.as_bytes());
        let mut difference = a.len() ^ b.len();
        for i in 0..a.len().min(b.len()) {
            difference |= usize::from(a[i] ^ b[i]);
        }
        difference == 0
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
