//! The codec `sleek` for [`zarrs`], as `docs/guide/zarr.md` specifies it: each chunk of an array is one stream.
//!
//! A program that has this crate opens arrays with the codec like any others; `use sleek_zarrs as _;` is enough where
//! it only reads. Who writes makes one of a request in words, or of the configuration that stands in an array's
//! metadata:
//!
//! ```
//! use std::sync::Arc;
//! use zarrs::array::{ArrayBuilder, data_type};
//! use zarrs::storage::store::MemoryStore;
//!
//! let field: Vec<f32> = (0..60_000).map(|i| (i as f32 * 1e-3).sin()).collect();
//! let array = ArrayBuilder::new(vec![300, 200], vec![100, 200], data_type::float32(), 0.0f32)
//!     .array_to_bytes_codec(Arc::new(sleek_zarrs::Sleek::new("abs=1e-3")?))
//!     .build(Arc::new(MemoryStore::new()), "/")?;
//! array.store_metadata()?;
//! array.store_array_subset(&array.subset_all(), field.as_slice())?;
//! let restored: Vec<f32> = array.retrieve_array_subset(&array.subset_all())?;
//! assert!(field.iter().zip(&restored).all(|(v, r)| (f64::from(*v) - f64::from(*r)).abs() <= 1e-3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunk;
mod configuration;

use std::num::NonZeroU64;
use std::sync::Arc;

use sleek::Params;
use zarrs::array::codec::api::{CodecPluginV3, PartialDecoderCapability, PartialEncoderCapability};
use zarrs::array::{
    ArrayBytes, ArrayBytesRaw, ArrayCodecTraits, ArrayToBytesCodecTraits, BytesRepresentation, Codec, CodecError,
    CodecMetadataOptions, CodecOptions, CodecTraits, CodecTraitsV3, DataType, FillValue, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{PluginCreateError, ZarrVersion};

use chunk::Chunk;

/// The codec: an array's serializer.
///
/// A bound holds for every element of a floating-point type; what is of another type keeps every bit. The array's fill
/// value, if it is not 0, is a missing value, which comes back as it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Sleek {
    request: Params,
}

zarrs::plugin::impl_extension_aliases!(Sleek, v3: "sleek");

inventory::submit! {
    CodecPluginV3::new::<Sleek>()
}

impl Sleek {
    /// The codec for a request in words: `abs=1e-3`, `noa=1e-4,range=50,fill=-9999`, `lossless`.
    pub fn new(request: &str) -> sleek::Result<Sleek> {
        Ok(Sleek { request: configuration::of_words(request)? })
    }

    /// The codec for its configuration in an array's metadata.
    pub fn with_configuration(configuration: &Configuration) -> sleek::Result<Sleek> {
        Ok(Sleek { request: configuration::read(configuration)? })
    }
}

impl CodecTraitsV3 for Sleek {
    fn create(metadata: &MetadataV3) -> Result<Codec, PluginCreateError> {
        let configuration = metadata.configuration().cloned().unwrap_or_default();
        let codec = Sleek::with_configuration(&configuration)
            .map_err(|e| PluginCreateError::Other(format!("codec sleek: {e}")))?;
        Ok(Codec::ArrayToBytes(Arc::new(codec)))
    }
}

impl CodecTraits for Sleek {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        Some(configuration::write(&self.request))
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        PartialDecoderCapability { partial_read: false, partial_decode: false }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability { partial_encode: false }
    }
}

impl ArrayCodecTraits for Sleek {
    fn recommended_concurrency(&self, _: &[NonZeroU64], _: &DataType) -> Result<RecommendedConcurrency, CodecError> {
        // Chunks at once are as fast as threads in a chunk; where there are fewer chunks than cores, threads are used.
        Ok(RecommendedConcurrency::new_minimum(1))
    }
}

impl ArrayToBytesCodecTraits for Sleek {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToBytesCodecTraits> {
        self
    }

    fn encoded_representation(
        &self,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
    ) -> Result<BytesRepresentation, CodecError> {
        let chunk = Chunk::new(shape, data_type)?;
        let params = chunk.params(&self.request, fill_value).map_err(said)?;
        let most = sleek::compress_bound(&params, chunk.count).map_err(said)?;
        Ok(BytesRepresentation::BoundedSize(most as u64))
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let elements = bytes.into_fixed()?;
        let chunk = Chunk::new(shape, data_type)?;
        let params = chunk.params(&self.request, fill_value).map_err(said)?;
        let params = Params { threads: threads(options), ..sleek::of_chunk(params, &elements).map_err(said)? };
        Ok(sleek::compress(&params, &elements).map_err(said)?.into())
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        _: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        let restored = Chunk::new(shape, data_type)?.restored(&bytes, threads(options)).map_err(said)?;
        Ok(ArrayBytes::new_flen(restored))
    }
}

fn threads(options: &CodecOptions) -> u32 {
    options.concurrent_target().clamp(1, 1024) as u32
}

fn said(error: sleek::Error) -> CodecError {
    CodecError::Other(format!("codec sleek: {error}"))
}
