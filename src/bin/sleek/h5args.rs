//! `sleek h5args`

use std::process::ExitCode;

use serde_json::json;
use sleek::hdf5::{FILTER_ID, cd_values_of, text};
use sleek::{DType, Params};

use crate::Outcome;
use crate::args::Quality;

/// Print ready arguments of the HDF5 filter for h5repack, nccopy, h5py, C and Fortran
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    quality: Quality,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Outcome {
    // The filter learns the element type from the dataset; any float type lets the bound be checked.
    let params = args.quality.params(DType::F32)?;
    let words = cd_values_of(&params);
    match args.json {
        true => println!("{:#}", json!({"filter_id": FILTER_ID, "cd_values": words})),
        false => print(&params, &words),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(params: &Params, words: &[u32]) {
    let (n, request) = (words.len(), text::format(params));
    let list = joined(words, ", ");
    let plain = joined(words, ",");
    // Fortran's integers are signed.
    let signed: Vec<i32> = words.iter().map(|w| *w as i32).collect();
    let signed = joined(&signed, ", ");
    println!(
        "# {request}: filter {FILTER_ID} with {n} values. HDF5 finds it through HDF5_PLUGIN_PATH; try: sleek doctor"
    );
    section("h5repack, all datasets of floats (some only: -f /a,/b:UD=...; not chunked yet: add -l CHUNK=...)");
    println!("h5repack -f UD={FILTER_ID},0,{n},{plain} in.h5 out.h5");
    section("nccopy (for VAR the variables of floats, as a|b; not chunked yet: add -c)");
    println!("nccopy -4 -F 'VAR,{FILTER_ID},{plain}' in.nc out.nc");
    section("Python, h5py");
    println!("f.create_dataset(\"x\", data=x, chunks=True, compression={FILTER_ID}, compression_opts=({list}))");
    section("C");
    println!("const unsigned cd_values[{n}] = {{{}}};", joined(words, "u, ") + "u");
    println!("H5Pset_filter(dcpl, {FILTER_ID}, H5Z_FLAG_MANDATORY, {n}, cd_values);");
    section("Fortran (flag 0 is mandatory)");
    println!("integer :: cd_values({n}) = [{signed}]");
    println!("call h5pset_filter_f(dcpl, {FILTER_ID}, 0, {n}_size_t, cd_values, error)");
}

fn section(title: &str) {
    println!("\n# {title}");
}

fn joined<T: ToString>(values: &[T], separator: &str) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(separator)
}
