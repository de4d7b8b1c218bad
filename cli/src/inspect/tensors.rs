//! `sleek inspect` of a compressed file of tensors.

use serde_json::{Value, json};
use sleek::printable::printable;
use sleek::{Info, Mode};

use super::stream::{add, bound, codec_name};
use crate::io::{Block, Input, say, say_json};
use crate::progress::{bytes, ratio};
use crate::tensors::{Reader, Tensor};

/// Lists the tensors with what they take.
pub fn inspect(input: Input, as_json: bool) -> Result<(), String> {
    let mut reader = Reader::new(input)?;
    let mut infos: Vec<Option<Info>> = reader.head.tensors.iter().map(|_| None).collect();
    let mut frame = Block::default();
    while reader.next(&mut frame)? {
        let info = sleek::inspect(frame.data()).map_err(|e| format!("{}: {e}", reader.name))?;
        let sum = &mut infos[reader.place()];
        *sum = Some(match sum.take() {
            Some(sum) => add(sum, &info),
            None => info,
        });
    }
    let each: Vec<(&Tensor, Option<Info>)> = reader.head.tensors.iter().zip(infos).collect();
    let packed = |each: &[(&Tensor, Option<Info>)]| each.iter().map(|(_, info)| packed_bytes(info)).sum::<u64>();
    let raw = reader.head.bytes.len() as u64 + reader.head.data_bytes();
    let total = (raw, reader.beginning + packed(&each));
    match as_json {
        true => say_json(&to_json(&reader, &each, total)),
        false => print(&reader, &each, total),
    }
    Ok(())
}

fn packed_bytes(info: &Option<Info>) -> u64 {
    info.as_ref().map_or(0, |info| info.stream_bytes)
}

fn to_json(reader: &Reader, each: &[(&Tensor, Option<Info>)], (raw, packed): (u64, u64)) -> Value {
    let tensors: Vec<Value> = each
        .iter()
        .map(|(tensor, info)| {
            json!({
                "name": tensor.name,
                "dtype": tensor.kind,
                "shape": tensor.shape,
                "raw_bytes": tensor.bytes(),
                "compressed_bytes": packed_bytes(info),
                "ratio": info.as_ref().map(|info| info.raw_bytes as f64 / info.stream_bytes as f64),
                "mode": info.as_ref().map_or("lossless", |info| info.mode.name()),
                "bound": info.as_ref().map_or(0.0, |info| info.bound),
                "codec": info.as_ref().map(|info| codec_name(info.codec)),
            })
        })
        .collect();
    json!({
        "file": "safetensors",
        "raw_bytes": raw,
        "compressed_bytes": packed,
        "ratio": raw as f64 / packed as f64,
        "header_bytes": reader.head.bytes.len(),
        "metadata": reader.head.metadata,
        "tensors": tensors,
    })
}

fn print(reader: &Reader, each: &[(&Tensor, Option<Info>)], (raw, packed): (u64, u64)) {
    let longest = |width: fn(&Tensor) -> usize, least| each.iter().map(|(t, _)| width(t)).max().unwrap_or(0).max(least);
    let names = longest(|t| printable(&t.name).chars().count(), "tensor".len()).min(60);
    let shapes = longest(|t| t.shape_text().len(), "shape".len()).min(40);
    let row = |name: &str, kind: &str, shape: &str, numbers: [String; 3], how: &str| {
        let numbers = numbers.map(|n| format!("{n:>11}")).concat();
        say!("{}", format!("{name:<names$}  {kind:<8}  {shape:<shapes$}{numbers}  {how}").trim_end());
    };
    row("tensor", "dtype", "shape", ["size".into(), "compressed".into(), "ratio".into()], "");
    for (tensor, info) in each {
        let packed = packed_bytes(info);
        let numbers = [
            bytes(tensor.bytes()),
            bytes(packed),
            info.as_ref().map_or(String::new(), |_| ratio(tensor.bytes(), packed)),
        ];
        let how = info.as_ref().filter(|info| info.mode != Mode::Lossless).map_or("lossless".into(), bound);
        row(&printable(&tensor.name), &tensor.kind, &tensor.shape_text(), numbers, &how);
    }
    let header = [bytes(reader.head.bytes.len() as u64), bytes(reader.beginning), String::new()];
    row("(header)", "", "", header, "");
    row(&format!("{} tensors", each.len()), "", "", [bytes(raw), bytes(packed), ratio(raw, packed)], "");
}
