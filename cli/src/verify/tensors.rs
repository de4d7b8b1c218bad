//! `sleek verify` of a safetensors file and its compressed file.

use serde_json::{Value, json};
use sleek::printable::printable;

use super::stream::Report;
use crate::frames;
use crate::io::{Block, Input, say, say_json};
use crate::pipeline;
use crate::progress::{Progress, bytes, figure, ratio};
use crate::tensors::{Reader, Tensor};

/// What became of a tensor.
struct TensorVerdict {
    report: Option<Report>,
}

impl TensorVerdict {
    fn kept(&self) -> bool {
        self.report.as_ref().is_none_or(Report::kept)
    }

    fn word(&self) -> &'static str {
        match &self.report {
            Some(report) if !report.kept() => "BROKEN",
            Some(report) if report.is_changed() => "within bound",
            _ => "identical",
        }
    }

    fn why(&self) -> String {
        match &self.report {
            Some(report) if !report.kept() => report.verdict(),
            Some(report) if report.is_changed() => {
                format!("{}, max error {}", report.bound(), figure(report.difference.max_error))
            }
            _ => String::new(),
        }
    }
}

/// Compares and reports; whether all of it is as promised.
pub fn verify(mut original: Input, compressed: Input, as_json: bool, quiet: bool) -> Result<bool, String> {
    let mut reader = Reader::new(compressed)?;
    let mut progress = Progress::new("comparing", reader.bytes, quiet);
    let name = reader.name.clone();
    let (mut expected, mut restored) = (Block::default(), Block::default());
    original.fill(&mut expected, reader.head.bytes.len())?;
    let mut raw = expected.data().len() as u64;
    let same_header = expected.data() == reader.head.bytes;
    let sizes: Vec<u64> = reader.head.tensors.iter().map(Tensor::bytes).collect();
    let mut verdicts: Vec<TensorVerdict> = sizes.iter().map(|_| TensorVerdict { report: None }).collect();
    let (mut at, mut rest, mut packed) = (0, sizes.first().copied().unwrap_or(0), reader.beginning);
    // With another header nothing is where it was.
    if same_header {
        pipeline::run(
            |frame| reader.next(frame),
            |frame, _| {
                let header = frames::header(frame)?;
                // A stream of no elements is still of the tensor before.
                while rest == 0 && header.layout.count > 0 {
                    at += 1;
                    rest = sizes[at];
                }
                let report = verdicts[at].report.get_or_insert_with(|| Report::new(header.clone()));
                report.add_frame(&header);
                for piece in frames::pieces(&header) {
                    piece.restore(frame, &mut restored).map_err(|e| format!("{name}: {e}"))?;
                    raw += original.fill(&mut expected, restored.data().len())? as u64;
                    rest -= restored.data().len() as u64;
                    report.add(&header, expected.data(), restored.data());
                }
                packed += frame.data().len() as u64;
                progress.add(frame.data().len() as u64);
                Ok(())
            },
            |_| Ok(()),
        )?;
    }
    let surplus = same_header && original.more()?;
    let fault = match (same_header, surplus) {
        (false, _) => Some("its header is another than the original's"),
        (_, true) => Some("the original goes on behind the last of the tensors"),
        _ => None,
    };
    let kept = fault.is_none() && verdicts.iter().all(TensorVerdict::kept);
    let each: Vec<(&Tensor, &TensorVerdict)> = reader.head.tensors.iter().zip(&verdicts).collect();
    match as_json {
        true => say_json(&to_json(&each, fault, kept, (raw, packed))),
        false => print(&each, fault, kept, (raw, packed)),
    }
    Ok(kept)
}

fn to_json(each: &[(&Tensor, &TensorVerdict)], fault: Option<&str>, kept: bool, (raw, packed): (u64, u64)) -> Value {
    let tensors: Vec<Value> = each
        .iter()
        .map(|(tensor, verdict)| {
            json!({
                "name": tensor.name,
                "verdict": if fault.is_some() { "not compared".into() } else { verdict.word().to_lowercase() },
                "why": verdict.why(),
                "max_error": verdict.report.as_ref().map(|report| report.difference.max_error),
            })
        })
        .collect();
    json!({
        "kept": kept,
        "fault": fault,
        "original_bytes": raw,
        "compressed_bytes": packed,
        "ratio": raw as f64 / packed as f64,
        "tensors": tensors,
    })
}

fn print(each: &[(&Tensor, &TensorVerdict)], fault: Option<&str>, kept: bool, (raw, packed): (u64, u64)) {
    let row = |label: &str, value: String| say!("{label:<17}{value}");
    let count = |word: &str| each.iter().filter(|(_, verdict)| verdict.word() == word).count();
    row("tensors", each.len().to_string());
    row("size", format!("{} -> {}", bytes(raw), bytes(packed)));
    row("ratio", ratio(raw, packed));
    if fault.is_none() {
        for word in ["identical", "within bound", "BROKEN"] {
            row(word, count(word).to_string());
        }
        for (tensor, verdict) in each.iter().filter(|(_, verdict)| verdict.word() != "identical") {
            say!("  {}: {}", printable(&tensor.name), verdict.why());
        }
    }
    let verdict = match (fault, kept) {
        (Some(fault), _) => format!("BROKEN: {fault}"),
        (None, true) => "kept".into(),
        (None, false) => "BROKEN".into(),
    };
    row("verdict", verdict);
}
