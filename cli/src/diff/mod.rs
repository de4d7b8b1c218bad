//! `sleek diff`

mod draw;
pub mod scale;
mod shape;
pub mod view;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use sleek::printable::printable;
use sleek::{Dims, Mode};

use crate::Outcome;
use crate::args::{self, Threads, Verbosity};
use crate::hdf5::about::{About, Along};
use crate::hdf5::dataset::Field;
use crate::hdf5::object::{Contents, Object, ObjectKind, open_object};
use crate::hdf5::split;
use crate::hdf5::{Hdf5, Id, LibraryArg, c_string, expect_hdf5, is_hdf5};
use crate::io::{Model, check_place, say, say_json, tell};
use crate::plot;
use crate::progress::{Progress, bytes, figure, ratio, some_of};
use crate::quality::limits::Limits;
use crate::quality::{self, Figure};
use crate::verify::BROKEN;
use crate::verify::difference::Difference;
use crate::verify::pair::{Pair, Parts};
use scale::Scale;
use shape::{Correlation, Histogram};
use view::View;

/// Elements of which the distribution of errors and their autocorrelation are taken, about.
const SAMPLE: u64 = 2 << 20;

const AFTER_HELP: &str = "ORIGINAL and RESTORED are an array of plain bytes and its compressed file, or two HDF5 or \
netCDF-4 files, each \
with a dataset behind a colon, or without: then all datasets of floats that differ.\n\n\
Exit code: 0 the bound is kept, 1 it is broken, 2 an error.";

/// Show what compression did to a field: errors and SSIM, in figures and in a picture
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Draw one field, the restored field and the error
    #[arg(long, value_name = "OUT.svg", value_parser = plot::file_name)]
    plot: Option<PathBuf>,
    /// Show the slice that holds the element with these indices, the slowest first [default: the worst element]
    #[arg(long, value_name = "I,I,…", value_delimiter = ',')]
    at: Vec<u64>,
    /// Dimensions of an array of plain bytes, as 64,64,128 or 64x64x128, the slowest first [default: those in its
    /// compressed file]
    #[arg(long, value_name = "D,D,…", value_parser = args::dims)]
    dims: Option<Dims>,
    /// Also take all figures of --help's Limits; a limit alone takes its own figure
    #[arg(long)]
    quality: bool,
    #[command(flatten)]
    limits: Limits,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    library: LibraryArg,
    #[command(flatten)]
    threads: Threads,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    verbosity: Verbosity,
    /// The field as it was
    #[arg(value_name = "ORIGINAL[:DATASET]")]
    original: PathBuf,
    /// What was made of it
    #[arg(value_name = "RESTORED[:DATASET]")]
    restored: PathBuf,
}

/// What was found out about a field and its restored form.
pub struct Compared {
    name: String,
    about: About,
    dtype: &'static str,
    dims: Vec<u64>,
    promise: String,
    original_bytes: u64,
    stored_bytes: u64,
    mode: Mode,
    difference: Difference,
    scale: Scale,
    quality: quality::Figures,
    /// Limits that it misses.
    missed: Vec<String>,
    histogram: Histogram,
    correlations: Vec<Correlation>,
    view: View,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    if let Some(path) = &args.plot {
        check_place(path, args.force)?;
    }
    let [(old, old_name), (new, new_name)] = [&args.original, &args.restored].map(|path| split(path));
    let all = match is_hdf5(&old) || is_hdf5(&new) {
        true => datasets(args, [&old, &new], [old_name, new_name])?,
        false => {
            let pair = Pair::of_stream(&old, &new, args.dims)?;
            let about = About { along: vec![Along::default(); pair.dims.len()], ..About::default() };
            vec![compare(args, &pair, about)?]
        }
    };
    if let Some(path) = &args.plot {
        let like = Model::of_all([old.as_path(), &new]);
        write(args, path, like.as_ref(), &all)?;
    }
    show(args, &all);
    args.limits.expect_told(all.iter().map(|c| &c.quality))?;
    let kept = all.iter().all(|c| c.difference.violations == 0 && c.missed.is_empty());
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::from(BROKEN) })
}

/// The datasets that are named, or all of floats that differ.
fn datasets(args: &Args, paths: [&Path; 2], names: [Option<String>; 2]) -> Result<Vec<Compared>, String> {
    if args.dims.is_some() {
        return Err("--dims goes with an array of plain bytes; a dataset has its own".into());
    }
    paths.iter().try_for_each(|path| expect_hdf5(path))?;
    let library = args.library.library.as_deref();
    let hdf5 = Hdf5::for_file(library, paths[1])?;
    hdf5.can_read(paths[0])?;
    let (old, new) = (hdf5.open(paths[0])?, hdf5.open(paths[1])?);
    let contents = |file: &Id, path: &Path| Contents::read(file).map_err(|e| format!("{}: {e}", path.display()));
    let of = [(&old, &contents(&old, paths[0])?), (&new, &contents(&new, paths[1])?)];
    let [first, second] = names;
    if let Some(name) = first.or_else(|| second.clone()) {
        let a = named(of[0], paths[0], &name)?;
        let b = named(of[1], paths[1], &second.unwrap_or(name))?;
        return Ok(vec![of_datasets(args, of[0], &a, &b)?]);
    }
    let mut all = Vec::new();
    for object in of[0].1.objects.iter().filter(|o| o.kind == ObjectKind::Dataset) {
        let Ok(a) = Field::open(&old, object)? else { continue };
        let is_there = hdf5.forgive(open_object(&new, &object.path)).is_some();
        if !a.stored.dtype.is_float() || !is_there {
            continue;
        }
        let Ok(b) = Field::open(&new, object)? else { continue };
        if differs(&Pair::of_datasets(&a, &b)?)? {
            all.push(of_datasets(args, of[0], &a, &b)?);
        }
    }
    if all.is_empty() {
        let [a, b] = paths.map(Path::display);
        return Err(format!(
            "{a} and {b}: no dataset of floats differs; name one to see it, with a colon behind the file"
        ));
    }
    Ok(all)
}

/// Two datasets, of which the first one's file may say more.
fn of_datasets(args: &Args, (file, contents): (&Id, &Contents), a: &Field, b: &Field) -> Result<Compared, String> {
    let pair = Pair::of_datasets(a, b)?;
    let mut about = a.about(file, contents);
    about.along.resize(pair.dims.len(), Along::default()); // an array in each element is a dimension
    compare(args, &pair, about)
}

fn named<'a>((file, contents): (&Id<'a>, &Contents), path: &Path, name: &str) -> Result<Field<'a>, String> {
    let shown = format!("/{}", name.trim_start_matches('/'));
    let object = file.hdf5.forgive(open_object(file, &c_string(shown.as_bytes())?));
    let place = object.map(|o| contents.place_of(&o)).transpose()?.flatten();
    let place = place.filter(|place| contents.objects[*place].kind == ObjectKind::Dataset);
    let Some(object) = place.map(|place| &contents.objects[place]) else {
        let known = contents.objects.iter().filter(|o| o.kind == ObjectKind::Dataset).map(Object::name);
        return Err(format!("{} has no dataset {shown}; it has {}", path.display(), some_of(known)));
    };
    match Field::open(file, object)? {
        Ok(field) if field.stored.dtype.is_float() => Ok(field),
        Ok(field) => {
            Err(format!("{}:{shown}: floats are compared, and these are {}", path.display(), field.stored.what))
        }
        Err(why) => Err(format!("{}:{shown}: arrays of floats are compared; {why}", path.display())),
    }
}

/// Whether a bit differs anywhere.
fn differs(pair: &Pair) -> Result<bool, String> {
    let mut differs = false;
    // Where a difference was found the rest is not looked at.
    let found = pair.each(
        Parts::Stored,
        &|_, _| true,
        |part| part.original != part.restored,
        |part_differs| {
            differs |= part_differs;
            if part_differs { Err(String::new()) } else { Ok(()) }
        },
    );
    if differs { Ok(true) } else { found.map(|skipped| skipped.is_some_and(|_| pair.fills_differ())) }
}

/// Looks at all of both once, and at what is shown of them once more, since that needs the largest error.
fn compare(args: &Args, pair: &Pair, about: About) -> Result<Compared, String> {
    if pair.count() == 0 {
        return Err(format!("{}: holds nothing", pair.name));
    }
    let mut progress = Progress::new("comparing", Some(pair.original_bytes), args.verbosity.quiet);
    let difference = pair.difference(&mut progress)?;
    let quality = pair.figures(args.limits.wanted(args.quality), &difference)?;
    let at = shown_element(args, pair, &difference)?;
    let scale = Scale::new(pair.mode, difference.max_error);
    let long: Vec<usize> = (0..pair.dims.len()).filter(|i| pair.dims[*i] > 1).collect();
    let axes = long.iter().rev().take(2);
    let mut correlations: Vec<Correlation> =
        axes.map(|axis| Correlation::new(*axis, difference.bias(), difference.variance())).collect();
    let (mut histogram, mut view) = (Histogram::new(), View::new(&pair.dims, &at));
    let (sample, rule) = (Sample::of(pair), pair.rule());
    let is_shown = View::new(&pair.dims, &at);
    pair.each(
        Parts::Stored,
        &|start, count| sample.takes(start) || is_shown.reaches(start, count),
        |part| part.values(&rule),
        |values| {
            view.add(&values, &scale);
            if sample.takes(&values.start) {
                histogram.add(&values, &scale);
                correlations.iter_mut().for_each(|c| c.add(&values));
            }
            Ok(())
        },
    )?;
    let missed = args.limits.missed(&quality);
    Ok(Compared {
        name: pair.name.clone(),
        about,
        dtype: pair.dtype.name(),
        dims: pair.dims.clone(),
        promise: pair.promise.clone(),
        original_bytes: pair.original_bytes,
        stored_bytes: pair.stored_bytes,
        mode: pair.mode,
        difference,
        scale,
        quality,
        missed,
        histogram,
        correlations,
        view,
    })
}

/// The parts of a field that stand for all of it: of many those whose place, taken as a number at random, is small.
struct Sample {
    share: u64,
}

impl Sample {
    fn of(pair: &Pair) -> Sample {
        Sample { share: u64::MAX / (pair.count() / SAMPLE).max(1) }
    }

    fn takes(&self, start: &[u64]) -> bool {
        // Each step is one of the generator PCG's; the upper half is as good as random.
        let step = |n: u64, at: &u64| (n ^ at).wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        start.iter().fold(0, step).rotate_left(32).wrapping_mul(6364136223846793005) <= self.share
    }
}

/// The element that the picture is to show.
fn shown_element(args: &Args, pair: &Pair, difference: &Difference) -> Result<Vec<u64>, String> {
    if args.at.is_empty() {
        return Ok(difference.worst.as_ref().map_or(vec![0; pair.dims.len()], |worst| worst.index.clone()));
    }
    let lies_in = args.at.len() == pair.dims.len() && args.at.iter().zip(&pair.dims).all(|(at, len)| at < len);
    match lies_in {
        true => Ok(args.at.clone()),
        false => {
            Err(format!("--at {:?}: is no element of {}, whose dimensions are {:?}", args.at, pair.name, pair.dims))
        }
    }
}

fn write(args: &Args, path: &Path, like: Option<&Model>, all: &[Compared]) -> Result<(), String> {
    match all {
        [one] => plot::write(path, args.force, like, draw::SIZE, |area| draw::draw(one, area)),
        _ => {
            let (n, names) = (all.len(), some_of(all.iter().map(|c| c.name.clone())));
            Err(format!(
                "{}: holds one field, and {n} differ: name one of {names}, with a colon behind the file",
                path.display()
            ))
        }
    }
}

fn show(args: &Args, all: &[Compared]) {
    match args.json {
        true => say_json(&json!({"fields": all.iter().map(to_json).collect::<Vec<_>>()})),
        false => all.iter().for_each(print),
    }
    if let (Some(path), false, false) = (&args.plot, args.json, args.verbosity.quiet) {
        tell(&format!("plot: {}", path.display()));
    }
}

/// The figures in short.
fn figure_line(of: &Compared) -> String {
    let f = &of.difference;
    let share = if f.of_bound > 0.0 { format!(" ({:.4} of the bound)", f.of_bound) } else { String::new() };
    let broken = if f.violations > 0 { format!("BROKEN in {} elements, ", f.violations) } else { String::new() };
    let others = [Figure::Ssim, Figure::Dssim].map(|figure| match of.quality.get(figure) {
        Some(value) => format!(", {} {}", figure.title(), figure.words(value)),
        None => String::new(),
    });
    let others = others.concat();
    format!(
        "{broken}max error {}{share}, RMS {}, PSNR {}{others}, ratio {}",
        figure(f.max_error),
        figure(f.rms()),
        psnr(f),
        ratio(of.original_bytes, of.stored_bytes)
    )
}

fn psnr(f: &Difference) -> String {
    if f.rms() == 0.0 { "infinite".into() } else { format!("{:.2} dB", f.psnr(f.range())) }
}

fn print(of: &Compared) {
    say!("{}", printable(&of.name));
    for (label, value) in rows(of) {
        say!("  {label:<18}{}", printable(&value));
    }
}

/// Everything that is known, with names.
fn rows(of: &Compared) -> Vec<(&'static str, String)> {
    let f = &of.difference;
    let shape: Vec<String> = of.dims.iter().map(u64::to_string).collect();
    let mut rows = vec![
        ("elements", format!("{} {}, {}", f.count, of.dtype, shape.join("x"))),
        (
            "size",
            format!(
                "{} -> {}, ratio {}",
                bytes(of.original_bytes),
                bytes(of.stored_bytes),
                ratio(of.original_bytes, of.stored_bytes)
            ),
        ),
        ("bound", of.promise.clone()),
        (
            "max error",
            figure(f.max_error)
                + &if f.of_bound > 0.0 { format!(", {:.4} of the bound", f.of_bound) } else { String::new() },
        ),
        ("RMS error", figure(f.rms())),
        ("mean error", figure(f.bias())),
        ("PSNR", psnr(f)),
    ];
    for figure in [Figure::Mean, Figure::Pearson, Figure::Ks, Figure::Spectral, Figure::Ssim, Figure::Dssim] {
        if of.quality.get(figure).is_some() {
            rows.push((figure.title(), of.quality.words(figure)));
        }
    }
    for correlation in &of.correlations {
        if let Some(first) = correlation.values().first() {
            let along = of.about.along.get(correlation.axis).map_or("", |a| a.name.as_str());
            let along = if along.is_empty() { format!("axis {}", correlation.axis) } else { along.to_owned() };
            rows.push((
                "autocorrelation",
                format!("{first:.3} of neighbours along {along}, {:.3} by chance", correlation.chance()),
            ));
        }
    }
    if f.missing + f.special > 0 {
        rows.push(("without value", format!("{} missing, {} NaN and infinite", f.missing, f.special)));
    }
    if let Some(worst) = &f.worst {
        let words = format!("{:?}: {:e} became {:e}", worst.index, worst.original, worst.restored);
        rows.push(("worst element", words));
    }
    let verdict = match (f.violations, of.mode) {
        (0, Mode::Rate | Mode::Precision) => "no bound is promised".into(),
        (0, _) => "kept".into(),
        (n, _) => format!("BROKEN in {n} of {} elements", f.count),
    };
    rows.extend(of.missed.iter().map(|missed| ("MISSED", missed.clone())));
    rows.push(("verdict", verdict));
    rows
}

fn to_json(of: &Compared) -> Value {
    let f = &of.difference;
    let worst = f.worst.as_ref();
    let worst = worst.map(|e| json!({"index": e.index, "original": e.original, "restored": e.restored}));
    let correlations = of.correlations.iter().map(|c| {
        let along = of.about.along.get(c.axis).map_or("", |a| a.name.as_str());
        json!({"axis": c.axis, "name": along, "values": c.values(), "by_chance": c.chance()})
    });
    json!({
        "name": of.name,
        "title": of.about.title,
        "units": of.about.units,
        "dtype": of.dtype,
        "dims": of.dims,
        "promise": of.promise,
        "mode": of.mode.name(),
        "kept": f.violations == 0,
        "violations": f.violations,
        "count": f.count,
        "missing_values": f.missing,
        "special_values": f.special,
        "original_bytes": of.original_bytes,
        "compressed_bytes": of.stored_bytes,
        "ratio": of.original_bytes as f64 / of.stored_bytes.max(1) as f64,
        "value_range": f.range(),
        "max_error": f.max_error,
        "error_over_bound": (f.of_bound > 0.0).then_some(f.of_bound),
        "rms_error": f.rms(),
        "mean_error": f.bias(),
        "psnr": f.psnr(f.range()),
        "mean_absolute_error": of.quality.get(Figure::Mean),
        "pearson": of.quality.get(Figure::Pearson),
        "ks_distance": of.quality.get(Figure::Ks),
        "spectral_error": of.quality.get(Figure::Spectral),
        "ssim": of.quality.get(Figure::Ssim),
        "dssim": of.quality.get(Figure::Dssim),
        "missed": of.missed,
        "worst": worst,
        "histogram": of.histogram.bins.to_vec(),
        "beyond": of.histogram.beyond,
        "autocorrelation": correlations.collect::<Vec<_>>(),
    })
}
