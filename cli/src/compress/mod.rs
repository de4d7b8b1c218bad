//! `sleek compress`

mod auto;
mod cut;
mod kind;
mod look;
mod request;
mod target;
mod write;

use std::process::ExitCode;

use sleek::Params;

use cut::Cut;
use look::{check_size, measure_range};
pub use request::Args;
use request::params;
use write::{compress, create};

use crate::auto::arguments;
use crate::io::{Input, Output, tell};
use crate::npy::{self, Array, Given};
use crate::{Outcome, args};

/// Runs the subcommand.
pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    args.quality.check_share(args.force)?;
    let dtype = args.dtype.or_else(|| args::dtype_of_name(&args.input));
    if let Some(dtype) = dtype {
        // Before anything is read.
        params(args, dtype)?;
    }
    let mut input = Input::open(&args.input)?;
    // A pipe may let us wait for the bytes that tell what it is: what is wrong with the place of the result is told
    // first.
    let output = match (dtype, input.bytes) {
        (Some(_), None) => Some(create(args, &input)?),
        _ => None,
    };
    let given = Given { dtype: args.dtype, big_endian: args.big_endian, dims: args.dims };
    let plain = dtype.map(|dtype| Array { dtype, big_endian: args.big_endian, dims: args.dims, head: None });
    match npy::array(&mut input, &given)?.or(plain) {
        Some(of) => array(args, &of, input, output).map(|()| ExitCode::SUCCESS),
        None => Err(kind::unknown(&args.input, &mut input)?),
    }
}

fn array(args: &Args, array: &Array, mut input: Input, output: Option<Output>) -> Result<(), String> {
    let mut params = params(args, array.dtype)?;
    params.big_endian = array.big_endian;
    let cut = Cut::new(args, array)?;
    if let Some(n) = input.bytes {
        check_size(array, &input.name, n)?;
    }
    params.find_fill = Some(!args.sentinels.no_fill);
    if let Some(target) = args.quality.target()? {
        if args.auto.is_some() {
            // Which one is best depends on the bound, and the bound on which one it is.
            let found = target::solve(args, true, &target, &params, &cut, &mut input)?;
            let best = suit(args, found, &cut, &mut input)?;
            (params.profile, params.codec) = (best.profile, best.codec);
        }
        params = target::solve(args, args.verbosity.quiet, &target, &params, &cut, &mut input)?;
        return compress(args, array, &params, &cut, input, output);
    }
    if params.bound.measures() {
        let range = measure_range(args, &mut params, &mut input)?;
        params.bound = params.bound.of_range(range);
    }
    params = suit(args, params, &cut, &mut input)?;
    compress(args, array, &params, &cut, input, output)
}

/// The parameters with the profile and codec that suit the input, if that is asked for; tells which these are.
fn suit(args: &Args, params: Params, cut: &Cut, input: &mut Input) -> Result<Params, String> {
    let Some(how) = args.auto else { return Ok(params) };
    let best = auto::choose(how, &params, cut, input)?;
    if !args.verbosity.quiet {
        tell(&format!("{}: --auto chose {}", input.name, arguments(&best)));
    }
    Ok(best)
}
