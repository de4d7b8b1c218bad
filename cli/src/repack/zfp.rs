//! Datasets of filter 32013, H5Z-ZFP: written for programs that have that filter alone, and taken over as they are.

use std::ffi::c_int;

use sleek::codec::zfp::format::CODEC_ZFP;
use sleek::codec::zfp::h5z::{self, Chunks};
use sleek::{Bound, Dims, Mode, Params, Profile};

use super::measure;
use crate::hdf5::dataset::{Block, Field};
use crate::hdf5::filters::pipeline;
use crate::hdf5::{h5, h5_id};

/// The filter that new datasets get.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq)]
pub enum Filter {
    /// Ours, 47474
    #[default]
    Sleek,
    /// 32013, for programs that have no other: --abs, --noa, --rate, --precision, --lossless
    H5zZfp,
    /// None: what ours has compressed is restored, all else stays as it is
    None,
}

/// How the chunks of a new dataset come about.
#[derive(Clone, Copy)]
pub enum Way {
    /// HDF5 hands them to our filter.
    Filter,
    /// They are made of those of H5Z-ZFP that there are, block by block.
    TakenOver(Chunks),
    /// They are written as H5Z-ZFP's.
    H5z(Chunks),
    /// HDF5 writes them without our filter.
    Restored,
}

/// A bit for the only filter: a chunk that did not pass it.
const SKIPPED: u32 = 1;

/// Refuses requests for everything that H5Z-ZFP cannot have.
pub fn check(params: &Params, has_target: bool) -> Result<(), String> {
    if has_target {
        return Err("--filter h5z-zfp: a bound, --rate or --precision is needed; nothing is searched for".into());
    }
    if ![0, CODEC_ZFP].contains(&params.codec) || params.profile != Profile::default() {
        return Err("--filter h5z-zfp: that filter has codec zfp alone, and no profiles".into());
    }
    match params.bound {
        Bound::Rel(_) => {
            Err("--filter h5z-zfp: zfp has no bound relative to each value; --abs or --precision may do".into())
        }
        _ => Ok(()),
    }
}

/// How a dataset comes to be as `params` ask for, with these as the filter takes them; or why it cannot.
pub fn way(filter: Filter, field: &Field, params: &Params) -> Result<Result<(Way, Params), String>, String> {
    if filter == Filter::H5zZfp {
        return Ok(as_h5z(field, params));
    }
    let is_asked = params.codec == CODEC_ZFP && params.bound == Bound::Lossless;
    let chunks = if is_asked { foreign(field)? } else { None };
    Ok(Ok((chunks.map_or(Way::Filter, Way::TakenOver), params.clone())))
}

fn as_h5z(field: &Field, params: &Params) -> Result<(Way, Params), String> {
    check(params, false)?;
    if !field.stored.scalar {
        return Err(format!("{}: filter H5Z-ZFP takes single numbers", field.stored.what));
    }
    let mut params = Params { codec: CODEC_ZFP, ..params.clone() };
    if params.bound.mode() == Mode::Noa {
        params.bound = Bound::Abs(params.bound.absolute().unwrap_or(0.0));
    }
    sleek::codec::chosen(&params).map_err(|e| e.message)?;
    let chunks = Chunks::new(&params, &field.chunk).map_err(|e| e.message)?;
    chunks.words().map_err(|e| e.message)?;
    Ok((Way::H5z(chunks), params))
}

/// What is known of a dataset's chunks, if they are H5Z-ZFP's and ours can have the same blocks.
fn foreign(field: &Field) -> Result<Option<Chunks>, String> {
    let filters = pipeline(&field.properties)?;
    let [filter] = &filters[..] else { return Ok(None) };
    if filter.id != h5z::ID as c_int || !field.stored.scalar || field.stored.big_endian {
        return Ok(None);
    }
    let fits =
        |chunks: &Chunks| chunks.are(&field.chunk) && chunks.dtype() == field.stored.dtype && chunks.coding().is_some();
    Ok(Chunks::read(&filter.words).ok().filter(fits).filter(|_| field.writes_chunks()))
}

/// The chunks of a dataset, made for its new place.
pub struct Maker<'a> {
    field: &'a Field<'a>,
    params: Params,
    way: Way,
    old: measure::Chunks<'a>,
    /// Whether it can never grow: nobody will see then what lies beyond its rim.
    is_fixed: bool,
}

impl<'a> Maker<'a> {
    pub fn new(field: &'a Field<'a>, params: &Params, way: Way) -> Result<Maker<'a>, String> {
        let hdf5 = field.dataset.hdf5;
        let space = h5_id!(hdf5, H5Dget_space(field.dataset.id))?;
        let (mut lens, mut most) = (field.dims.clone(), field.dims.clone());
        h5!(hdf5, H5Sget_simple_extent_dims(space.id, lens.as_mut_ptr(), most.as_mut_ptr()))?;
        let dims = Dims::new(&field.chunk).map_err(|e| e.message)?;
        let params = Params { dims, ..params.clone() };
        Ok(Maker { field, params, way, old: measure::Chunks::of(field)?, is_fixed: most == lens })
    }

    /// The same for an estimate, which may be a rough one.
    pub fn rough(self, is_rough: bool) -> Maker<'a> {
        Maker { old: self.old.rough(is_rough), ..self }
    }

    /// A chunk as it is to be stored, and the filters that it did not pass.
    pub fn chunk(&self, block: &Block) -> Result<(Vec<u8>, u32), String> {
        let blame = |e: sleek::Error| format!("{}: chunk at {:?}: {}", self.field.name, block.start, e.message);
        match &self.way {
            Way::H5z(chunks) => {
                let elements = self.elements(block)?;
                match chunks.encode(&self.params, &elements).map_err(blame)? {
                    Some(bytes) if bytes.len() < elements.len() => Ok((bytes, 0)),
                    _ => Ok((elements, SKIPPED)),
                }
            }
            Way::TakenOver(chunks) => {
                let dims = &self.params.dims;
                let stream = match self.field.chunk(block)? {
                    Some(stored) if stored.skipped == 0 => {
                        let elements = chunks.decode(&stored.bytes).map_err(blame)?;
                        chunks.take_over(dims, &stored.bytes, &elements, self.params.threads)
                    }
                    Some(stored) => sleek::compress(&self.params, &stored.bytes),
                    None => sleek::compress(&self.params, &self.elements(block)?),
                };
                Ok((stream.map_err(blame)?, 0))
            }
            Way::Filter | Way::Restored => {
                Ok((sleek::compress(&self.params, &self.elements(block)?).map_err(blame)?, 0))
            }
        }
    }

    /// The elements of a whole chunk. Beyond the rim of a dataset that may grow there are its fill values, else
    /// elements of its own, which spoil no block.
    fn elements(&self, block: &Block) -> Result<Vec<u8>, String> {
        let bytes = self.field.bytes_of(block)?;
        let shape = &self.field.chunk;
        if !self.is_fixed || block.count == *shape {
            return self.old.filled_up(block, bytes);
        }
        let (size, total) = (self.field.size as usize, shape.iter().product::<u64>());
        let mut chunk = Vec::new();
        crate::io::reserve(&mut chunk, total as usize * size)?;
        for n in 0..total {
            let (mut rest, mut at, mut stride) = (n, 0, 1);
            for (len, side) in block.count.iter().zip(shape).rev() {
                at += (rest % side).min(len - 1) * stride;
                rest /= side;
                stride *= len;
            }
            chunk.extend_from_slice(&bytes[at as usize * size..][..size]);
        }
        Ok(chunk)
    }

    /// The bytes that all chunks take, by some of them.
    pub fn estimated_bytes(&self) -> Result<u64, String> {
        self.old.estimated_by(|block| self.chunk(block).map(|(bytes, _)| bytes.len() as u64))
    }
}
