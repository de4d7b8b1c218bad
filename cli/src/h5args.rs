//! `sleek h5args`

use std::process::ExitCode;

use serde_json::json;
use sleek::hdf5::{FILTER_ID, cd_values_of};
use sleek::text;
use sleek::{Bound, DType, Mode, Params, Profile};

use crate::Outcome;
use crate::args::{Quality, check_variables};
use crate::io::{say, say_json};

const NOA_HELP: &str = "Bound relative to the value range: |v − r| ≤ E · (max − min), of --range if that is given, \
else of each HDF5 chunk";

/// Print the HDF5 filter's arguments for h5repack, nccopy, h5py, C, Fortran
#[derive(clap::Args)]
#[command(mut_arg("noa", |noa| noa.help(NOA_HELP)))]
#[command(mut_arg("ratio", |a| a.hide(true)), mut_arg("size", |a| a.hide(true)))]
#[command(mut_arg("psnr", |a| a.hide(true)), mut_arg("ssim", |a| a.hide(true)))]
pub struct Args {
    #[command(flatten)]
    quality: Quality,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print only what h5repack takes behind -f: UD=...
    #[arg(long, conflicts_with = "json")]
    ud: bool,
}

pub fn run(args: &Args) -> Outcome {
    check_variables()?;
    // The filter learns the element type from the dataset; the widest float lets the bound be checked, and bits of any
    // of them.
    let params = args.quality.params(DType::F64)?;
    if let Some(target) = args.quality.target()? {
        let name = crate::targets::argument(&target);
        return Err(format!("{name}: needs the data; use repack, or compress, which prints the bound it finds"));
    }
    let words = cd_values_of(&params);
    match (args.json, args.ud) {
        (true, _) => say_json(&json!({"filter_id": FILTER_ID, "cd_values": words})),
        (_, true) => say!("{}", user_defined(&words)),
        _ => print(&params, &words),
    }
    Ok(ExitCode::SUCCESS)
}

/// The filter as h5repack takes it.
pub fn user_defined(words: &[u32]) -> String {
    format!("UD={FILTER_ID},0,{},{}", words.len(), joined(words, ","))
}

fn print(params: &Params, words: &[u32]) {
    let (n, request) = (words.len(), text::format(params));
    let list = joined(words, ", ");
    let plain = joined(words, ",");
    // Fortran's integers are signed.
    let signed: Vec<i32> = words.iter().map(|w| *w as i32).collect();
    let signed = joined(&signed, ", ");
    say!("# {request}: filter {FILTER_ID} with {n} values. HDF5 finds it through HDF5_PLUGIN_PATH; try: sleek doctor");
    section(
        "h5repack, all datasets of floats (some only: their names and a colon after -f; not chunked yet: add -l \
        CHUNK=...)",
    );
    say!("h5repack -f {} in.h5 out.h5", user_defined(words));
    section("nccopy (VAR: a variable of floats; one -F for each of several; not chunked yet: add -c)");
    say!("nccopy -4 -F 'VAR,{FILTER_ID},{plain}' in.nc out.nc");
    section("Python, with the package sleek");
    say!("f.create_dataset(\"x\", data=x, chunks=True, **sleek.h5({}))", python(params));
    section("Python, with h5py alone");
    say!("f.create_dataset(\"x\", data=x, chunks=True, compression={FILTER_ID}, compression_opts=({list}))");
    print_convenience(params);
    section("C, with HDF5 alone");
    say!("const unsigned cd_values[{n}] = {{{}}};", joined(words, "u, ") + "u");
    say!("H5Pset_filter(dcpl, {FILTER_ID}, H5Z_FLAG_MANDATORY, {n}, cd_values);");
    section("Fortran, with HDF5 alone (flag 0 is mandatory)");
    say!("integer :: cd_values({n}) = [{signed}]");
    say!("call h5pset_filter_f(dcpl, {FILTER_ID}, 0, {n}_size_t, cd_values, error)");
}

/// The calls that C's `sleek_hdf5.h` and Fortran's module `sleek_hdf5` have for a request; in words for a profile,
/// `--codec` and `--fill`, for which they have no arguments.
fn print_convenience(params: &Params) {
    let in_words = params.profile != Profile::default() || params.codec != 0 || !params.missing.is_empty();
    let (c, fortran) = match in_words {
        true => calls_in_words(params),
        false => calls(params),
    };
    section("C and C++, with sleek_hdf5.h");
    say!("{c}");
    section("Fortran, with the module sleek_hdf5");
    say!("{fortran}");
}

fn calls_in_words(params: &Params) -> (String, String) {
    let request = text::format(params);
    (format!("H5Pset_sleek(dcpl, \"{request}\");"), format!("call h5pset_sleek_f(dcpl, \"{request}\", error)"))
}

fn calls(params: &Params) -> (String, String) {
    let name = params.bound.mode().name();
    let bound = if params.bound == Bound::Lossless { String::new() } else { format!(", {:e}", params.bound.number()) };
    let range = params.bound.range().map(|r| format!(", {r:e}"));
    let range_in_c = if params.bound.mode() == Mode::Noa { range.as_deref().unwrap_or(", 0") } else { "" };
    let range = double(range.as_deref().unwrap_or(""));
    let fortran = format!("call h5pset_sleek_{name}_f(dcpl{}, error{range})", double(&bound));
    (format!("H5Pset_sleek_{name}(dcpl{bound}{range_in_c});"), fortran)
}

/// The arguments of `sleek.h5` in Python: in words where there is more than a number can say.
fn python(params: &Params) -> String {
    let is_one_number = params.missing.iter().count() == 1 && params.fill_number().is_some();
    if params.codec != 0 || !(params.missing.is_empty() || is_one_number) {
        return format!("\"{}\"", text::format(params));
    }
    let bound = match params.bound.mode() {
        Mode::Lossless => "lossless=True".to_string(),
        mode => format!("{}={:e}", mode.name(), params.bound.number()),
    };
    let optional = [("range", params.bound.range()), ("fill", params.fill_number())];
    let given = optional.into_iter().filter_map(|(name, value)| Some(format!("{name}={:e}", value?)));
    let profile = (params.profile != Profile::default()).then(|| format!("profile=\"{}\"", params.profile.name()));
    std::iter::once(bound).chain(given).chain(profile).collect::<Vec<_>>().join(", ")
}

/// A number of C in double precision for Fortran, where 1e-3 would be a single.
fn double(number: &str) -> String {
    number.replace('e', "d")
}

fn section(title: &str) {
    say!("\n# {title}");
}

fn joined<T: ToString>(values: &[T], separator: &str) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(separator)
}
