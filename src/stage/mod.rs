//! The transforms that codecs are made of, one file each.

pub mod checksum;
