//! `sleek compress`

mod cut;
mod look;
mod request;
mod target;
mod write;

use std::process::ExitCode;

use cut::Cut;
use look::measure_range;
pub use request::Args;
use request::params;
use write::{compress, create};

use crate::foreign::untyped;
use crate::io::{Input, Output};
use crate::npy::{self, Array, Given};
use crate::{Outcome, args};

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
        None => Err(untyped(&args.input, &mut input)?),
    }
}

fn array(args: &Args, array: &Array, mut input: Input, output: Option<Output>) -> Result<(), String> {
    let mut params = params(args, array.dtype)?;
    params.big_endian = array.big_endian;
    let cut = Cut::new(args, array)?;
    if let Some(n) = input.bytes {
        array.check_size(&input.name, n)?;
    }
    params.find_fill = Some(!args.sentinels.no_fill);
    if let Some(target) = args.quality.target()? {
        params = target::solve(args, &target, &params, &cut, &mut input)?;
    } else if params.bound.measures() {
        let range = measure_range(args, &mut params, &mut input)?;
        params.bound = params.bound.of_range(range);
    }
    compress(args, array, &params, &cut, input, output)
}
