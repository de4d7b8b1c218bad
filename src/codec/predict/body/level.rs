//! What the encoder and the decoder of a tile need of a level: what each stage does.

use crate::codec::predict::{code, map, predict};

/// A level as all stages have it.
pub trait Level: map::level::Level + predict::level::Level + code::level::Level {}

impl<P: map::level::Level + predict::level::Level + code::level::Level> Level for P {}
