//! Whether a selection can go as finished chunks, and if not, why.

use super::boxes::Boxes;
use super::dataset::{Dataset, Direction};
use crate::api::hdf5_filter::abi::Hid;
use crate::api::hdf5_filter::cd_values::CdValues;
use crate::api::hdf5_filter::chunk::{self as filtered, longest, may_decline};
use crate::api::hdf5_filter::dataset::{Creation, Pipeline};
use crate::api::hdf5_filter::datatype;
use crate::error::{Result, fail};
use crate::params::Params;
use crate::route::Codec;
use crate::route::cpu::Request;

/// A selection, and how it goes.
pub struct Plan {
    /// First element and shape of the box.
    pub start: Vec<u64>,
    pub count: Vec<u64>,
    /// Bytes of the box in memory.
    pub bytes: usize,
    pub mem_type: Hid,
    /// The ranks of an MPI program share the file.
    pub shared: bool,
    pub decision: Decision,
}

#[allow(clippy::large_enum_variant)] // one for a whole call
pub enum Decision {
    /// Nothing is selected, and nobody waits for us to say so.
    Nothing,
    /// Leave it to HDF5, for this reason.
    Ordinary(String),
    /// Chunks; of a file that MPI ranks share only where a GPU makes them.
    Direct(Direct),
}

/// What making and reading chunks takes.
pub struct Direct {
    pub boxes: Boxes,
    /// How they are compressed; where each is to be measured, `recompression::measured` says the rest.
    pub params: Params,
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

impl Direct {
    /// What is asked of each chunk.
    pub fn request(&self) -> Request<'_> {
        Request { params: &self.params, codec: self.codec }
    }
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
        let may_share = dataset.shared_by_ranks()?;
        let shared = may_share == Some(true);
        // SAFETY: the contract.
        let decision = match unsafe { direct(dataset, way, mem_type, &start, &count, may_share)? } {
            Err(why) => Decision::Ordinary(why),
            Ok(_) if bytes == 0 && shared => Decision::Ordinary(SHARED.into()),
            Ok(_) if bytes == 0 => Decision::Nothing,
            Ok(direct) => Decision::Direct(direct),
        };
        Ok(Plan { start, count, bytes, mem_type, shared, decision })
    }
}

/// The reason against chunks in a file that ranks share.
pub const SHARED: &str = "MPI ranks share the file, and HDF5 then takes no finished chunks";

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
    let params = CdValues::read(words).and_then(|values| filtered::params(&values, bytes));
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
    let file = unsafe { Creation::new(&hdf5.filter, dataset.dcpl.id, dataset.file_type.id) };
    let (words, may_decline) = match file.pipeline()? {
        Some(Pipeline { ours, .. }) if file.filters() == 1 => (ours.words, may_decline(ours.flags, Some(&hdf5.filter))),
        _ => ordinary!("SLEEK is not the dataset's only filter"),
    };
    if dataset.chunk_options()? != 0 {
        ordinary!("partial chunks of the dataset are stored without filters");
    }
    let stored = file.stored()?;
    if !stored.numbers {
        ordinary!("the elements are {}, not numbers", stored.what);
    }
    // SAFETY: as above.
    let memory = unsafe { Creation::new(&hdf5.filter, dataset.dcpl.id, mem_type) };
    // SAFETY: as above.
    let same = unsafe { (hdf5.data.H5Tequal)(mem_type, dataset.file_type.id) } > 0;
    let swap = match () {
        () if same => 1,
        () if datatype::differ_in_order_only(&memory.encoded()?, &file.encoded()?) => stored.dtype.size(),
        () => ordinary!("the elements in memory are of another type than those in the file"),
    };
    // SAFETY: as above.
    let (chunk, element) = (file.chunk()?, unsafe { (hdf5.data.H5Tget_size)(dataset.file_type.id) });
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

/// Chunks written or read, and their bytes in the file; 0 where HDF5 did the work.
#[derive(Clone, Copy, Default)]
pub struct Done {
    pub chunks: u64,
    pub stored: u64,
}

impl Done {
    /// Both together.
    #[cfg(feature = "cuda")]
    pub fn with(self, other: Done) -> Done {
        Done { chunks: self.chunks + other.chunks, stored: self.stored + other.stored }
    }
}
