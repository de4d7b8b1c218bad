//! `sleek verify` of an array and a file of streams.

use serde_json::{Value, json};
use sleek::Mode;
use sleek::advise::elements;
use sleek::bound::mul_down;
use sleek::container::Header;

use super::Args;
use super::exact::{Marks, holds};
use crate::frames::{self, FrameReader};
use crate::io::{Block, Input, say, say_json};
use crate::progress::{Progress, bytes, figure, number, ratio};
use crate::quality::{Figure, Figures};
use crate::{npy, pipeline};

/// Compares and reports; whether the bound is kept.
pub fn run(args: &Args, original: Input, compressed: Input) -> Result<bool, String> {
    let report = compare(original, compressed, args.verbosity.quiet)?;
    let (figures, missed) = figures(args)?;
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
            for figure in wanted.iter().filter(|_| figures.is_some()) {
                let value = figures.as_ref().map_or(String::new(), |figures| figures.words(*figure));
                say!("{:<17}{value}", figure.title());
            }
            missed.iter().for_each(|missed| say!("{:<17}{missed}", "MISSED"));
        }
    }
    Ok(report.kept() && missed.is_empty())
}

/// The figures, if they are asked for, and which limits they miss.
#[cfg(unix)]
fn figures(args: &Args) -> Result<(Option<Figures>, Vec<String>), String> {
    if !args.takes_figures() {
        return Ok((None, Vec::new()));
    }
    let figures = super::pair::Pair::of_stream(&args.original, &args.compressed, None)?.quality()?;
    args.limits.expect_told(std::iter::once(&figures))?;
    let missed = args.limits.missed(&figures);
    Ok((Some(figures), missed))
}

#[cfg(not(unix))]
fn figures(_: &Args) -> Result<(Option<Figures>, Vec<String>), String> {
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

/// An element that breaks the bound.
struct Violation {
    index: u64,
    original: f64,
    restored: f64,
}

/// What was found.
pub struct Report {
    /// Of the first stream; what was asked for is the same in all of them.
    header: Header,
    original_bytes: u64,
    restored_bytes: u64,
    compressed_bytes: u64,
    count: u64,
    special: u64,
    missing: u64,
    missing_violations: u64,
    violations: u64,
    first: Option<Violation>,
    max_error: f64,
    max_relative: f64,
    of_bound: f64,
    squares: f64,
    lo: f64,
    hi: f64,
}

impl Report {
    /// Of an array whose first stream has this header.
    pub fn new(header: Header) -> Report {
        Report {
            header,
            original_bytes: 0,
            restored_bytes: 0,
            compressed_bytes: 0,
            count: 0,
            special: 0,
            missing: 0,
            missing_violations: 0,
            violations: 0,
            first: None,
            max_error: 0.0,
            max_relative: 0.0,
            of_bound: 0.0,
            squares: 0.0,
            lo: f64::INFINITY,
            hi: f64::NEG_INFINITY,
        }
    }

    /// Counts a stream, whose pieces come now.
    pub fn add_frame(&mut self, header: &Header) {
        self.compressed_bytes += header.stream_bytes;
    }

    /// Compares a piece of a stream.
    pub fn add(&mut self, header: &Header, original: &[u8], restored: &[u8]) {
        self.original_bytes += original.len() as u64;
        self.restored_bytes += restored.len() as u64;
        let limit = limit(header);
        let marks = Marks::new(&header.layout.shape.missing);
        let mut max_error = 0.0f64;
        elements::for_each_pair(header.layout.dtype, header.big_endian, original, restored, |v, r| {
            let is_missing = marks.hold(v.0);
            let mask_agrees = if is_missing { v.0 == r.0 } else { !marks.hold(r.0) };
            if !mask_agrees {
                self.missing_violations += 1;
            }
            if !mask_agrees || !holds(header.mode, limit, v, r) {
                self.violate(v.1, r.1);
            }
            self.count += 1;
            if is_missing {
                self.missing += 1;
            } else if v.1.is_finite() {
                max_error = max_error.max(self.measure(v.1, r.1));
            } else {
                self.special += 1;
            }
        });
        self.max_error = self.max_error.max(max_error);
        if limit > 0.0 {
            let error = if header.mode == Mode::Rel { self.max_relative } else { max_error };
            self.of_bound = self.of_bound.max(error / limit);
        }
    }

    /// Takes a finite value into the statistics; returns its error.
    fn measure(&mut self, v: f64, r: f64) -> f64 {
        let error = if r.is_nan() { f64::INFINITY } else { (v - r).abs() };
        self.squares += error * error;
        self.lo = self.lo.min(v);
        self.hi = self.hi.max(v);
        if error > 0.0 {
            self.max_relative = self.max_relative.max(error / v.abs());
        }
        error
    }

    fn violate(&mut self, original: f64, restored: f64) {
        self.violations += 1;
        self.first.get_or_insert(Violation { index: self.count, original, restored });
    }

    fn same_size(&self) -> bool {
        self.original_bytes == self.restored_bytes
    }

    /// Whether everything is as promised.
    pub fn kept(&self) -> bool {
        self.same_size() && self.violations == 0
    }

    /// The largest error.
    pub fn max_error(&self) -> f64 {
        self.max_error
    }

    /// Whether an element came back with another value.
    pub fn is_changed(&self) -> bool {
        self.max_error > 0.0 || self.violations > 0
    }

    fn rms(&self) -> f64 {
        (self.squares / (self.count - self.special - self.missing).max(1) as f64).sqrt()
    }

    /// The range that noa used, else that of the finite values.
    fn range(&self) -> f64 {
        match self.header.range {
            r if r > 0.0 => r,
            _ if self.lo <= self.hi => self.hi - self.lo,
            _ => 0.0,
        }
    }

    fn psnr(&self) -> f64 {
        20.0 * (self.range() / self.rms()).log10()
    }

    fn to_json(&self) -> Value {
        let of_bound = (limit(&self.header) > 0.0).then_some(self.of_bound);
        let first = self.first.as_ref();
        json!({
            "kept": self.kept(),
            "dtype": self.header.layout.dtype.name(),
            "mode": self.header.mode.name(),
            "bound": self.header.bound,
            "count": self.count,
            "original_bytes": self.original_bytes,
            "restored_bytes": self.restored_bytes,
            "compressed_bytes": self.compressed_bytes,
            "ratio": self.original_bytes as f64 / self.compressed_bytes as f64,
            "max_error": self.max_error,
            "max_relative_error": self.max_relative,
            "rms_error": self.rms(),
            "error_over_bound": of_bound,
            "value_range": self.range(),
            "psnr": self.psnr(),
            "special_values": self.special,
            "missing_values": self.missing,
            "missing_violations": self.missing_violations,
            "violations": self.violations,
            "first_violation": first.map(|v| json!({"index": v.index, "original": v.original, "restored": v.restored})),
        })
    }

    fn print(&self) {
        let dtype = self.header.layout.dtype.name();
        let row = |label: &str, value: String| say!("{label:<17}{value}");
        row("elements", format!("{} {dtype}", self.count));
        row("size", format!("{} -> {}", bytes(self.original_bytes), bytes(self.compressed_bytes)));
        row("ratio", ratio(self.original_bytes, self.compressed_bytes));
        row("bound", promise(&self.header));
        row("max error", figure(self.max_error) + &self.share());
        if self.header.mode == Mode::Rel {
            row("max rel. error", format!("{}, {:.4} of the bound", figure(self.max_relative), self.of_bound));
        }
        row("RMS error", figure(self.rms()));
        row("PSNR", if self.squares == 0.0 { "infinite".into() } else { format!("{:.2} dB", self.psnr()) });
        row("NaN and infinite", self.special.to_string());
        if !self.header.layout.shape.missing.is_empty() {
            row("missing values", self.missing.to_string());
        }
        row("verdict", self.verdict());
    }

    /// The share of an absolute bound that the largest error takes.
    fn share(&self) -> String {
        match self.header.mode {
            Mode::Abs | Mode::Noa if limit(&self.header) > 0.0 => format!(", {:.4} of the bound", self.of_bound),
            _ => String::new(),
        }
    }

    /// What was promised, in words.
    pub fn bound(&self) -> String {
        promise(&self.header)
    }

    fn masks(&self) -> String {
        match self.missing_violations {
            0 => String::new(),
            n => format!(" (of {n} the missing values do not agree)"),
        }
    }

    /// What came of it, in words.
    pub fn verdict(&self) -> String {
        match &self.first {
            _ if !self.same_size() => format!(
                "BROKEN: the original has {} bytes, the compressed file restores {}",
                self.original_bytes, self.restored_bytes
            ),
            Some(v) => format!(
                "BROKEN in {} of {} elements{}; the first is element {}: {:e} became {:e}",
                self.violations,
                self.count,
                self.masks(),
                v.index,
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
