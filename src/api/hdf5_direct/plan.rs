//! Whether a selection can go as finished chunks, and if not, why.

use super::boxes::Boxes;
use super::dataset::Dataset;
use super::report::{Done, Report, Route};
use crate::api::hdf5_filter::abi::Hid;
use crate::api::hdf5_filter::cd_values::CdValues;
use crate::api::hdf5_filter::declined::{longest, may_decline};
use crate::api::hdf5_filter::pipeline::{Pipeline, pipeline};
use crate::api::hdf5_filter::{chunk as filtered, dataset as told, datatype};
use crate::error::{Result, fail};
use crate::params::Params;
use crate::route::Codec;

/// A selection, and how it goes.
pub struct Plan {
    /// First element and shape of the box.
    pub start: Vec<u64>,
    /// See above.
    pub count: Vec<u64>,
    /// Bytes of the box in memory.
    pub bytes: usize,
    /// The caller's elements.
    pub mem_type: Hid,
    /// The ranks of an MPI program share the file.
    pub shared: bool,
    /// What to do.
    pub decision: Decision,
}

/// Which way the data goes.
#[derive(Clone, Copy)]
pub enum Direction {
    /// Into the file.
    Write,
    /// Out of it.
    Read,
}

/// What to do.
#[allow(clippy::large_enum_variant)] // one for a whole call
pub enum Decision {
    /// Nothing is selected, and nobody waits for us to say so.
    Nothing,
    /// Leave it to HDF5, for this reason.
    Ordinary(String),
    /// Chunks.
    Direct(Direct),
    /// Chunks into a file that MPI ranks share; to be left to HDF5, for this reason, where they are not made on a GPU.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "GPUs alone make them"))]
    Shared(Direct, String),
}

/// What making and reading chunks takes.
pub struct Direct {
    /// Where they lie.
    pub boxes: Boxes,
    /// How they are compressed; where each is to be measured, `route::recompression::measured` says the rest.
    pub params: Params,
    /// The codec that does it.
    pub codec: &'static dyn Codec,
    /// The filter's words, by which streams are refused as the filter does it.
    pub words: Vec<u32>,
    /// Whether HDF5 may store a chunk itself.
    pub may_decline: bool,
    /// The longest stream that a chunk is stored as, where a GPU makes it.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "host memory goes by the filter, which knows"))]
    pub longest: usize,
    /// Bytes of the numbers that are turned round between memory and file, or 1.
    pub swap: usize,
    /// An element of the rim of partial chunks, as in the file.
    pub pad: Vec<u8>,
    /// Elements that were never written read as `pad`; else they stay as they are in memory.
    pub fills: bool,
}

impl Plan {
    /// # Safety
    /// `mem_type` belongs to the dataset's library.
    pub unsafe fn new(
        dataset: &Dataset,
        way: Direction,
        mem_type: Hid,
        start: Option<&[u64]>,
        count: Option<&[u64]>,
    ) -> Result<Plan> {
        let dims = &dataset.dims;
        let start = start.map_or(vec![0; dims.len()], <[u64]>::to_vec);
        let count = match count {
            Some(count) => count.to_vec(),
            None => dims.iter().zip(&start).map(|(d, s)| d.saturating_sub(*s)).collect(),
        };
        for d in 0..dims.len() {
            if start[d].checked_add(count[d]).is_none_or(|end| end > dims[d]) {
                return fail!(
                    OutOfRange,
                    "dimension {d} of the selection: {} elements from {} on; the dataset has {}",
                    count[d],
                    start[d],
                    dims[d]
                );
            }
        }
        // SAFETY: the contract.
        let size = unsafe { (dataset.hdf5.data.H5Tget_size)(mem_type) };
        if size == 0 {
            return fail!(Hdf5, "H5Tget_size failed for the memory type");
        }
        let bytes = count.iter().try_fold(size, |n, c| n.checked_mul(usize::try_from(*c).ok()?));
        let Some(bytes) = bytes.filter(|b| *b <= isize::MAX as usize) else {
            return fail!(InvalidArgument, "{count:?} elements of {size} bytes do not fit in memory");
        };
        let shared = dataset.shared_by_ranks()?;
        // SAFETY: the contract.
        let decision = match unsafe { direct(dataset, way, mem_type, &start, &count, shared)? } {
            Err(why) => Decision::Ordinary(why),
            Ok(_) if bytes == 0 && shared == Some(true) => Decision::Ordinary(SHARED.into()),
            Ok(direct) if shared == Some(true) => Decision::Shared(direct, SHARED.into()),
            Ok(_) if bytes == 0 => Decision::Nothing,
            Ok(direct) => Decision::Direct(direct),
        };
        Ok(Plan { start, count, bytes, mem_type, shared: shared == Some(true), decision })
    }

    /// What was done, for the caller.
    pub fn report(&self, route: Route, staged: bool, reason: &str, done: Done) -> Report {
        Report { route, staged, reason: reason.to_owned(), done, bytes: self.bytes }
    }
}

/// The reason against chunks in a file that ranks share.
const SHARED: &str = "MPI ranks share the file, and HDF5 then takes no finished chunks";

/// A reason against chunks.
macro_rules! ordinary {
    ($($arg:tt)*) => { return Ok(Err(format!($($arg)*))) };
}

/// Why this HDF5 or this dataset gives and takes no chunks, if it does not.
fn barred(dataset: &Dataset, way: Direction, shared: Option<bool>) -> Option<String> {
    let version = || dataset.hdf5.version();
    match (shared, way) {
        (None, _) => Some(format!("HDF5 {} does not tell whether MPI ranks share the file", version())),
        (Some(true), Direction::Read) => Some(SHARED.into()),
        (Some(false), Direction::Write) if !dataset.takes_chunks() => {
            Some(format!("HDF5 {} has no H5Dwrite_chunk", version()))
        }
        (_, Direction::Read) if !dataset.gives_chunks() => Some(format!("HDF5 {} is older than 1.10.5", version())),
        _ if dataset.transformed() => Some("the transfer properties transform the data".into()),
        _ if !dataset.chunked() => Some("the dataset is not chunked".into()),
        _ => None,
    }
}

/// Where a selection begins or ends within a chunk, if it does.
fn cut_chunks(dataset: &Dataset, start: &[u64], count: &[u64], chunk: &[u64]) -> Option<String> {
    let is_cut = |d: &usize| {
        let (end, cut) = (start[*d] + count[*d], |at: u64| !at.is_multiple_of(chunk[*d]));
        count[*d] > 0 && (cut(start[*d]) || cut(end) && end != dataset.dims[*d])
    };
    (0..chunk.len()).find(is_cut).map(|d| {
        let (from, to, of) = (start[d], start[d] + count[d] - 1, chunk[d]);
        format!("the selection cuts chunks: elements {from} to {to} of dimension {d}, chunks of {of}")
    })
}

/// What the words of the filter ask for chunks, or why it would refuse them. HDF5 reads with any words, and fails with
/// bad ones in its own way.
fn request(words: &[u32], chunk: &[u64], element: usize) -> std::result::Result<(Params, &'static dyn Codec), String> {
    let bytes = chunk.iter().product::<u64>() as usize * element;
    let params = CdValues::decode(words).and_then(|values| filtered::params(&values, bytes));
    params.map_err(|e| format!("the filter would refuse chunks: {}", e.message))
}

/// What chunks take, or the reason against them.
///
/// # Safety
/// As for `Plan::new`.
unsafe fn direct(
    dataset: &Dataset,
    way: Direction,
    mem_type: Hid,
    start: &[u64],
    count: &[u64],
    shared: Option<bool>,
) -> Result<std::result::Result<Direct, String>> {
    let hdf5 = dataset.hdf5;
    if let Some(why) = barred(dataset, way, shared) {
        ordinary!("{why}");
    }
    // SAFETY: ids of this library, here and below.
    let (words, may_decline) = match unsafe { pipeline(&hdf5.filter, dataset.dcpl.id)? } {
        Pipeline { ours: Some(ours), filters: 1, .. } => (ours.words, may_decline(ours.flags, Some(&hdf5.filter))),
        _ => ordinary!("SLEEK is not the dataset's only filter"),
    };
    if dataset.chunk_options()? != 0 {
        ordinary!("partial chunks of the dataset are stored without filters");
    }
    // SAFETY: as above.
    let (memory, file) =
        unsafe { (told::encoded(&hdf5.filter, mem_type)?, told::encoded(&hdf5.filter, dataset.file_type.id)?) };
    let stored = datatype::parse(&file)?;
    if !stored.numbers {
        ordinary!("the elements are {}, not numbers", stored.what);
    }
    // SAFETY: as above.
    let same = unsafe { (hdf5.data.H5Tequal)(mem_type, dataset.file_type.id) } > 0;
    let swap = match () {
        () if same => 1,
        () if datatype::differ_in_order_only(&memory, &file) => stored.dtype.size(),
        () => ordinary!("the elements in memory are of another type than those in the file"),
    };
    // SAFETY: as above.
    let (chunk, element) =
        unsafe { (told::chunk(&hdf5.filter, dataset.dcpl.id)?, (hdf5.data.H5Tget_size)(dataset.file_type.id)) };
    if let Some(why) = cut_chunks(dataset, start, count, &chunk) {
        ordinary!("{why}");
    }
    let boxes = Boxes::new(start, count, &chunk, element);
    let (params, codec) = match request(&words, &chunk, element) {
        Ok(asked) => asked,
        Err(why) => ordinary!("{why}"),
    };
    let fill = dataset.fill_element(element)?;
    let fills = fill.is_some();
    let longest = longest(may_decline, &params, boxes.chunk_bytes())?;
    let pad = fill.unwrap_or(vec![0; element]);
    Ok(Ok(Direct { boxes, params, codec, words, may_decline, longest, swap, pad, fills }))
}
