//! `sleek verify` of an array and a file of streams.

use serde_json::{Value, json};
use sleek::Bound;
use sleek::container::Header;

use super::Args;
use super::difference::{Difference, PLANE_ELEMENTS, Rule};
use super::promise;
use super::report::{FieldVerdict, Judged};
use crate::frames::{self, FRAME_BYTES, FramePiece, FrameReader};
use crate::io::{Block, Input, say, say_json};
use crate::npy;
use crate::pipeline::in_order;
use crate::progress::{Progress, bytes, figure, ratio};
use crate::quality::{Figure, Figures, Quality};

/// Compares and reports; whether the bound is kept.
pub fn run(args: &Args, original: Input, compressed: Input) -> Result<bool, String> {
    let report = compare(original, compressed, args.verbosity.quiet)?;
    let figures = figures(args, &report)?;
    let missed = figures.as_ref().map_or(Vec::new(), |figures| args.limits.missed(figures));
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
            for figure in [Figure::Mean, Figure::Pearson, Figure::Ks, Figure::Ssim, Figure::Dssim] {
                if let Some(value) = figures.as_ref().and_then(|figures| figures.get(figure)) {
                    say!("{:<17}{}", figure.title(), figure.words(value));
                }
            }
            missed.iter().for_each(|missed| say!("{:<17}{missed}", "MISSED"));
        }
    }
    Ok(report.verdict.is_kept() && missed.is_empty())
}

/// The figures, if they are asked for.
fn figures(args: &Args, report: &Report) -> Result<Option<Figures>, String> {
    let wanted = args.wanted();
    let Some(Judged { difference, .. }) = report.verdict.judged().filter(|_| wanted.any()) else { return Ok(None) };
    if [&args.original, &args.compressed].iter().any(|path| path.as_os_str() == "-") {
        return Err("--quality and limits read both files twice; regular files are needed".into());
    }
    let new = || Quality::new(wanted, difference.range());
    let work = |part: &StreamPart| {
        let (mut quality, (original, restored)) = (new(), part.rule().values(&part.original, &part.restored));
        quality.add(&part.shape, &original, &restored);
        if part.shape.len() == PLANES {
            quality.add_planes(&part.shape, &original, &restored);
        }
        quality
    };
    let mut all = new();
    let mut sides = Sides::new(Input::open(&args.original)?, Input::open(&args.compressed)?, args.verbosity.quiet)?;
    sides.largest_plane = if wanted.has(Figure::Dssim) { PLANE_ELEMENTS } else { PART_ELEMENTS as u64 };
    sides.each(work, |part| all.join(&part))?;
    let figures = all.figures(difference.figures());
    args.limits.expect_told(std::iter::once(&figures))?;
    Ok(Some(figures))
}

fn compare(original: Input, compressed: Input, quiet: bool) -> Result<Report, String> {
    let mut sides = Sides::new(original, compressed, quiet)?;
    let (mut difference, mut original_bytes, mut restored_bytes) = (Difference::default(), 0, 0);
    let work = |part: &StreamPart| {
        let (limit, index) = (promise::limit_of(bound(&part.header)), |n| vec![part.first + n]);
        let of = Difference::of(&part.rule(), limit, &part.original, &part.restored, &index);
        (of, part.original.len() as u64, part.restored.len() as u64)
    };
    sides.each(work, |(of, original, restored)| {
        difference.join(&of);
        (original_bytes, restored_bytes) = (original_bytes + original, restored_bytes + restored);
    })?;
    original_bytes += sides.rest()?;
    let Sides { first, compressed_bytes, name, .. } = sides;
    let header = first.ok_or_else(|| format!("{name}: holds no stream"))?;
    let verdict = match original_bytes == restored_bytes {
        true => {
            let bound = bound(&header);
            FieldVerdict::of(Judged { mode: bound.mode(), promise: promise::in_words(bound), difference })
        }
        false => FieldVerdict::Broken(format!("{original_bytes} bytes, the compressed file restores {restored_bytes}")),
    };
    Ok(Report { header, original_bytes, compressed_bytes, verdict })
}

/// Dimensions of a part that is of whole planes.
const PLANES: usize = 3;
/// Elements of a part, as far as whole planes allow.
const PART_ELEMENTS: usize = 1 << 19;

/// A part of both sides: whole planes, or some rows of a large one, or a part of a line.
struct StreamPart {
    /// Of its stream.
    header: Header,
    /// The number of its first element in the array.
    first: u64,
    shape: Vec<u64>,
    original: Vec<u8>,
    restored: Vec<u8>,
}

impl StreamPart {
    fn rule(&self) -> Rule<'_> {
        let Header { layout, big_endian, mode, .. } = &self.header;
        Rule::new(layout.dtype, *big_endian, *mode, layout.shape.missing.bits())
    }
}

/// The shape of the least part of a stream, of which others have several: a plane of so many elements at most, else the
/// rows of a window.
fn least_part(header: &Header, largest: u64) -> Vec<u64> {
    let rows = |width: u64| width.saturating_mul(8) <= PART_ELEMENTS as u64;
    match *header.layout.shape.dims.lens() {
        _ if header.layout.count == 0 => vec![1],
        [.., height, width] if height * width <= largest => vec![1, height, width],
        [.., _, width] if rows(width) => vec![8, width],
        _ => vec![1],
    }
}

/// An array and its compressed file, read part by part.
struct Sides {
    name: String,
    original: Input,
    npy: Option<npy::Head>,
    reader: FrameReader,
    /// The header of the first stream; what was asked for is the same in all of them.
    first: Option<Header>,
    frame: Block,
    header: Option<Header>,
    pieces: Box<dyn Iterator<Item = FramePiece>>,
    /// A piece, of which the bytes from `at` on were not shown.
    restored: Block,
    at: usize,
    elements: u64,
    /// Elements of the largest plane that is a part.
    largest_plane: u64,
    compressed_bytes: u64,
    progress: Progress,
}

impl Sides {
    fn new(mut original: Input, compressed: Input, quiet: bool) -> Result<Sides, String> {
        Ok(Sides {
            name: compressed.name.clone(),
            npy: npy::head(&mut original)?,
            original,
            progress: Progress::new("comparing", compressed.bytes, quiet),
            reader: FrameReader::new(compressed),
            first: None,
            frame: Block::default(),
            header: None,
            pieces: Box::new(std::iter::empty()),
            restored: Block::default(),
            at: 0,
            elements: 0,
            largest_plane: PART_ELEMENTS as u64,
            compressed_bytes: 0,
        })
    }

    /// Shows every part to `work`, which any thread does, and what comes of it to `take`, in order.
    fn each<T: Send>(&mut self, work: impl Fn(&StreamPart) -> T + Sync, mut take: impl FnMut(T)) -> Result<(), String> {
        in_order(
            std::iter::from_fn(|| self.next().transpose()),
            |part| part.as_ref().map(|_| ()).map_err(String::clone),
            |part, ()| part.as_ref().map(&work).map_err(String::clone),
            |_, done| done.map(&mut take),
        )
    }

    fn next(&mut self) -> Result<Option<StreamPart>, String> {
        loop {
            if let (rest @ [_, ..], Some(header)) = (&self.restored.data()[self.at..], &self.header) {
                let (size, mut shape) = (header.layout.dtype.size(), least_part(header, self.largest_plane));
                let least = shape.iter().product::<u64>() as usize;
                let restored = rest[..rest.len().min((PART_ELEMENTS / least).max(1) * least * size)].to_vec();
                let (mut original, first, count) = (Block::default(), self.elements, (restored.len() / size) as u64);
                self.original.fill(&mut original, restored.len())?;
                (self.at, self.elements) = (self.at + restored.len(), first + count);
                shape[0] = count / shape[1..].iter().product::<u64>();
                return Ok(Some(StreamPart {
                    header: header.clone(),
                    first,
                    shape,
                    original: original.into_bytes(),
                    restored,
                }));
            }
            if let Some(piece) = self.pieces.next() {
                piece.restore(&self.frame, &mut self.restored).map_err(|e| format!("{}: {e}", self.name))?;
                self.at = 0;
                continue;
            }
            if !self.reader.next(&mut self.frame)? {
                return Ok(None);
            }
            let header = frames::header(&self.frame)?;
            if let Some(head) = self.npy.take() {
                head.check_elements(&header, &self.name)?;
                head.place(&mut self.original)?;
            }
            self.compressed_bytes += header.stream_bytes;
            self.progress.add(header.stream_bytes);
            let least = least_part(&header, self.largest_plane).iter().product::<u64>() as usize;
            let least = least * header.layout.dtype.size();
            self.pieces = Box::new(frames::pieces_of(&header, (FRAME_BYTES / least).max(1) * least));
            self.first.get_or_insert_with(|| header.clone());
            self.header = Some(header);
        }
    }

    /// Bytes of the original that are left.
    fn rest(&mut self) -> Result<u64, String> {
        let (mut total, mut block) = (0, Block::default());
        loop {
            match self.original.fill(&mut block, FRAME_BYTES)? {
                0 => return Ok(total),
                n => total += n as u64,
            }
        }
    }
}

struct Report {
    /// Of the first stream; what was asked for is the same in all of them.
    header: Header,
    original_bytes: u64,
    compressed_bytes: u64,
    verdict: FieldVerdict,
}

impl Report {
    fn to_json(&self) -> Value {
        let mut all = self.verdict.to_json();
        all["kept"] = json!(self.verdict.is_kept());
        all["dtype"] = json!(self.header.layout.dtype.name());
        all["bound"] = json!(self.header.bound);
        all["original_bytes"] = json!(self.original_bytes);
        all["compressed_bytes"] = json!(self.compressed_bytes);
        all["ratio"] = json!(self.original_bytes as f64 / self.compressed_bytes as f64);
        all
    }

    fn print(&self) {
        let row = |label: &str, value: String| say!("{label:<17}{value}");
        row("size", format!("{} -> {}", bytes(self.original_bytes), bytes(self.compressed_bytes)));
        row("ratio", ratio(self.original_bytes, self.compressed_bytes));
        if let Some(Judged { difference: d, .. }) = self.verdict.judged() {
            row("elements", format!("{} {}", d.count, self.header.layout.dtype.name()));
            row("RMS error", figure(d.rms()));
            row("PSNR", if d.rms() == 0.0 { "infinite".into() } else { format!("{:.2} dB", d.psnr(d.range())) });
            row("NaN and infinite", d.special.to_string());
        }
        row("verdict", format!("{} {}", self.verdict.name(), self.verdict.words()).trim_end().to_owned());
    }
}

/// What a stream promises.
fn bound(header: &Header) -> Bound {
    Bound::new(header.mode, header.bound).map_or(Bound::Lossless, |bound| bound.of_range(Some(header.range)))
}
