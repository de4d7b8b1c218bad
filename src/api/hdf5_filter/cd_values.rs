//! The `cd_values` words of the filter, byte for byte as `docs/reference/api.md` has them. Pure: no HDF5 here.
//!
//! A user gives a *request*: what to do, in a few words or as a text. `set_local` puts the long form in its place,
//! which adds the *element*: what it is done to. Parsing takes all forms, so a property list may be used again for
//! another dataset: the request comes back, what belongs to the first dataset does not.

use std::ops::RangeInclusive;

use crate::bound;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::host::memory::gathered;
use crate::missing::{MAX_MISSING, MissingValue};
use crate::params::{Bound, Limits, MissingValues, Mode, Params, Profile};
use crate::route;
use crate::text;

/// The filter's id in HDF5: the number that `H5Pset_filter` takes and that files carry.
pub const FILTER_ID: i32 = 47474; // from the range that HDF5 leaves to private use

/// The first word: a request in words of this layout.
const SHORT: u32 = 1;
/// The first word of a request in words: the bytes of a text for `text::parse` follow.
const TEXT: u32 = 2;
/// The lowest byte of the first word of what `set_local` writes.
const LONG: u32 = 3;
/// Option bits of the short form: the profile, what follows the request, and the codec.
const PROFILE_MASK: u32 = 0xff;
const HAS_RANGE: u32 = 1 << 8;
const HAS_FILL: u32 = 1 << 9;
const INTEGERS: u32 = 1 << 10;
const NO_FILL: u32 = 1 << 11;
const CODEC_SHIFT: u32 = 16;
const CODEC_MASK: u32 = 0xff << CODEC_SHIFT;
/// Places in the first two words of the long form.
const MODE_SHIFT: u32 = 8;
const PROFILE_SHIFT: u32 = 12;
const LONG_INTEGERS: u32 = 1 << 15;
const NAMED_SHIFT: u32 = 24;
const FILLS_SHIFT: u32 = 27;
const LONG_HAS_RANGE: u32 = 1 << 30;
const LOSSLESS: u32 = 1 << 31;
const DTYPE_MASK: u32 = 0x1f;
const HAS_LOW: u32 = 1 << 5;
const HAS_HIGH: u32 = 1 << 6;
const LONG_NO_FILL: u32 = 1 << 7;
const BIG_ENDIAN: u32 = 1 << 8;
const RANK_SHIFT: u32 = 9;
const RANK_MASK: u32 = 63 << RANK_SHIFT;
const BYTES_SHIFT: u32 = 15;
/// The longest element of which the words tell.
const MAX_ELEMENT_BYTES: u32 = u32::MAX >> BYTES_SHIFT;
/// HDF5's H5S_MAX_RANK.
pub(super) const MAX_RANK: usize = 32;
/// The most words of the long form: older h5py reads no more of them without harm, older h5dump prints no more.
const LONG_WORDS: usize = 16;
/// The most words of a request, which a text has: `SLEEK_H5_TEXT` characters.
pub(super) const MAX_WORDS: usize = 1 + 256 / 4;

/// What `set_local` learns from the dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredElement {
    /// How the bytes of a chunk are read.
    pub dtype: DType,
    /// Elements are big-endian in the file.
    pub big_endian: bool,
    /// Bits of the dataset's own fill value, of arrays and complex numbers those of every part.
    pub fills: Vec<u64>,
    /// Bytes of an element of the dataset, which may be of several of `dtype`; 0 if that is not known.
    pub bytes: u32,
    /// The elements cannot have the bound that the request names, and are stored losslessly, which keeps any.
    pub lossless: bool,
    /// The chunk's dimensions, slowest first; those that have no room are folded together.
    pub chunk: Vec<u64>,
}

#[cfg(test)]
impl StoredElement {
    /// Of a dataset without a fill value, in chunks of these lengths.
    pub fn of(dtype: DType, big_endian: bool, bytes: u32, chunk: &[u64]) -> StoredElement {
        StoredElement { dtype, big_endian, fills: Vec::new(), bytes, lossless: false, chunk: chunk.to_vec() }
    }
}

/// Parsed `cd_values`.
#[derive(Clone, Debug, PartialEq)]
pub struct CdValues {
    /// The request. Its `dtype` and `big_endian` mean nothing.
    pub request: Params,
    /// `None` in the short form.
    pub element: Option<StoredElement>,
}

impl CdValues {
    /// Reads the text, the short or the long form, and checks the request. No words at all mean lossless.
    ///
    /// So does a single one, whatever it is, but that of an empty text: it cannot name a bound, and there are programs
    /// that hand on the last word of a dataset alone.
    pub fn decode(words: &[u32]) -> Result<CdValues> {
        let values = CdValues::read(words)?;
        values.check().map(|()| values)
    }

    /// [`decode`](CdValues::decode) for a caller who has the request checked when it is known of what elements.
    pub fn read(words: &[u32]) -> Result<CdValues> {
        let without = |request| CdValues { request, element: None };
        match words {
            [TEXT, packed @ ..] => request_in_text(packed).map(without),
            [] | [_] => Ok(without(Params::new(DType::F32))),
            [first, ..] if first & 0xff == LONG => Reader { words, at: 0 }.long(),
            _ => Reader { words, at: 0 }.short().map(without),
        }
    }

    /// Refuses a request that no elements can have.
    pub(super) fn check(&self) -> Result<()> {
        self.request.check()?;
        route::refuse_retired(&self.request)
    }

    /// Whether the words are a request that names its bound by two of them.
    pub fn is_short(words: &[u32]) -> bool {
        words.len() > 1 && words[0] == SHORT
    }

    /// The words: a request without, the long form with an element.
    pub fn encode(&self) -> Vec<u32> {
        match &self.element {
            Some(element) => long(&self.request, element),
            None => cd_values_of(&self.request),
        }
    }

    /// Bytes that a chunk may have, as far as the words tell. HDF5 itself takes a whole chunk from what a filter gives
    /// it, without a look at the length.
    pub fn chunk_bytes(&self) -> RangeInclusive<u64> {
        let Some(element) = &self.element else { return 0..=u64::MAX };
        let times = |bytes: u64| element.chunk.iter().fold(bytes, |n, d| n.saturating_mul(*d));
        match (element.bytes, element.dtype) {
            // The shape had no room.
            _ if element.chunk.is_empty() => 0..=u64::MAX,
            // Behind another filter, where numbers are bytes, it may have any length.
            (0, DType::U8) => 0..=u64::MAX,
            (0, dtype) => times(dtype.size() as u64)..=u64::MAX,
            (bytes, _) => times(bytes.into())..=times(bytes.into()),
        }
    }

    /// What the codec is to do, but for the dimensions of a chunk; `None` if nobody said what the elements are.
    pub fn params(&self) -> Result<Option<Params>> {
        let Some(element) = &self.element else { return Ok(None) };
        let mut params = Params { dtype: element.dtype, big_endian: element.big_endian, ..self.request.clone() };
        params.missing = MissingValues::default();
        if element.dtype.is_float() {
            let named = self.request.missing.iter().map(|value| value.bits(element.dtype));
            named
                .chain(element.fills.iter().map(|bits| Ok(*bits)))
                .try_for_each(|bits| params.missing.push(MissingValue::Bits(bits?)))?;
        }
        Ok(Some(if element.lossless { lossless(params) } else { params }))
    }
}

/// The same without a bound.
pub fn lossless(params: Params) -> Params {
    let lossless = params.with_bound(Bound::Lossless);
    // A codec for some types only leaves the others to the one that takes them all.
    let codec = if lossless.codec > 0 && route::chosen(&lossless).is_ok() { lossless.codec } else { 0 };
    Params { codec, ..lossless }
}

/// The short form of `cd_values` for `H5Pset_filter`: mode, bound, profile, codec, range and missing values of
/// `params`, as a text where it has limits, more than one missing value or names it by bits. The element type and byte
/// order are not in it; the filter takes them from the dataset.
pub fn cd_values_of(params: &Params) -> Vec<u32> {
    let missing: Vec<MissingValue> = params.missing.iter().collect();
    let fill = match missing[..] {
        [] if params.limits.is_none() => None,
        [MissingValue::Number(fill)] if params.limits.is_none() => Some(fill),
        _ => return text_words(&text::format(params)),
    };
    let flag = |on: bool, bit: u32| if on { bit } else { 0 };
    let options = params.profile as u32
        | flag(params.bound.range().is_some(), HAS_RANGE)
        | flag(fill.is_some(), HAS_FILL)
        | flag(params.integers, INTEGERS)
        | flag(params.find_fill == Some(false), NO_FILL)
        | u32::from(params.codec) << CODEC_SHIFT;
    let [low, high] = words_of(params.bound.number().to_bits());
    let mut words = vec![SHORT, params.bound.mode() as u32, low, high, options];
    for value in [params.bound.range(), fill].into_iter().flatten() {
        words.extend(words_of(value.to_bits()));
    }
    words
}

fn text_words(text: &str) -> Vec<u32> {
    let packed = text.as_bytes().chunks(4).map(|c| c.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b)));
    std::iter::once(TEXT).chain(packed).collect()
}

/// The long form.
fn long(request: &Params, element: &StoredElement) -> Vec<u32> {
    let (bound, range) = tight(request.bound);
    // The user's numbers where the elements are no floats: they are there for the next dataset.
    let dtype = value_type(element.dtype);
    let named: Vec<u64> = request.missing.iter().filter_map(|value| named_bits(value, element.dtype)).collect();
    let mut words = vec![
        LONG | (bound.mode() as u32) << MODE_SHIFT
            | (request.profile as u32) << PROFILE_SHIFT
            | u32::from(request.codec) << CODEC_SHIFT
            | (named.len() as u32) << NAMED_SHIFT
            | (element.fills.len() as u32) << FILLS_SHIFT
            | if range.is_some() { LONG_HAS_RANGE } else { 0 }
            | if request.integers { LONG_INTEGERS } else { 0 }
            | if element.lossless { LOSSLESS } else { 0 },
        0,
    ];
    if bound != Bound::Lossless {
        words.extend(words_of(bound.number().to_bits()));
    }
    words.extend(range.map(f32::to_bits));
    let limits = request.limits.map_or([f64::NAN; 2], |limits| [limits.low, limits.high]);
    let limits = limits.map(|limit| limit.is_finite().then_some(limit));
    limits.iter().flatten().for_each(|limit| words.extend(words_of(limit.to_bits())));
    for bits in named.iter().chain(&element.fills) {
        words.extend(&words_of(*bits)[..if dtype == DType::F64 { 2 } else { 1 }]);
    }
    let chunk = folded(&element.chunk, LONG_WORDS.saturating_sub(words.len()));
    words[1] = element.dtype as u32
        | if request.find_fill == Some(false) { LONG_NO_FILL } else { 0 }
        | if limits[0].is_some() { HAS_LOW } else { 0 }
        | if limits[1].is_some() { HAS_HIGH } else { 0 }
        | if element.big_endian { BIG_ENDIAN } else { 0 }
        | (chunk.len() as u32) << RANK_SHIFT;
    if element.bytes <= MAX_ELEMENT_BYTES {
        words[1] |= element.bytes << BYTES_SHIFT;
    }
    words.extend(chunk);
    words
}

/// The type whose bits missing values have in the long form.
fn value_type(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::F64 }
}

/// A user's missing value as bits for the long form. Bits that the elements do not have are of no use to them.
fn named_bits(value: MissingValue, dtype: DType) -> Option<u64> {
    match value {
        MissingValue::Bits(_) if !dtype.is_float() => None,
        _ => value.bits(value_type(dtype)).ok(),
    }
}

/// A bound, and its range in 32 bits: rounded down, which loosens nothing. One that f32 has not as a normal number goes
/// into the bound.
fn tight(bound: Bound) -> (Bound, Option<f32>) {
    match bound {
        Bound::Noa { range: Some(range), .. } if range >= f32::MIN_POSITIVE.into() && range <= f32::MAX.into() => {
            let near = range as f32;
            (bound, Some(if f64::from(near) > range { near.next_down() } else { near }))
        }
        Bound::Noa { share, range: Some(range) } => (Bound::Abs(bound::mul_down(share, range)), None),
        _ => (bound, None),
    }
}

/// The dimensions in `room` words, the slowest multiplied where there are more; none if one does not fit a word.
fn folded(chunk: &[u64], room: usize) -> Vec<u32> {
    let Some(kept) = room.checked_sub(1) else { return Vec::new() };
    let (slow, fast) = chunk.split_at(if chunk.len() > room { chunk.len() - kept } else { 0 });
    let slowest = (!slow.is_empty()).then(|| slow.iter().fold(1u64, |n, d| n.saturating_mul(*d)));
    let fit: Option<Vec<u32>> = slowest.iter().chain(fast).map(|d| u32::try_from(*d).ok()).collect();
    fit.unwrap_or_default()
}

/// The request whose text is packed into words, the first byte lowest, and filled up with zeros.
fn request_in_text(packed: &[u32]) -> Result<Params> {
    let bytes = gathered(packed.iter().flat_map(|w| w.to_le_bytes()))?;
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
    /// The next word; those that are zero to the end of a request need not be given.
    fn word(&mut self) -> u32 {
        let word = self.words.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        word
    }

    fn u64(&mut self) -> u64 {
        u64::from(self.word()) | u64::from(self.word()) << 32
    }

    fn f64(&mut self) -> f64 {
        f64::from_bits(self.u64())
    }

    fn short(&mut self) -> Result<Params> {
        // The element type of a request is not known yet; any float lets the bound be checked.
        let mut params = Params::new(DType::F32);
        let layout = self.word();
        if layout != SHORT && self.words.iter().any(|word| *word != 0) {
            return fail!(InvalidArgument, "cd_values[0] is {layout}; {SHORT}, or {TEXT} before a text, was expected");
        }
        params.bound = Bound::new(Mode::from_code(self.word())?, self.f64())?;
        let options = self.word();
        if options & !(PROFILE_MASK | HAS_RANGE | HAS_FILL | INTEGERS | NO_FILL | CODEC_MASK) != 0 {
            return fail!(InvalidArgument, "cd_values[4] is {options:#x}; bits 12 to 15 and 24 to 31 must be zero");
        }
        params.integers = options & INTEGERS != 0;
        if options & NO_FILL != 0 {
            params.find_fill = Some(false);
        }
        params.profile = Profile::from_code(options & PROFILE_MASK)?;
        params.codec = (options >> CODEC_SHIFT) as u8;
        if options & HAS_RANGE != 0 {
            params.bound = params.bound.of_range(Some(self.f64()));
        }
        if options & HAS_FILL != 0 {
            params.missing = MissingValues::number(Some(self.f64()));
        }
        self.end()?;
        Ok(params)
    }

    fn long(&mut self) -> Result<CdValues> {
        let (first, second) = (self.word(), self.word());
        let dtype = DType::from_code(second & DTYPE_MASK)?;
        let (named, fills, rank) =
            (first >> NAMED_SHIFT & 7, first >> FILLS_SHIFT & 7, (second & RANK_MASK) >> RANK_SHIFT);
        if named.max(fills) as usize > MAX_MISSING || rank as usize > MAX_RANK {
            return fail!(InvalidArgument, "cd_values name {named} and {fills} missing values and {rank} dimensions");
        }
        let mut request = Params::new(DType::F32);
        let mode = Mode::from_code(first >> MODE_SHIFT & 15)?;
        request.profile = Profile::from_code(first >> PROFILE_SHIFT & 7)?;
        request.integers = first & LONG_INTEGERS != 0;
        if second & LONG_NO_FILL != 0 {
            request.find_fill = Some(false);
        }
        request.codec = (first >> CODEC_SHIFT) as u8;
        if mode != Mode::Lossless {
            request.bound = Bound::new(mode, self.f64())?;
        }
        if first & LONG_HAS_RANGE != 0 {
            request.bound = request.bound.of_range(Some(f32::from_bits(self.word()).into()));
        }
        let mut limit = |bit: u32, none: f64| if second & bit != 0 { self.f64() } else { none };
        let (low, high) = (limit(HAS_LOW, f64::NEG_INFINITY), limit(HAS_HIGH, f64::INFINITY));
        request.limits = Limits::new(low, high)?;
        let of = value_type(dtype);
        for _ in 0..named {
            let bits = self.element(of);
            let number = of.number(bits);
            // A number is the same for datasets of other types. The bits of an unusual NaN are what a user meant.
            let is_number = !number.is_nan() || bits == of.nearest(f64::NAN);
            let value = if is_number { MissingValue::Number(number) } else { MissingValue::Bits(bits) };
            request.missing.push(value)?;
        }
        let fills = gathered((0..fills).map(|_| self.element(of)))?;
        let chunk = gathered((0..rank).map(|_| self.word().into()))?;
        self.end()?;
        if self.at > self.words.len() {
            return fail!(InvalidArgument, "{} cd_values; {} were expected", self.words.len(), self.at);
        }
        let (big_endian, lossless) = (second & BIG_ENDIAN != 0, first & LOSSLESS != 0);
        Ok(CdValues {
            request,
            element: Some(StoredElement { dtype, big_endian, fills, bytes: second >> BYTES_SHIFT, lossless, chunk }),
        })
    }

    /// The bits of an element, in two words if it has 64 bits.
    fn element(&mut self, dtype: DType) -> u64 {
        if dtype == DType::F64 { self.u64() } else { self.word().into() }
    }

    /// Refuses words behind the last one.
    fn end(&self) -> Result<()> {
        match self.words.get(self.at..) {
            Some(rest) if rest.iter().any(|word| *word != 0) => {
                fail!(InvalidArgument, "{} cd_values; {} were expected", self.words.len(), self.at)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn element() -> StoredElement {
        let fills = vec![(-9999f32).to_bits().into()];
        StoredElement { fills, ..StoredElement::of(DType::F32, true, 4, &[100, 200]) }
    }

    /// What is no bound goes the same ways.
    #[test]
    fn rates_and_precisions_are_said_in_all_forms() {
        for (bound, integers) in [(Bound::Rate(7.5), false), (Bound::Precision(16), true)] {
            let params = Params { codec: 3, integers, ..Params::new(DType::F32).with_bound(bound) };
            let words = cd_values_of(&params);
            assert_eq!(words[..2], [SHORT, bound.mode() as u32]);
            assert_eq!(CdValues::decode(&words).unwrap().request, params);
            assert_eq!(CdValues::decode(&text_words(&text::format(&params))).unwrap().request, params);
            let long = CdValues { request: params.clone(), element: Some(element()) };
            let read = CdValues::decode(&long.encode()).unwrap();
            assert_eq!(read, long);
            let chunk = read.params().unwrap().unwrap();
            assert_eq!((chunk.bound, chunk.codec), (bound, 3));
        }
        assert!(CdValues::decode(&[SHORT, 4, 0, 0, 3 << 16]).is_err(), "a rate of 0");
    }

    #[test]
    fn no_fill_is_said_in_all_forms() {
        let params = Params { find_fill: Some(false), ..Params::new(DType::F32).with_bound(Bound::Abs(0.5)) };
        let words = cd_values_of(&params);
        assert_eq!(words, [1, 1, 0, 0x3fe0_0000, 1 << 11]);
        assert_eq!(CdValues::decode(&words).unwrap().request, params);
        assert_eq!(CdValues::decode(&text_words(&text::format(&params))).unwrap().request, params);
        let long = CdValues { request: params.clone(), element: Some(element()) };
        assert_eq!(long.encode()[1] & 0x1ff, 1 | 1 << 7 | 1 << 8);
        let read = CdValues::decode(&long.encode()).unwrap();
        assert_eq!(read, long);
        assert_eq!(read.params().unwrap().unwrap().find_fill, Some(false));
    }

    #[test]
    fn the_codec_of_old_is_refused_in_all_forms() {
        let request = Params { codec: 2, ..Params::new(DType::F32) };
        let integers = StoredElement { dtype: DType::I32, fills: Vec::new(), ..element() };
        let long = [element(), integers].map(|element| CdValues { request: request.clone(), element: Some(element) });
        let forms = [cd_values_of(&request), text_words("lossless,codec=ratio"), long[0].encode(), long[1].encode()];
        for words in forms {
            let error = CdValues::decode(&words).unwrap_err();
            assert_eq!(error.kind, Kind::InvalidArgument);
            assert!(error.message.contains("codec 2 (ratio) existed in pre-releases of 0.2 only"), "{error}");
        }
    }

    fn long_form(bound: Bound) -> CdValues {
        let missing = MissingValues::number(Some(2f64.powi(100)));
        let request = Params { missing, profile: Profile::Fast, codec: 1, ..Params::new(DType::F32) };
        CdValues { request: request.with_bound(bound.of_range(Some(7.5))), element: Some(element()) }
    }

    #[test]
    fn every_form_comes_back() {
        for bound in [Bound::Lossless, Bound::Abs(1e-3), Bound::noa(1e-3), Bound::Rel(1e-3)] {
            for dtype in DType::ALL {
                let mut values = long_form(bound);
                let element = values.element.as_mut().unwrap();
                element.dtype = dtype;
                element.fills = if dtype.is_float() { vec![dtype.nearest(-7.0)] } else { vec![] };
                element.lossless = !dtype.is_float() && bound != Bound::Lossless;
                if dtype == DType::F16 {
                    values.request.missing = MissingValues::number(Some(-3.5));
                }
                assert_eq!(CdValues::decode(&values.encode()).unwrap(), values);
                values.params().unwrap().unwrap().check().unwrap();
                let short = CdValues { element: None, ..values };
                assert_eq!(CdValues::decode(&short.encode()).unwrap(), short);
            }
        }
    }

    #[test]
    fn missing_values_of_every_kind_come_back() {
        let mut values = long_form(Bound::Abs(1e-3));
        let named = [MissingValue::Number(-1.5), MissingValue::Bits(0x7fc0_1234), MissingValue::Number(0.0)];
        values.request.missing = MissingValues::of(&named).unwrap();
        assert_eq!(CdValues::decode(&values.encode()).unwrap(), values);
        let text = cd_values_of(&values.request);
        assert_eq!((text[0], CdValues::decode(&text).unwrap().request), (TEXT, values.request.clone()));
        // What an integer cannot have is dropped, and what a dataset has filled in is not the user's.
        values.element = Some(StoredElement { dtype: DType::I16, fills: vec![], lossless: true, ..element() });
        let again = CdValues::decode(&values.encode()).unwrap().request.missing;
        assert_eq!(again.iter().collect::<Vec<_>>(), [named[0], named[2]]);
    }

    #[test]
    fn the_long_form_has_16_words_at_most() {
        for dtype in [DType::F32, DType::F64, DType::I32] {
            for rank in 1..=MAX_RANK {
                for fills in 0..=3 {
                    let mut values = long_form(Bound::noa(1e-3));
                    let fills = (0..fills).map(|k| dtype.nearest(f64::from(k))).collect();
                    let chunk: Vec<u64> = (0..rank).map(|d| if d < 20 { 2 } else { 1 }).collect();
                    let count = chunk.iter().product::<u64>();
                    values.element = Some(StoredElement { fills, ..StoredElement::of(dtype, false, 0, &chunk) });
                    let words = values.encode();
                    let back = CdValues::decode(&words).unwrap().element.unwrap();
                    assert!(words.len() <= 16 && back.chunk.iter().product::<u64>() == count, "{rank}: {words:?}");
                    assert!(back.chunk.len() == rank || words.len() == 16);
                }
            }
        }
        assert_eq!((folded(&[1 << 20, 1 << 20], 1), folded(&[1 << 40], 3)), (vec![], vec![]));
    }

    /// A range is stored in 32 bits, never as more than it was.
    #[test]
    fn ranges_are_rounded_down() {
        let mut values = long_form(Bound::noa(0.25));
        for exponent in -300..300 {
            let range = 1.2345678901 * 10f64.powi(exponent);
            values.request.bound = Bound::Noa { share: 0.25, range: Some(range) };
            let stored = CdValues::decode(&values.encode()).unwrap().request;
            let allowed = 0.25 * range;
            match stored.bound {
                Bound::Noa { share, range: Some(r) } => {
                    assert!(share == 0.25 && r <= range && r > range * (1.0 - 2e-7), "{range:e} {r:e}");
                }
                Bound::Abs(abs) => assert!(abs <= allowed && abs > allowed * 0.999, "{range:e} {abs:e}"),
                other => panic!("{range:e}: {other:?}"),
            }
            assert_eq!(stored.bound.range().is_some(), (-38..=38).contains(&exponent), "{range:e}");
        }
    }

    #[test]
    fn the_length_of_a_chunk_as_far_as_it_is_told() {
        let with = |dtype, bytes| {
            let element = Some(StoredElement::of(dtype, false, bytes, &[10, 20]));
            let values = CdValues { request: Params::new(DType::F32), element };
            CdValues::decode(&values.encode()).unwrap().chunk_bytes()
        };
        assert_eq!(with(DType::F32, 4), 800..=800);
        assert_eq!(with(DType::F32, 12), 2400..=2400);
        assert_eq!(with(DType::U8, 19), 3800..=3800);
        // An element of 128 KiB and more.
        assert_eq!(with(DType::U8, (128 << 10) - 1), 200 * ((128 << 10) - 1)..=200 * ((128 << 10) - 1));
        assert_eq!((with(DType::U8, 128 << 10), with(DType::F64, 0)), (0..=u64::MAX, 1600..=u64::MAX));
        assert_eq!(CdValues::decode(&[]).unwrap().chunk_bytes(), 0..=u64::MAX);
        let element = Some(StoredElement::of(DType::F32, false, 4, &[1 << 20, 1 << 40]));
        let beyond = CdValues { request: Params::new(DType::F32), element };
        assert_eq!(CdValues::decode(&beyond.encode()).unwrap().chunk_bytes(), 0..=u64::MAX);
    }

    #[test]
    fn missing_values_of_user_and_dataset_go_together() {
        let values = long_form(Bound::noa(1e-3));
        let params = values.params().unwrap().unwrap();
        assert_eq!(params.missing.numbers(DType::F32).unwrap(), [2f64.powi(100), -9999.0]);
        assert_eq!((params.dtype, params.big_endian, params.bound.mode()), (DType::F32, true, Mode::Noa));
        let fallback = StoredElement { lossless: true, ..element() };
        let params = CdValues { element: Some(fallback), ..values }.params().unwrap().unwrap();
        assert_eq!(params.bound, Bound::Lossless);
    }

    #[test]
    fn wrong_words_are_refused() {
        let nan = words_of(f64::NAN.to_bits());
        let bad: [&[u32]; 9] = [
            &[7, 0],
            &[2],
            &[1, 4],
            &[1, 1, nan[0], nan[1], 0],
            &[1, 1, 0, 0x3fe0_0000, 3],
            &[1, 1, 0, 0x3fe0_0000, 1 << 28],
            &[1, 1, 0, 0x3fe0_0000, 1 << 10],
            &[1, 2, 0, 0x3fe0_0000, HAS_RANGE],
            &[1, 1, 0, 0x3fe0_0000, 0, 1, 1, 100, 0, 9],
        ];
        for words in bad {
            let kind = CdValues::decode(words).unwrap_err().kind;
            assert!(matches!(kind, Kind::InvalidArgument | Kind::InvalidBound), "{words:?}: {kind:?}");
        }
        let whole = long_form(Bound::Abs(1e-3)).encode();
        for n in 2..whole.len() {
            assert!(CdValues::decode(&whole[..n]).is_err(), "{n} of {} words", whole.len());
        }
        assert!(CdValues::decode(&[&whole[..], &[1]].concat()).is_err());
    }
}
