//! Text that is safe to show: the one type every sink takes, the one width function, grapheme
//! cuts and truncation. Knows nothing else of ours.

mod safe;
mod width;

pub use safe::{SafeText, clean_start};
pub use width::{cut_to_width, graphemes, truncate, width};
