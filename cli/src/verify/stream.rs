//! `sleek verify` of an array and a file of streams.

use serde_json::{Value, json};
use sleek::Bound;
use sleek::container::Header;

use super::Args;
use super::difference::{Difference, PLANE_ELEMENTS, Rule};
use super::promise;
use super::report::{FieldVerdict, Judged};
use crate::frames::{self, FRAME_BYTES, FrameReader};
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
                    say!("{:<17}{}", figure.names()[2], figure.words(value));
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
    let Some(Judged { difference, .. }) = report.verdict.judged().filter(|_| !wanted.is_empty()) else {
        return Ok(None);
    };
    if [&args.original, &args.compressed].iter().any(|path| path.as_os_str() == "-") {
        return Err("--quality and limits read both files twice; regular files are needed".into());
    }
    let new = || Quality::new(&wanted, difference.count, difference.range());
    let work = |part: &StreamPart| {
        let (mut quality, (original, restored)) = (new(), part.rule().values(part.original, part.restored));
        quality.add(&part.shape, &original, &restored);
        if part.shape.len() == PLANES {
            quality.add_planes(&part.shape, &original, &restored);
        }
        quality
    };
    let mut all = new();
    let sides = [Input::open(&args.original)?, Input::open(&args.compressed)?];
    let largest_plane = if wanted.contains(&Figure::Dssim) { PLANE_ELEMENTS } else { PART_ELEMENTS as u64 };
    each(sides, args.verbosity.quiet, largest_plane, work, |part| all.join(&part))?;
    let figures = all.figures(difference.figures());
    args.limits.expect_told(std::iter::once(&figures))?;
    Ok(Some(figures))
}

fn compare(original: Input, compressed: Input, quiet: bool) -> Result<Report, String> {
    let mut difference = Difference::default();
    let work = |part: &StreamPart| {
        let limit = promise::limit_of(bound(part.header));
        Difference::of(&part.rule(), limit, part.original, part.restored, |n| vec![part.first + n])
    };
    let seen = each([original, compressed], quiet, PART_ELEMENTS as u64, work, |part| difference.join(&part))?;
    let (bound, Seen { original_bytes, restored_bytes, .. }) = (bound(&seen.header), &seen);
    let verdict = match original_bytes == restored_bytes {
        true => FieldVerdict::Judged(
            Judged { mode: bound.mode(), promise: promise::in_words(bound), is_bound: true, difference }.into(),
        ),
        false => FieldVerdict::Broken(format!("{original_bytes} bytes, the compressed file restores {restored_bytes}")),
    };
    Ok(Report { seen, verdict })
}

/// Dimensions of a part that is of whole planes.
const PLANES: usize = 3;
/// Elements of a part, as far as whole planes allow.
const PART_ELEMENTS: usize = 1 << 19;

/// A part of both sides: whole planes, or some rows of a large one, or a part of a line.
struct StreamPart<'a> {
    /// Of its stream.
    header: &'a Header,
    /// The number of its first element in the array.
    first: u64,
    shape: Vec<u64>,
    original: &'a [u8],
    restored: &'a [u8],
}

impl StreamPart<'_> {
    fn rule(&self) -> Rule {
        let Header { layout, big_endian, mode, .. } = self.header;
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

/// What was compared.
struct Seen {
    /// Of the first stream; what was asked for is the same in all of them.
    header: Header,
    original_bytes: u64,
    restored_bytes: u64,
    compressed_bytes: u64,
}

/// Shows every part of an array and its compressed file to `work`, which any thread does, and what comes of it to
/// `take`, in order.
fn each<T: Send>(
    [mut original, compressed]: [Input; 2],
    quiet: bool,
    largest_plane: u64,
    work: impl Fn(&StreamPart) -> T + Sync,
    mut take: impl FnMut(T),
) -> Result<Seen, String> {
    let (name, mut npy) = (compressed.name.clone(), npy::head(&mut original)?);
    let mut progress = Progress::new("comparing", compressed.bytes, quiet);
    let mut reader = FrameReader::new(compressed);
    let (mut frame, mut here, mut back) = (Block::default(), Block::default(), Block::default());
    let (mut seen, mut elements): (Option<Seen>, u64) = (None, 0);
    while reader.next(&mut frame)? {
        let header = frames::header(&frame)?;
        if let Some(head) = npy.take() {
            head.check_elements(&header, &name)?;
            head.place(&mut original)?;
        }
        progress.add(header.stream_bytes);
        let new = || Seen { header: header.clone(), original_bytes: 0, restored_bytes: 0, compressed_bytes: 0 };
        let seen = seen.get_or_insert_with(new);
        seen.compressed_bytes += header.stream_bytes;
        let (size, least) = (header.layout.dtype.size(), least_part(&header, largest_plane));
        let row: u64 = least[1..].iter().product();
        let least_bytes = (least[0] * row) as usize * size;
        let step = (PART_ELEMENTS * size / least_bytes).max(1) * least_bytes;
        for piece in frames::pieces_of(&header, (FRAME_BYTES / step).max(1) * step) {
            piece.restore(&frame, &mut back).map_err(|e| format!("{name}: {e}"))?;
            let bytes = back.data().len();
            seen.restored_bytes += bytes as u64;
            seen.original_bytes += original.fill(&mut here, bytes)? as u64;
            let parts = here.data().chunks(step).zip(back.data().chunks(step)).enumerate();
            let part = |(n, (original, restored)): &(usize, (&[u8], &[u8]))| {
                let mut shape = least.clone();
                shape[0] = (restored.len() / size) as u64 / row;
                let first = elements + (n * step / size) as u64;
                work(&StreamPart { header: &header, first, shape, original, restored })
            };
            in_order(parts, |_| Ok(()), |each, ()| Ok(part(each)), |_, done| done.map(&mut take))?;
            elements += (bytes / size) as u64;
        }
    }
    let mut seen = seen.ok_or_else(|| format!("{name}: holds no stream"))?;
    // Bytes that no stream has count too.
    while original.fill(&mut here, FRAME_BYTES)? > 0 {
        seen.original_bytes += here.data().len() as u64;
    }
    Ok(seen)
}

struct Report {
    seen: Seen,
    verdict: FieldVerdict,
}

impl Report {
    fn to_json(&self) -> Value {
        let mut all = self.verdict.to_json();
        all["kept"] = json!(self.verdict.is_kept());
        all["dtype"] = json!(self.seen.header.layout.dtype.name());
        all["bound"] = json!(self.seen.header.bound);
        all["original_bytes"] = json!(self.seen.original_bytes);
        all["compressed_bytes"] = json!(self.seen.compressed_bytes);
        all["ratio"] = json!(self.seen.original_bytes as f64 / self.seen.compressed_bytes as f64);
        all
    }

    fn print(&self) {
        let row = |label: &str, value: String| say!("{label:<17}{value}");
        row("size", format!("{} -> {}", bytes(self.seen.original_bytes), bytes(self.seen.compressed_bytes)));
        row("ratio", ratio(self.seen.original_bytes, self.seen.compressed_bytes));
        if let Some(Judged { difference: d, .. }) = self.verdict.judged() {
            row("elements", format!("{} {}", d.count, self.seen.header.layout.dtype.name()));
            row("RMS error", figure(d.rms()));
            row("PSNR", if d.rms() == 0.0 { "infinite".into() } else { format!("{:.2} dB", d.psnr()) });
            row("NaN and infinite", d.special.to_string());
        }
        row("verdict", format!("{} {}", self.verdict.name(), self.verdict.words()).trim_end().to_owned());
    }
}

/// What a stream promises.
fn bound(header: &Header) -> Bound {
    Bound::new(header.mode, header.bound).map_or(Bound::Lossless, |bound| bound.of_range(Some(header.range)))
}
