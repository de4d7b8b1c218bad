//! The structs of the header, read from a caller's memory and written to it, for whatever release the caller was
//! compiled.

use std::mem::{MaybeUninit, offset_of, size_of};

use super::memory::{not_null, numbers};
use super::types::{sleek_codec, sleek_device, sleek_info, sleek_mode, sleek_params, sleek_profile};
use crate::container::constants::VERSION;
use crate::container::{Dims, Index, Kind as Chunk};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::missing::MissingValue;
use crate::params::{Bound, Device, MissingValues, Mode, Params, Profile};

/// A struct of the caller larger than this is taken for an uninitialised `struct_size`.
const MAX_STRUCT: usize = 4096;

impl sleek_params {
    /// What `sleek_params_init` writes.
    pub const DEFAULT: sleek_params = sleek_params {
        struct_size: size_of::<sleek_params>(),
        dtype: 0,
        mode: sleek_mode::SLEEK_LOSSLESS as i32,
        codec: sleek_codec::SLEEK_CODEC_DEFAULT as i32,
        profile: sleek_profile::SLEEK_ADAPTIVE as i32,
        bound: 0.0,
        range: 0.0,
        fill_value: 0.0,
        has_fill_value: 0,
        big_endian: 0,
        device: sleek_device::SLEEK_AUTO as i32,
        threads: 0,
        dims: std::ptr::null(),
        rank: 0,
        missing_count: 0,
        missing: [0; 4],
        find_fill: 0,
        rewritten: 0,
        reserved: [0; 2],
    };

    /// What the caller's struct asks for.
    ///
    /// # Safety
    /// As for [`sleek_params::copied`].
    pub unsafe fn read(params: *const sleek_params) -> Result<Params> {
        // SAFETY: the contract.
        unsafe { sleek_params::copied(params) }?.resolve()
    }

    /// The caller's struct; fields behind its end have their defaults.
    ///
    /// # Safety
    /// `params` is NULL or points to `struct_size` readable bytes.
    pub unsafe fn copied(params: *const sleek_params) -> Result<sleek_params> {
        not_null("params", params)?;
        // SAFETY: not null; the first field is there by the contract.
        let size = unsafe { struct_size("sleek_params", params, offset_of!(sleek_params, codec)) }?;
        let (ours, mut own) = (size_of::<sleek_params>(), sleek_params::DEFAULT);
        // SAFETY: the smaller of both sizes, and every bit pattern is a sleek_params.
        unsafe { params.cast::<u8>().copy_to_nonoverlapping((&raw mut own).cast(), size.min(ours)) };
        for at in ours..size {
            // SAFETY: within the caller's struct_size.
            if unsafe { params.cast::<u8>().add(at).read() } != 0 {
                return fail!(
                    InvalidArgument,
                    "byte {at} of sleek_params is set; this library ({}) is older than the header and knows {ours} \
                    bytes",
                    env!("CARGO_PKG_VERSION")
                );
            }
        }
        Ok(own)
    }

    /// Changes fields of the caller's struct, unless that fails.
    ///
    /// # Safety
    /// `params` is NULL or points to a struct that `sleek_params_init` has set up.
    pub unsafe fn change(params: *mut sleek_params, set: impl FnOnce(&mut sleek_params) -> Result<()>) -> Result<()> {
        not_null("params", params)?;
        // SAFETY: not null, and the first version's fields are there by the contract; the address may be unaligned.
        let mut own = unsafe { params.read_unaligned() };
        check_size("sleek_params", own.struct_size, size_of::<sleek_params>())?;
        set(&mut own)?;
        // SAFETY: as above, and writable.
        unsafe { params.write_unaligned(own) };
        Ok(())
    }

    /// Sets the fields that a request in words is about.
    pub fn request(&mut self, request: &Params) -> Result<()> {
        if request.limits.is_some() {
            return fail!(InvalidArgument, "limits= in words is for datasets of HDF5 and netCDF, not for calls");
        }
        self.mode = request.bound.mode() as i32;
        self.profile = request.profile as i32;
        self.bound = request.bound.number();
        self.range = request.bound.range().unwrap_or(0.0);
        if request.codec != 0 {
            self.codec = request.codec.into();
        }
        if let Some(search) = request.find_fill {
            self.find_fill = if search { 1 } else { -1 };
        }
        (self.fill_value, self.has_fill_value) = (0.0, 0);
        let mut count = 0;
        for value in request.missing.iter() {
            self.missing[count] = match value {
                MissingValue::Number(x) if self.has_fill_value == 0 => {
                    (self.fill_value, self.has_fill_value) = (x, 1);
                    continue;
                }
                MissingValue::Number(x) if self.dtype == 0 => {
                    return fail!(InvalidArgument, "a second missing value, {x}, in words: set dtype before");
                }
                MissingValue::Number(_) => value.bits(DType::from_code(code("dtype", self.dtype)?)?)?,
                MissingValue::Bits(bits) => bits,
            };
            count += 1;
        }
        if count > 0 {
            self.missing_count = count as i32;
        }
        Ok(())
    }

    fn missing(&self) -> Result<MissingValues> {
        let fill = flag("has_fill_value", self.has_fill_value)?.then_some(self.fill_value);
        let mut missing = MissingValues::number(fill);
        let count = code("missing_count", self.missing_count)? as usize;
        let Some(bits) = self.missing.get(..count) else {
            return fail!(InvalidArgument, "missing_count {count}; at most {} are possible", self.missing.len());
        };
        bits.iter().try_for_each(|bits| missing.push(MissingValue::Bits(*bits)))?;
        Ok(missing)
    }

    fn dims(&self) -> Result<Dims> {
        if self.rank == 0 {
            return Ok(Dims::NONE);
        }
        // SAFETY: the contract of every function that reads the struct.
        let lens = unsafe { numbers("dims", self.dims, self.rank) }?;
        Dims::new(&lens[..self.rank as usize])
    }

    /// What it asks for.
    pub fn resolve(&self) -> Result<Params> {
        if self.reserved.iter().any(|r| *r != 0) {
            return fail!(InvalidArgument, "reserved fields of sleek_params are set; call sleek_params_init first");
        }
        let codec = code("codec", self.codec)?;
        let Ok(codec) = u8::try_from(codec) else {
            return fail!(InvalidArgument, "codec {codec} is unknown; 0 default, or a codec's number");
        };
        let mode = Mode::from_code(code("mode", self.mode)?)?;
        Ok(Params {
            codec,
            limits: None,
            missing: self.missing()?,
            dims: self.dims()?,
            dtype: DType::from_code(code("dtype", self.dtype)?)?,
            bound: Bound::new(mode, self.bound)?.of_range((self.range != 0.0).then_some(self.range)),
            profile: Profile::from_code(code("profile", self.profile)?)?,
            big_endian: flag("big_endian", self.big_endian)?,
            device: Device::from_code(code("device", self.device)?)?,
            threads: code("threads", self.threads)?,
            integers: false,
            find_fill: match self.find_fill {
                0 => None,
                1 => Some(true),
                -1 => Some(false),
                other => return fail!(InvalidArgument, "find_fill {other}; 0 default, 1 search, -1 never"),
            },
            exact: false,
            parts: false,
            rewritten: flag("rewritten", self.rewritten)?,
        })
    }
}

impl sleek_info {
    /// What header and index say, for a struct of `size` bytes. [`crate::inspect`] tells more, but has to visit every
    /// chunk.
    pub fn new(index: &Index, size: usize) -> sleek_info {
        let header = index.header();
        let layout = &header.layout;
        let chunks = index.kinds();
        let mut missing = [0; 4];
        missing[..layout.shape.missing.len()].copy_from_slice(layout.shape.missing.bits());
        sleek_info {
            struct_size: size,
            format_version: VERSION.into(),
            codec: header.codec.into(),
            dtype: layout.dtype as i32,
            element_bytes: layout.dtype.size() as i32,
            mode: header.mode as i32,
            profile: crate::route::profile_of(header) as i32,
            big_endian: header.big_endian.into(),
            rank: layout.shape.dims.rank() as i32,
            count: layout.count,
            raw_bytes: layout.raw_bytes,
            stream_bytes: header.stream_bytes,
            bound: header.bound,
            range: header.range,
            abs_bound: header.abs_bound,
            chunks_packed: chunks[Chunk::Packed as usize],
            chunks_raw: chunks[Chunk::Raw as usize],
            chunks_constant: chunks[Chunk::Constant as usize],
            chunks_masked: chunks[Chunk::Masked as usize],
            missing_count: layout.shape.missing.len() as u64,
            missing,
            missing_found: layout.shape.missing.found() as u64,
        }
    }
}

/// The `struct_size` of a caller's struct, of which every version has more than `min` bytes.
///
/// # Safety
/// Its first field may be read; the address may be unaligned.
pub unsafe fn struct_size<T>(name: &str, pointer: *const T, min: usize) -> Result<usize> {
    // SAFETY: the contract.
    let size = unsafe { pointer.cast::<usize>().read_unaligned() };
    check_size(name, size, min)?;
    Ok(size)
}

/// Writes what fits to the caller's struct of `size` bytes, and zeros behind it.
///
/// # Safety
/// `to` points to `size` writable bytes.
pub unsafe fn write_struct<T: Copy>(own: &T, to: *mut T, size: usize) {
    let (ours, to) = (size_of::<T>().min(size), to.cast::<MaybeUninit<u8>>());
    // SAFETY: `ours` is within both structs, the rest within the caller's.
    unsafe {
        to.copy_from_nonoverlapping((&raw const *own).cast(), ours);
        to.add(ours).write_bytes(0, size - ours);
    }
}

/// Refuses a `struct_size` that no version of the struct has.
fn check_size(name: &str, size: usize, min: usize) -> Result<()> {
    if size < min || size > MAX_STRUCT || !size.is_multiple_of(8) {
        return fail!(InvalidArgument, "struct_size {size} of {name}; sizeof({name}) is meant");
    }
    Ok(())
}

fn code(name: &str, value: i32) -> Result<u32> {
    match u32::try_from(value) {
        Ok(v) => Ok(v),
        Err(_) => fail!(InvalidArgument, "{name} {value} is negative"),
    }
}

fn flag(name: &str, value: i32) -> Result<bool> {
    match value {
        0 | 1 => Ok(value == 1),
        _ => fail!(InvalidArgument, "{name} {value}; 0 or 1 is needed"),
    }
}
