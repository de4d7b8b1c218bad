//! The codec in arrays of zarrs: every type, shards, missing values, and what is refused.

use std::sync::Arc;

use serde_json::{Value, json};
use sleek_zarrs::Sleek;
use zarrs::array::codec::ShardingCodecBuilder;
use zarrs::array::{Array, ArrayBuilder, ArrayBytes, ArrayMetadata, CodecMetadataOptions, CodecTraits, data_type};
use zarrs::plugin::ZarrVersion;
use zarrs::storage::store::MemoryStore;
use zarrs::storage::{ReadableStorageTraits, WritableStorageTraits};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn field(count: usize) -> Vec<f32> {
    (0..count).map(|i| 20.0 * (i as f32 * 0.003).sin() + (i % 7) as f32 * 1e-3).collect()
}

fn largest_error(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(v, r)| (f64::from(*v) - f64::from(*r)).abs()).fold(0.0, f64::max)
}

/// Metadata of an array of 100 × 70 elements in chunks of 30 × 70, the last of which reach beyond it.
fn metadata(data_type: &str, fill: Value, configuration: Value) -> ArrayMetadata {
    let metadata = json!({
        "zarr_format": 3, "node_type": "array", "shape": [100, 70], "data_type": data_type, "fill_value": fill,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [30, 70]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "sleek", "configuration": configuration}],
    });
    serde_json::from_value(metadata).expect("metadata of Zarr")
}

fn refused(data_type: &str, fill: Value, configuration: Value) -> String {
    match Array::new_with_metadata(Arc::new(MemoryStore::new()), "/", metadata(data_type, fill, configuration)) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("a codec that cannot be"),
    }
}

#[test]
fn bounds_hold_in_chunks_and_in_shards() -> Outcome {
    let values = field(100 * 70);
    for (request, bound) in
        [("abs=1e-3", 1e-3), ("noa=1e-4,range=50", 5e-3), ("noa=1e-4", 4e-3), ("abs=0.01,profile=small", 0.01)]
    {
        let codec = Arc::new(Sleek::new(request)?);
        let chunks = ArrayBuilder::new(vec![100, 70], vec![30, 70], data_type::float32(), 0.0f32)
            .array_to_bytes_codec(codec.clone())
            .build(Arc::new(MemoryStore::new()), "/")?;
        let sharding = ShardingCodecBuilder::new(vec![10.try_into()?, 35.try_into()?], &data_type::float32())
            .array_to_bytes_codec(codec)
            .build_arc();
        let shards = ArrayBuilder::new(vec![100, 70], vec![50, 70], data_type::float32(), 0.0f32)
            .array_to_bytes_codec(sharding)
            .build(Arc::new(MemoryStore::new()), "/")?;
        for array in [chunks, shards] {
            array.store_array_subset(&array.subset_all(), values.as_slice())?;
            let restored: Vec<f32> = array.retrieve_array_subset(&array.subset_all())?;
            let error = largest_error(&values, &restored);
            assert!(error > 0.0 && error <= bound, "{request}: {error}");
            let rows: Vec<f32> = array.retrieve_array_subset(&[37..40, 5..65])?;
            assert_eq!(rows[60..120], restored[38 * 70 + 5..38 * 70 + 65], "{request}");
        }
    }
    Ok(())
}

#[test]
fn what_has_no_bound_keeps_every_bit() -> Outcome {
    for (name, size, fill) in [
        ("bool", 1, json!(false)),
        ("int8", 1, json!(-3)),
        ("uint16", 2, json!(7)),
        ("int64", 8, json!(0)),
        ("complex64", 8, json!([0.0, 0.0])),
        ("r24", 3, json!([0, 0, 0])),
    ] {
        let store = Arc::new(MemoryStore::new());
        let array = Array::new_with_metadata(store, "/", metadata(name, fill, json!({"abs": 1e-3})))?;
        let bytes: Vec<u8> = (0..7000 * size)
            .map(|i| if name == "bool" { u8::from(i % 3 == 0) } else { (i % 509 * i % 251) as u8 })
            .collect();
        array.store_array_subset(&array.subset_all(), ArrayBytes::new_flen(bytes.clone()))?;
        let back: ArrayBytes = array.retrieve_array_subset(&array.subset_all())?;
        assert_eq!(back.into_fixed()?, bytes, "{name}");
    }
    Ok(())
}

#[test]
fn fill_values_come_back_and_do_not_count_for_the_range() -> Outcome {
    let mut values = field(100 * 70);
    values.iter_mut().step_by(9).for_each(|v| *v = -9999.0);
    let store = Arc::new(MemoryStore::new());
    let array =
        Array::new_with_metadata(store.clone(), "/", metadata("float32", json!(-9999.0), json!({"noa": 1e-4})))?;
    array.store_array_subset(&array.subset_all(), values.as_slice())?;
    let restored: Vec<f32> = array.retrieve_array_subset(&array.subset_all())?;
    let chunk = store.get(&array.chunk_key(&[3, 0]))?.expect("a chunk");
    assert_eq!(sleek::inspect(&chunk)?.missing.len(), 1);
    for (v, r) in values.iter().zip(&restored) {
        assert_eq!(*v == -9999.0, *r == -9999.0);
        assert!((f64::from(*v) - f64::from(*r)).abs() <= 40.1 * 1e-4, "{v} {r}");
    }
    Ok(())
}

#[test]
fn a_rate_is_for_integers_where_the_request_says_so() -> Outcome {
    let values: Vec<i64> = (0..7000).map(|i| i * 7919 % 1_000_003).collect();
    for (words, is_exact) in [("rate=8,codec=zfp", true), ("rate=8,codec=zfp,integers", false)] {
        let configured = metadata("int64", json!(0), json!({"request": words}));
        let array = Array::new_with_metadata(Arc::new(MemoryStore::new()), "/", configured)?;
        array.store_array_subset(&array.subset_all(), values.as_slice())?;
        let restored: Vec<i64> = array.retrieve_array_subset(&array.subset_all())?;
        assert_eq!(restored == values, is_exact, "{words}");
    }
    Ok(())
}

#[test]
fn configurations_come_back() {
    for words in [
        "lossless",
        "abs=1e-3",
        "noa=1e-4,range=50",
        "rel=1e-2,profile=fast",
        "abs=1,fill=-9999",
        "abs=1e0,fill=-9.999e3,fill=0x7fc00000",
        "rate=8,codec=zfp",
        "rate=8,codec=zfp,integers",
    ] {
        let codec = Sleek::new(words).expect(words);
        let options = CodecMetadataOptions::default();
        let configuration = codec.configuration(ZarrVersion::V3, &options).expect("a configuration");
        assert_eq!(Sleek::with_configuration(&configuration).expect(words), codec, "{words}");
    }
}

#[test]
fn bad_configurations_are_refused() {
    for (configuration, says) in [
        (json!({}), "there is no mode"),
        (json!({"abs": -1.0}), "-1"),
        (json!({"abs": "1e-3"}), "'abs' is \"1e-3\"; a number is needed"),
        (json!({"abs": 1.0, "rel": 0.1}), "second mode"),
        (json!({"abs": 1.0, "range": 5.0}), "goes with noa only"),
        (json!({"noa": 1.0, "range": 0.0}), "'range' is 0"),
        (json!({"bound": 1.0}), "'bound' is unknown; abs, noa"),
        (json!({"lossless": 1}), "'lossless' is 1; true is needed"),
        (json!({"abs": 1.0, "profile": "best"}), "profile=best"),
        (json!({"abs": 1.0, "request": "abs=1"}), "goes with no other key"),
        (json!({"request": "abs"}), "'abs' needs a number"),
        (json!({"request": "abs=1,fill=1,fill=2"}), "two missing values as numbers"),
    ] {
        let error = refused("float32", json!(0.0), configuration);
        assert!(error.contains("codec sleek") && error.contains(says), "{error}");
    }
}

#[test]
fn what_cannot_be_in_a_stream_is_refused() -> Outcome {
    let text =
        Array::new_with_metadata(Arc::new(MemoryStore::new()), "/", metadata("string", json!(""), json!({"abs": 1.0})));
    let said = match text {
        Err(error) => error.to_string(),
        Ok(array) => {
            let texts = vec!["a"; 7000];
            array.store_array_subset(&array.subset_all(), texts.as_slice()).expect_err("texts").to_string()
        }
    };
    assert!(said.contains("Unsupported data type string for codec sleek"), "{said}");

    let five = json!({"request": "abs=1,fill=1,fill=0x40000000,fill=0x40400000,fill=0x40800000"});
    let array = Array::new_with_metadata(Arc::new(MemoryStore::new()), "/", metadata("float32", json!(5.0), five))?;
    let error = array.store_array_subset(&array.subset_all(), field(7000).as_slice()).expect_err("five").to_string();
    assert!(error.contains("fill value 5 is a fifth"), "{error}");
    Ok(())
}

#[test]
fn damaged_chunks_are_refused() -> Outcome {
    let store = Arc::new(MemoryStore::new());
    let array = Array::new_with_metadata(store.clone(), "/", metadata("float32", json!(0.0), json!({"abs": 1e-3})))?;
    array.store_array_subset(&array.subset_all(), field(7000).as_slice())?;
    let key = array.chunk_key(&[1, 0]);
    let whole = store.get(&key)?.expect("a chunk").to_vec();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    let longer = [&whole[..], &[0]].concat();
    let params = sleek::Params::new(sleek::DType::F64);
    let of_doubles = sleek::compress(&params, &[0; 8 * 30 * 70])?;
    let few = sleek::compress(&sleek::Params::new(sleek::DType::F32), &[0; 4 * 70])?;
    for (bytes, says) in [
        (flipped, "corrupt stream"),
        (whole[..whole.len() / 2].to_vec(), "truncated stream"),
        (longer, "its stream"),
        (of_doubles, "2100 elements f64, the chunk 2100 elements f32"),
        (few, "70 elements f32"),
        (b"no stream".to_vec(), "codec sleek"),
    ] {
        store.set(&key, bytes.into())?;
        let error = array.retrieve_chunk::<Vec<f32>>(&[1, 0]).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
        assert_eq!(array.retrieve_chunk::<Vec<f32>>(&[0, 0])?.len(), 2100);
    }
    Ok(())
}
