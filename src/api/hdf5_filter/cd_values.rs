//! The `cd_values` words of the filter, byte for byte as `docs/hdf5.md` has them. Pure: no HDF5 here.
//!
//! A user gives a *request*: what to do. `set_local` appends the *element*: what it is done to. Parsing takes both
//! forms, so a property list may be used again for another dataset. A request may also be a text, which the numbers
//! then replace.

use std::ops::RangeInclusive;

use crate::codec;
use crate::container::Dims;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::params::{MissingValues, Mode, Params, Profile};
use crate::text;

/// The first word: the version of this layout.
const LAYOUT: u32 = 1;
/// The first word of a request in words: the bytes of a text for `text::parse` follow.
const TEXT: u32 = 2;
/// Words of a request without range and fill value.
const REQUEST_WORDS: usize = 5;
/// Option bits: the profile, and what follows the request.
const PROFILE_MASK: u32 = 0xff;
const HAS_RANGE: u32 = 1 << 8;
const HAS_FILL: u32 = 1 << 9;
/// Element bits: the dtype, and how it is stored.
const DTYPE_MASK: u32 = 0xff;
const BIG_ENDIAN: u32 = 1 << 8;
const DATASET_FILL: u32 = 1 << 9;
const BYTES_SHIFT: u32 = 10;
/// The longest element of which the words tell.
const MAX_ELEMENT_BYTES: u32 = u32::MAX >> BYTES_SHIFT;
/// HDF5's H5S_MAX_RANK.
pub(super) const MAX_RANK: usize = 32;
/// The most words that `encode` writes.
pub(super) const MAX_WORDS: usize = REQUEST_WORDS + 4 + 4 + 2 * MAX_RANK;

/// What `set_local` learns from the dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// How the bytes of a chunk are read.
    pub dtype: DType,
    /// Elements are big-endian in the file.
    pub big_endian: bool,
    /// The dataset's fill value.
    pub fill_value: Option<f64>,
    /// Bytes of an element of the dataset, which may be of several of `dtype`; 0 if that is not known.
    pub bytes: u32,
    /// The chunk's dimensions, slowest first.
    pub chunk: Vec<u64>,
}

/// Parsed `cd_values`.
#[derive(Clone, Debug, PartialEq)]
pub struct CdValues {
    /// The request. Its `dtype` and `big_endian` mean nothing.
    pub request: Params,
    /// `None` in the short form.
    pub element: Option<Element>,
}

impl CdValues {
    /// Reads the text, the short or the long form. No words at all mean lossless.
    pub fn decode(words: &[u32]) -> Result<CdValues> {
        if let Some((&TEXT, packed)) = words.split_first() {
            return Ok(CdValues { request: request_in_text(packed)?, element: None });
        }
        let mut reader = Reader { words, at: 0 };
        let request = reader.request()?;
        let element = if reader.at < words.len() { Some(reader.element()?) } else { None };
        if reader.at < words.len() {
            return fail!(InvalidArgument, "{} cd_values; {} were expected", words.len(), reader.at);
        }
        request.check()?;
        Ok(CdValues { request, element })
    }

    /// The words: the short form without, the long form with an element.
    pub fn encode(&self) -> Vec<u32> {
        let mut words = cd_values_of(&self.request);
        if let Some(element) = &self.element {
            element.append(&mut words);
        }
        words
    }

    /// Bytes that a chunk may have, as far as the words tell. HDF5 itself takes a whole chunk from what a filter gives
    /// it, without a look at the length.
    pub fn chunk_bytes(&self) -> RangeInclusive<u64> {
        let Some(element) = &self.element else { return 0..=u64::MAX };
        let times = |bytes: u64| element.chunk.iter().fold(bytes, |n, d| n.saturating_mul(*d));
        match (element.bytes, element.dtype) {
            // Behind another filter, where numbers are bytes, it may have any length.
            (0, DType::U8) => 0..=u64::MAX,
            (0, dtype) => times(dtype.size() as u64)..=u64::MAX,
            (bytes, _) => times(bytes.into())..=times(bytes.into()),
        }
    }

    /// What the codec is to do; `None` if nobody said what the elements are.
    pub fn params(&self) -> Option<Params> {
        let element = self.element.as_ref()?;
        let params = Params {
            dtype: element.dtype,
            big_endian: element.big_endian,
            missing: if self.request.missing.is_empty() {
                MissingValues::number(element.fill_value)
            } else {
                self.request.missing
            },
            ..self.request.clone()
        };
        let dims = element.dims().filter(|_| codec::uses_dims(&params)).unwrap_or(params.dims);
        Some(Params { dims, ..params })
    }
}

/// The short form of `cd_values` for `H5Pset_filter`: mode, bound, profile, range and fill value of `params`. The
/// element type and byte order are not in it; the filter takes them from the dataset.
pub fn cd_values_of(params: &Params) -> Vec<u32> {
    let flag = |on: bool, bit: u32| if on { bit } else { 0 };
    let options =
        params.profile as u32 | flag(params.range.is_some(), HAS_RANGE) | flag(!params.missing.is_empty(), HAS_FILL);
    let [low, high] = words_of(params.bound.to_bits());
    let mut words = vec![LAYOUT, params.mode as u32, low, high, options];
    for value in [params.range, params.fill_number()].into_iter().flatten() {
        words.extend(words_of(value.to_bits()));
    }
    words
}

impl Element {
    /// The dimensions of a chunk, if its elements are numbers of the element type and nothing more.
    fn dims(&self) -> Option<Dims> {
        let is_number = self.bytes as usize == self.dtype.size();
        is_number.then(|| Dims::new(&self.chunk).ok()).flatten()
    }

    fn append(&self, words: &mut Vec<u32>) {
        let flag = |on: bool, bit: u32| if on { bit } else { 0 };
        words.push(
            self.dtype as u32
                | flag(self.big_endian, BIG_ENDIAN)
                | flag(self.fill_value.is_some(), DATASET_FILL)
                | flag(self.bytes <= MAX_ELEMENT_BYTES, self.bytes << BYTES_SHIFT),
        );
        if let Some(fill) = self.fill_value {
            words.extend(words_of(fill.to_bits()));
        }
        words.push(self.chunk.len() as u32);
        words.extend(self.chunk.iter().flat_map(|d| words_of(*d)));
    }
}

/// The request whose text is packed into words, the first byte lowest, and filled up with zeros.
fn request_in_text(packed: &[u32]) -> Result<Params> {
    let bytes: Vec<u8> = packed.iter().flat_map(|w| w.to_le_bytes()).collect();
    text::parse(String::from_utf8_lossy(&bytes).trim_end_matches('\0'))
}

/// Low word first, by shifts: HDF5 swaps each word on its own, so a union with a double would break on big-endian
/// machines.
fn words_of(bits: u64) -> [u32; 2] {
    [bits as u32, (bits >> 32) as u32]
}

struct Reader<'a> {
    words: &'a [u32],
    at: usize,
}

impl Reader<'_> {
    fn word(&mut self) -> Result<u32> {
        match self.words.get(self.at) {
            Some(w) => {
                self.at += 1;
                Ok(*w)
            }
            None => fail!(InvalidArgument, "{} cd_values; at least {} were expected", self.words.len(), self.at + 1),
        }
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from(self.word()?) | u64::from(self.word()?) << 32)
    }

    fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_bits(self.u64()?))
    }

    /// Whether words are left: trailing zero words of a request need not be given.
    fn more(&self) -> bool {
        self.at < self.words.len()
    }

    fn request(&mut self) -> Result<Params> {
        // The element type of a request is not known yet; any float lets the bound be checked.
        let mut params = Params::new(DType::F32);
        if !self.more() {
            return Ok(params);
        }
        let layout = self.word()?;
        if layout != LAYOUT {
            return fail!(InvalidArgument, "cd_values[0] is {layout}; {LAYOUT}, the layout's version, was expected");
        }
        params.mode = Mode::from_code(self.word()?)?;
        if !self.more() && params.mode == Mode::Lossless {
            return Ok(params);
        }
        params.bound = self.f64()?;
        let options = if self.more() { self.word()? } else { 0 };
        if options & !(PROFILE_MASK | HAS_RANGE | HAS_FILL) != 0 {
            return fail!(InvalidArgument, "cd_values[4] is {options:#x}; bits 10 to 31 must be zero");
        }
        params.profile = Profile::from_code(options & PROFILE_MASK)?;
        if options & HAS_RANGE != 0 {
            params.range = Some(self.f64()?);
        }
        if options & HAS_FILL != 0 {
            params.missing = MissingValues::number(Some(self.f64()?));
        }
        Ok(params)
    }

    fn element(&mut self) -> Result<Element> {
        let word = self.word()?;
        let dtype = DType::from_code(word & DTYPE_MASK)?;
        let fill_value = if word & DATASET_FILL != 0 { Some(self.f64()?) } else { None };
        let rank = self.word()? as usize;
        if rank > MAX_RANK {
            return fail!(InvalidArgument, "cd_values give a chunk {rank} dimensions; HDF5 allows {MAX_RANK}");
        }
        let chunk = (0..rank).map(|_| self.u64()).collect::<Result<_>>()?;
        Ok(Element { dtype, big_endian: word & BIG_ENDIAN != 0, fill_value, bytes: word >> BYTES_SHIFT, chunk })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn long(mode: Mode, bound: f64) -> CdValues {
        let request = Params {
            range: Some(7.5),
            missing: MissingValues::number(Some(1e36)),
            profile: Profile::Fast,
            ..Params::new(DType::F32)
        };
        let element = Element {
            dtype: DType::F64,
            big_endian: true,
            fill_value: Some(-9999.0),
            bytes: 24,
            chunk: vec![100, 1 << 33],
        };
        CdValues { request: request.with_bound(mode, bound), element: Some(element) }
    }

    #[test]
    fn the_words_are_those_of_the_table() {
        let abs = Params::new(DType::F32).with_bound(Mode::Abs, 0.5);
        assert_eq!(cd_values_of(&abs), [1, 1, 0, 0x3fe0_0000, 0]);
        let mut words = vec![1, 2, 0, 0x3fe0_0000, 0x301];
        words.extend(words_of(7.5f64.to_bits()));
        words.extend(words_of(1e36f64.to_bits()));
        words.push(2 | 0x300 | 24 << 10);
        words.extend(words_of((-9999f64).to_bits()));
        words.extend([2, 100, 0, 0, 2]);
        assert_eq!(long(Mode::Noa, 0.5).encode(), words);
        assert!(words.len() < MAX_WORDS);
    }

    #[test]
    fn both_forms_come_back() {
        for mode in [Mode::Lossless, Mode::Abs, Mode::Noa, Mode::Rel] {
            let long = long(mode, 1e-3);
            assert_eq!(CdValues::decode(&long.encode()).unwrap(), long);
            let short = CdValues { element: None, ..long };
            assert_eq!(CdValues::decode(&short.encode()).unwrap(), short);
        }
    }

    #[test]
    fn a_text_is_a_request() {
        let words = |text: &[u8]| {
            let packed = text.chunks(4).map(|c| c.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b)));
            std::iter::once(TEXT).chain(packed).collect::<Vec<u32>>()
        };
        assert_eq!(words(b"abs=1"), [2, 0x3d73_6261, 0x31]);
        for text in ["abs=1e-3", "noa=1e-4,range=5e0", "noa=1e-1,fill=1e36,profile=fast", "lossless"] {
            let found = CdValues::decode(&words(text.as_bytes())).unwrap();
            assert_eq!((found.element, found.request), (None, text::parse(text).unwrap()));
        }
        for bad in [&b""[..], b"abs", b"abs=1\0,range=5", b"abs=\xff"] {
            assert_eq!(CdValues::decode(&words(bad)).unwrap_err().kind, Kind::InvalidArgument);
        }
    }

    #[test]
    fn short_requests_may_leave_out_zeros() {
        let lossless = Params::new(DType::F32);
        for words in [&[][..], &[1, 0], &[1, 0, 0, 0], &[1, 0, 0, 0, 0]] {
            assert_eq!(CdValues::decode(words).unwrap(), CdValues { request: lossless.clone(), element: None });
        }
        let abs = CdValues::decode(&[1, 1, 0, 0x3fe0_0000]).unwrap().request;
        assert_eq!((abs.mode, abs.bound), (Mode::Abs, 0.5));
    }

    #[test]
    fn the_length_of_a_chunk_as_far_as_it_is_told() {
        let with = |dtype, bytes| {
            let element = Element { dtype, bytes, big_endian: false, fill_value: None, chunk: vec![10, 20] };
            let values = CdValues { request: Params::new(DType::F32), element: Some(element) };
            CdValues::decode(&values.encode()).unwrap().chunk_bytes()
        };
        assert_eq!(with(DType::F32, 4), 800..=800);
        assert_eq!(with(DType::F32, 12), 2400..=2400);
        assert_eq!(with(DType::U8, 19), 3800..=3800);
        // An element of 4 MiB and more.
        assert_eq!(with(DType::U8, (4 << 20) - 1), 200 * ((4 << 20) - 1)..=200 * ((4 << 20) - 1));
        assert_eq!((with(DType::U8, 4 << 20), with(DType::F64, 0)), (0..=u64::MAX, 1600..=u64::MAX));
        assert_eq!(CdValues::decode(&[]).unwrap().chunk_bytes(), 0..=u64::MAX);
    }

    #[test]
    fn the_users_fill_value_comes_before_the_datasets() {
        let mut values = long(Mode::Noa, 1e-3);
        assert_eq!(values.params().unwrap().fill_number(), Some(1e36));
        values.request.missing = MissingValues::default();
        let params = values.params().unwrap();
        assert_eq!((params.fill_number(), params.dtype, params.big_endian), (Some(-9999.0), DType::F64, true));
    }

    #[test]
    fn wrong_words_are_refused() {
        let nan = words_of(f64::NAN.to_bits());
        let bad: [&[u32]; 10] = [
            &[7],
            &[1],
            &[1, 4],
            &[1, 1],
            &[1, 1, 0],
            &[1, 1, nan[0], nan[1], 0],
            &[1, 1, 0, 0x3fe0_0000, 3],
            &[1, 1, 0, 0x3fe0_0000, 1 << 20],
            &[1, 1, 0, 0x3fe0_0000, 0, 13, 0],
            &[1, 1, 0, 0x3fe0_0000, 0, 1, 1, 100, 0, 9],
        ];
        for words in bad {
            let kind = CdValues::decode(words).unwrap_err().kind;
            assert!(matches!(kind, Kind::InvalidArgument | Kind::InvalidBound), "{words:?}: {kind:?}");
        }
        let whole = long(Mode::Abs, 1e-3).encode();
        for n in 1..whole.len() {
            let cut = CdValues::decode(&whole[..n]);
            let ends_here = n == 4 || n == 9; // options left out; the whole request
            assert_eq!(cut.is_ok(), ends_here, "{n} of {} words: {cut:?}", whole.len());
        }
    }
}
