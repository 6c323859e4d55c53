//! Text that is safe to show: the one type every sink takes, the one width function, grapheme
//! cuts and truncation, sizes in words. Knows nothing else of ours.

mod class;
mod clean;
mod growing;
mod names;
mod safe;
mod size;
mod unmarked;
mod width;

pub use growing::{GrowingText, common_prefix};
pub use names::{is_right_to_left, mixes_scripts};
pub use safe::{SafeText, clean_line};
pub use size::size_words;
pub use unmarked::unmarked;
pub use width::{
    Cluster, Clusters, cluster_width, clusters, cut_to_width, graphemes, lead, truncate, width,
};
