//! The filters of a dataset.

use std::ffi::{c_int, c_uint};

use sleek::hdf5::FILTER_ID;

use super::{Hdf5, Id, h5};

/// HDF5's own filters by number.
pub const DEFLATE: c_int = 1;
pub const SHUFFLE: c_int = 2;
pub const FLETCHER32: c_int = 3;

/// Words of a filter that are read; SLEEK has fewer.
const WORDS: usize = 256;

pub struct Filter {
    pub id: c_int,
    pub words: Vec<c_uint>,
}

impl Filter {
    pub fn new(id: c_int, words: Vec<c_uint>) -> Filter {
        Filter { id, words }
    }

    pub fn is_sleek(&self) -> bool {
        self.id == FILTER_ID as c_int
    }

    /// Whether whatever is written through it comes back bit for bit, as far as that is known. Blosc2 may cut digits.
    pub fn gives_every_byte_back(&self) -> bool {
        matches!(self.id, DEFLATE | SHUFFLE | 3..=5 | 32000 | 32001 | 32004 | 32008 | 32015)
    }
}

/// A dataset's filters, of the list of its properties, in the order in which they are written through.
pub fn pipeline(properties: &Id) -> Result<Vec<Filter>, String> {
    let hdf5 = properties.hdf5;
    let count = h5!(hdf5, H5Pget_nfilters(properties.id))?;
    let filter = |i| {
        let (mut flags, mut count, mut config, mut words) = (0, WORDS, 0, vec![0; WORDS]);
        let no_name = std::ptr::null_mut();
        let (flags, config, values) = (&raw mut flags, &raw mut config, words.as_mut_ptr());
        let id = h5!(hdf5, H5Pget_filter2(properties.id, i, flags, &raw mut count, values, 0, no_name, config))?;
        words.truncate(count);
        Ok(Filter { id, words })
    };
    (0..count as u32).map(filter).collect()
}

/// Their ids.
pub fn filters(properties: &Id) -> Result<Vec<c_int>, String> {
    Ok(pipeline(properties)?.into_iter().map(|filter| filter.id).collect())
}

/// Why a dataset of these filters cannot be read, if the library cannot undo one, in words that follow its name.
pub fn lacks(hdf5: &Hdf5, properties: &Id) -> Result<Option<String>, String> {
    Ok(missing_filter(hdf5, properties)?.map(|id| {
        let name = filter_name(id);
        let name = if name.starts_with("filter") { String::new() } else { format!(" ({name})") };
        format!("needs filter {id}{name}, which HDF5 does not find")
    }))
}

/// The first filter that the library cannot undo.
pub fn missing_filter(hdf5: &Hdf5, properties: &Id) -> Result<Option<c_int>, String> {
    for id in filters(properties)? {
        if h5!(hdf5, H5Zfilter_avail(id))? == 0 {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// A filter's name, for those that are in use.
pub fn filter_name(id: c_int) -> String {
    if id == FILTER_ID as c_int {
        return "SLEEK".into();
    }
    KNOWN.iter().find(|(k, _)| *k == id).map_or_else(|| format!("filter {id}"), |(_, name)| (*name).into())
}

/// Filters in words that `from_words` reads, such as `shuffle=4, deflate=6`.
pub fn in_words(filters: &[Filter]) -> String {
    let each = filters.iter().map(|filter| {
        let name =
            KNOWN.iter().find(|(id, _)| *id == filter.id).map_or(filter.id.to_string(), |(_, name)| (*name).into());
        let words: Vec<String> = filter.words.iter().map(c_uint::to_string).collect();
        if words.is_empty() { name } else { format!("{name}={}", words.join(":")) }
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The filters; `None` if the text is none of `in_words`.
pub fn from_words(text: &str) -> Option<Vec<Filter>> {
    let of = |item: &str| {
        let (name, words) = item.trim().split_once('=').unwrap_or((item.trim(), ""));
        let known = KNOWN.iter().find(|(_, known)| *known == name).map(|(id, _)| *id);
        let words = words.split(':').filter(|word| !word.is_empty()).map(|word| word.parse().ok());
        Some(Filter { id: known.or_else(|| name.parse().ok())?, words: words.collect::<Option<_>>()? })
    };
    text.split(',').map(of).collect()
}

const KNOWN: [(c_int, &str); 20] = [
    (DEFLATE, "deflate"),
    (SHUFFLE, "shuffle"),
    (3, "fletcher32"),
    (4, "szip"),
    (5, "nbit"),
    (6, "scaleoffset"),
    (32000, "LZF"),
    (32001, "Blosc"),
    (32004, "LZ4"),
    (32008, "bitshuffle"),
    (32013, "ZFP"),
    (32015, "Zstandard"),
    (32017, "SZ"),
    (32018, "FCIDECOMP"),
    (32019, "JPEG"),
    (32022, "BitGroom"),
    (32023, "BitRound"),
    (32024, "SZ3"),
    (32026, "Blosc2"),
    (32028, "SPERR"),
];

/// Whether a filter may have changed numbers: those that only do so. (Of SLEEK's the request tells.) Of integers
/// scaleoffset loses nothing.
pub fn is_lossy(id: c_int, are_floats: bool) -> bool {
    match id {
        6 => are_floats,
        32013 | 32017 | 32018 | 32019 | 32022 | 32023 | 32024 | 32028 => true,
        _ => false,
    }
}
