//! Missing values, from their names to their places: which bits mark them, the plane that tells where they are in a
//! chunk, how they are taken out before a codec sees the data and put back behind it, what keeps other elements from
//! coming back equal to one, and the search for those that nobody declared (`sentinel`, which stands above the rest).

pub mod collisions;
pub mod equal;
pub mod gaps;
pub mod plane;
pub mod sentinel;
mod values;

pub use values::{MAX_MISSING, Missing, MissingValue, next_above};
