//! What the codec does to a chunk, by its type and shape.

use std::num::NonZeroU64;

use sleek::{DType, Dims, Error, Kind, MissingValue, MissingValues, Params};
use zarrs::array::{CodecError, DataType, FillValue};
use zarrs::plugin::{ExtensionName, ZarrVersion};

/// Names of types in Zarr's metadata.
const DTYPES: [(&str, DType); 12] = [
    ("float32", DType::F32),
    ("float64", DType::F64),
    ("float16", DType::F16),
    ("bfloat16", DType::BF16),
    ("int8", DType::I8),
    ("int16", DType::I16),
    ("int32", DType::I32),
    ("int64", DType::I64),
    ("uint8", DType::U8),
    ("uint16", DType::U16),
    ("uint32", DType::U32),
    ("uint64", DType::U64),
];

const BIG_ENDIAN: bool = cfg!(target_endian = "big");

/// A chunk as the stream has it.
pub struct Chunk {
    /// The elements' type; u8 for what is no number, which goes byte by byte.
    dtype: DType,
    /// Elements of that type.
    pub count: usize,
    /// The shape; none of bytes.
    lens: Vec<u64>,
}

impl Chunk {
    /// Of elements of one size, whatever they are; texts of any length are no chunk of elements.
    pub fn new(shape: &[NonZeroU64], data_type: &DataType) -> Result<Chunk, CodecError> {
        let size = match data_type.fixed_size() {
            Some(size) if !data_type.is_optional() => size,
            _ => return Err(CodecError::UnsupportedDataType(data_type.clone(), "sleek".into())),
        };
        let name = data_type.name(ZarrVersion::V3).unwrap_or_default();
        let known = DTYPES.iter().find(|(n, _)| *n == name).map(|(_, dtype)| *dtype);
        let lens: Vec<u64> = shape.iter().map(|len| len.get()).collect();
        let elements = lens.iter().try_fold(1usize, |n, len| n.checked_mul(usize::try_from(*len).ok()?));
        let count = elements.and_then(|n| if known.is_some() { Some(n) } else { n.checked_mul(size) });
        match (count, known) {
            (None, _) => {
                Err(CodecError::Other(format!("codec sleek: a chunk of {lens:?} elements cannot be in memory")))
            }
            (Some(count), Some(dtype)) => Ok(Chunk { dtype, count, lens }),
            (Some(count), None) => Ok(Chunk { dtype: DType::U8, count, lens: Vec::new() }),
        }
    }

    /// What a request means for this chunk of an array with this fill value.
    pub fn params(&self, request: &Params, fill_value: &FillValue) -> sleek::Result<Params> {
        let find_fill = request.find_fill.or(Some(true));
        let mut params = Params { dtype: self.dtype, big_endian: BIG_ENDIAN, find_fill, ..request.clone() };
        let zfp_has = params.integers && matches!(self.dtype, DType::I32 | DType::I64);
        if !(self.dtype.is_float() || zfp_has) {
            // What can have no bound keeps every bit, and with it any; a rate is for integers if the request says so.
            let profile = request.profile;
            params = Params { big_endian: BIG_ENDIAN, profile, ..Params::new(self.dtype) };
        }
        if self.dtype.is_float() {
            self.add_fill(&mut params, fill_value)?;
        }
        if sleek::codec::uses_dims(&params) && self.lens.len() > 1 {
            params.dims = Dims::new(&self.lens)?;
        }
        Ok(params)
    }

    /// The array's fill value beside the missing values that are named; a 0 stands for no fill value, as in most
    /// arrays.
    fn add_fill(&self, params: &mut Params, fill_value: &FillValue) -> sleek::Result<()> {
        let bytes = fill_value.as_ne_bytes();
        let bits = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        let bits = if BIG_ENDIAN { bits.swap_bytes() >> (64 - 8 * self.dtype.size()) } else { bits };
        if self.dtype.number(bits) == 0.0 || params.missing.of_type(self.dtype)?.bits().contains(&bits) {
            return Ok(());
        }
        let named = params.missing;
        let mut all = MissingValues::default();
        named.iter().chain([MissingValue::Bits(bits)]).try_for_each(|value| all.push(value)).map_err(|_| {
            let fill = self.dtype.number(bits);
            let message = format!("four missing values are named, and the array's fill value {fill} is a fifth");
            Error::new(Kind::InvalidArgument, message)
        })?;
        params.missing = all;
        Ok(())
    }

    /// The elements of a stream, in the machine's byte order.
    pub fn restored(&self, stream: &[u8], threads: u32) -> sleek::Result<Vec<u8>> {
        let info = sleek::inspect(stream)?;
        if (info.dtype, info.count) != (self.dtype, self.count as u64) {
            let [found, wanted] = [info.dtype.name(), self.dtype.name()];
            let message =
                format!("the stream has {} elements {found}, the chunk {} elements {wanted}", info.count, self.count);
            return Err(Error::new(Kind::Corrupt, message));
        }
        if info.stream_bytes != stream.len() as u64 {
            let message = format!("the chunk has {} bytes, its stream {}", stream.len(), info.stream_bytes);
            return Err(Error::new(Kind::Corrupt, message));
        }
        let mut elements = vec![0; self.count * self.dtype.size()];
        sleek::decompress_into_with(stream, &mut elements, threads)?;
        if info.big_endian != BIG_ENDIAN && self.dtype.size() > 1 {
            elements.chunks_exact_mut(self.dtype.size()).for_each(|element| element.reverse());
        }
        Ok(elements)
    }
}
