//! `sleek verify` of an array and a file of streams.

use serde_json::{Value, json};
use sleek::Mode;
use sleek::bound::mul_down;
use sleek::container::Header;

use super::Args;
use super::difference::{Difference, Rule};
use crate::frames::{self, FrameReader};
use crate::io::{Block, Input, say, say_json};
use crate::progress::{Progress, bytes, figure, number, ratio};
use crate::quality::{Figure, Figures};
use crate::{npy, pipeline};

/// Compares and reports; whether the bound is kept.
pub fn run(args: &Args, original: Input, compressed: Input) -> Result<bool, String> {
    let report = compare(original, compressed, args.verbosity.quiet)?;
    let (figures, missed) = figures(args, &report)?;
    match args.json {
        true => {
            let mut all = report.to_json();
            if let Some(figures) = &figures {
                (all["quality"], all["missed"]) = (figures.to_json(), json!(missed));
            }
            say_json(&all);
        }
        false => {
            report.print();
            let wanted = [Figure::Mean, Figure::Pearson, Figure::Ks, Figure::Spectral, Figure::Ssim, Figure::Dssim];
            for figure in wanted {
                if let Some(value) = figures.as_ref().and_then(|figures| figures.get(figure)) {
                    say!("{:<17}{}", figure.title(), figure.words(value));
                }
            }
            missed.iter().for_each(|missed| say!("{:<17}{missed}", "MISSED"));
        }
    }
    Ok(report.kept() && missed.is_empty())
}

/// The figures, if they are asked for, and which limits they miss.
#[cfg(unix)]
fn figures(args: &Args, report: &Report) -> Result<(Option<Figures>, Vec<String>), String> {
    let wanted = args.wanted();
    if !wanted.any() {
        return Ok((None, Vec::new()));
    }
    let pair = super::pair::Pair::of_stream(&args.original, &args.compressed, None)?;
    let figures = pair.figures(wanted, &report.difference)?;
    args.limits.expect_told(std::iter::once(&figures))?;
    let missed = args.limits.missed(&figures);
    Ok((Some(figures), missed))
}

#[cfg(not(unix))]
fn figures(_: &Args, _: &Report) -> Result<(Option<Figures>, Vec<String>), String> {
    Ok((None, Vec::new()))
}

fn compare(mut original: Input, compressed: Input, quiet: bool) -> Result<Report, String> {
    let mut progress = Progress::new("comparing", compressed.bytes, quiet);
    let name = compressed.name.clone();
    let mut reader = FrameReader::new(compressed);
    let (mut expected, mut restored) = (Block::default(), Block::default());
    let mut report: Option<Report> = None;
    let mut npy = npy::head(&mut original)?;
    pipeline::run(
        |frame| reader.next(frame),
        |frame, _| {
            let header = frames::header(frame)?;
            if let Some(head) = npy.take() {
                head.check_elements(&header, &name)?;
                head.place(&mut original)?;
            }
            let report = report.get_or_insert_with(|| Report::new(header.clone()));
            report.add_frame(&header);
            for piece in frames::pieces(&header) {
                piece.restore(frame, &mut restored).map_err(|e| format!("{name}: {e}"))?;
                original.fill(&mut expected, restored.data().len())?;
                report.add(&header, expected.data(), restored.data());
            }
            progress.add(frame.data().len() as u64);
            Ok(())
        },
        |_| Ok(()),
    )?;
    let mut report = report.ok_or_else(|| format!("{name}: holds no stream"))?;
    report.original_bytes += rest(&mut original, &mut expected)?;
    Ok(report)
}

/// Bytes that are left.
fn rest(input: &mut Input, block: &mut Block) -> Result<u64, String> {
    let mut total = 0;
    loop {
        match input.fill(block, frames::FRAME_BYTES)? {
            0 => return Ok(total),
            n => total += n as u64,
        }
    }
}

/// What was found.
pub struct Report {
    /// Of the first stream; what was asked for is the same in all of them.
    header: Header,
    original_bytes: u64,
    restored_bytes: u64,
    compressed_bytes: u64,
    pub difference: Difference,
}

impl Report {
    /// Of an array whose first stream has this header.
    pub fn new(header: Header) -> Report {
        Report { header, original_bytes: 0, restored_bytes: 0, compressed_bytes: 0, difference: Difference::default() }
    }

    /// Counts a stream, whose pieces come now.
    pub fn add_frame(&mut self, header: &Header) {
        self.compressed_bytes += header.stream_bytes;
    }

    /// Compares a piece of a stream.
    pub fn add(&mut self, header: &Header, original: &[u8], restored: &[u8]) {
        self.original_bytes += original.len() as u64;
        self.restored_bytes += restored.len() as u64;
        let missing = header.layout.shape.missing.bits();
        let rule = Rule::new(header.layout.dtype, header.big_endian, header.mode, missing).with_relative();
        let first = self.difference.count;
        let index = |n| vec![first + n];
        self.difference.join(&Difference::by_threads(&rule, limit(header), original, restored, &index));
    }

    fn same_size(&self) -> bool {
        self.original_bytes == self.restored_bytes
    }

    /// Whether everything is as promised.
    pub fn kept(&self) -> bool {
        self.same_size() && self.difference.violations == 0
    }

    /// Whether a bit of an element changed.
    pub fn is_changed(&self) -> bool {
        self.difference.changed > 0
    }

    /// The range that noa used, else that of the finite values.
    fn range(&self) -> f64 {
        if self.header.range > 0.0 { self.header.range } else { self.difference.range() }
    }

    fn psnr(&self) -> f64 {
        self.difference.psnr(self.range())
    }

    fn to_json(&self) -> Value {
        let d = &self.difference;
        let of_bound = (limit(&self.header) > 0.0).then_some(d.of_bound);
        let first = d.first.as_ref();
        json!({
            "kept": self.kept(),
            "dtype": self.header.layout.dtype.name(),
            "mode": self.header.mode.name(),
            "bound": self.header.bound,
            "count": d.count,
            "original_bytes": self.original_bytes,
            "restored_bytes": self.restored_bytes,
            "compressed_bytes": self.compressed_bytes,
            "ratio": self.original_bytes as f64 / self.compressed_bytes as f64,
            "max_error": d.max_error,
            "max_relative_error": d.max_relative,
            "rms_error": d.rms(),
            "error_over_bound": of_bound,
            "value_range": self.range(),
            "psnr": self.psnr(),
            "special_values": d.special,
            "missing_values": d.missing,
            "missing_violations": d.missing_violations,
            "violations": d.violations,
            "first_violation":
                first.map(|v| json!({"index": v.index[0], "original": v.original, "restored": v.restored})),
        })
    }

    fn print(&self) {
        let (dtype, d) = (self.header.layout.dtype.name(), &self.difference);
        let row = |label: &str, value: String| say!("{label:<17}{value}");
        row("elements", format!("{} {dtype}", d.count));
        row("size", format!("{} -> {}", bytes(self.original_bytes), bytes(self.compressed_bytes)));
        row("ratio", ratio(self.original_bytes, self.compressed_bytes));
        row("bound", promise(&self.header));
        row("max error", figure(d.max_error) + &self.share());
        if self.header.mode == Mode::Rel {
            row("max rel. error", format!("{}, {:.4} of the bound", figure(d.max_relative), d.of_bound));
        }
        row("RMS error", figure(d.rms()));
        row("PSNR", if d.rms() == 0.0 { "infinite".into() } else { format!("{:.2} dB", self.psnr()) });
        row("NaN and infinite", d.special.to_string());
        if !self.header.layout.shape.missing.is_empty() {
            row("missing values", d.missing.to_string());
        }
        row("verdict", self.verdict());
    }

    /// The share of an absolute bound that the largest error takes.
    fn share(&self) -> String {
        match self.header.mode {
            Mode::Abs | Mode::Noa if limit(&self.header) > 0.0 => {
                format!(", {:.4} of the bound", self.difference.of_bound)
            }
            _ => String::new(),
        }
    }

    /// What was promised, in words.
    pub fn bound(&self) -> String {
        promise(&self.header)
    }

    fn masks(&self) -> String {
        match self.difference.missing_violations {
            0 => String::new(),
            n => format!(" (of {n} the missing values do not agree)"),
        }
    }

    /// What came of it, in words.
    pub fn verdict(&self) -> String {
        match &self.difference.first {
            _ if !self.same_size() => format!(
                "BROKEN: the original has {} bytes, the compressed file restores {}",
                self.original_bytes, self.restored_bytes
            ),
            Some(v) => format!(
                "BROKEN in {} of {} elements{}; the first is element {}: {:e} became {:e}",
                self.difference.violations,
                self.difference.count,
                self.masks(),
                v.index[0],
                v.original,
                v.restored
            ),
            None if matches!(self.header.mode, Mode::Rate | Mode::Precision) => {
                format!("a {} promises no bound; NaN and infinities are kept", self.header.mode.name())
            }
            None => "kept".into(),
        }
    }
}

/// What an error is held against: the relative bound for `Rel`, else the absolute one; 0 where every bit must come
/// back, and where nothing is promised.
pub fn limit(header: &Header) -> f64 {
    match header.mode {
        Mode::Lossless | Mode::Rate | Mode::Precision => 0.0,
        Mode::Abs | Mode::Rel => header.bound,
        Mode::Noa => mul_down(header.bound, header.range),
    }
}

/// What the stream promises, in words.
pub fn promise(header: &Header) -> String {
    match header.mode {
        Mode::Lossless => "lossless".into(),
        Mode::Noa => format!("noa {:e} of the value range {}", header.bound, number(header.range)),
        mode @ (Mode::Rate | Mode::Precision) => format!("none: {} {}", mode.name(), number(header.bound)),
        mode => format!("{} {:e}", mode.name(), header.bound),
    }
}
