//! `sleek h5args`

use std::process::ExitCode;

use serde_json::json;
use sleek::hdf5::{FILTER_ID, cd_values_of};
use sleek::text;
use sleek::{DType, Params};

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
    crate::repack::request::check(&params)?;
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
    say!("f.create_dataset(\"x\", data=x, chunks=True, **sleek.h5(\"{request}\"))");
    section("Python, with h5py alone");
    say!("f.create_dataset(\"x\", data=x, chunks=True, compression={FILTER_ID}, compression_opts=({list}))");
    section("C and C++, with sleek_hdf5.h");
    say!("H5Pset_sleek(dcpl, \"{request}\");");
    section("Fortran, with the module sleek_hdf5");
    say!("call h5pset_sleek_f(dcpl, \"{request}\", error)");
    section("C, with HDF5 alone");
    say!("const unsigned cd_values[{n}] = {{{}}};", joined(words, "u, ") + "u");
    say!("H5Pset_filter(dcpl, {FILTER_ID}, H5Z_FLAG_MANDATORY, {n}, cd_values);");
    section("Fortran, with HDF5 alone (flag 0 is mandatory)");
    say!("integer :: cd_values({n}) = [{signed}]");
    say!("call h5pset_filter_f(dcpl, {FILTER_ID}, 0, {n}_size_t, cd_values, error)");
}

fn section(title: &str) {
    say!("\n# {title}");
}

fn joined<T: ToString>(values: &[T], separator: &str) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(separator)
}
