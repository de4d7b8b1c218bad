//! What a user wants of a dataset.

use sleek::text;
use sleek::{Bound, Params};

use crate::targets::{self, Target};

#[allow(clippy::large_enum_variant)] // one for each dataset that is named
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Keep,
    Compress(Wish),
}

/// How a dataset is to be compressed.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    pub params: Params,
    /// What the bound is to be searched for, if it is.
    pub target: Option<Target>,
}

/// What becomes of datasets that a bound is not for.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum Others {
    /// Every bit comes back, and they stay as they are where that makes them no smaller
    Lossless,
    /// They stay as they are
    Keep,
}

/// The filter that new datasets get.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Filter {
    /// Ours, 47474.
    #[default]
    Sleek,
    /// None: what ours has compressed is restored, with the filters that it had before; all else stays as it is.
    None,
    /// The same, with shuffle and deflate of this level in place of those filters.
    Deflate(u32),
}

impl Filter {
    /// Reads `sleek`, `none`, `deflate` or `deflate=N`.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let unknown = || format!("'{text}' is none of sleek, none, deflate, deflate=1 … deflate=9");
        match text.split_once('=') {
            None if text == "sleek" => Ok(Filter::Sleek),
            None if text == "none" => Ok(Filter::None),
            None if text == "deflate" => Ok(Filter::Deflate(4)),
            Some(("deflate", level)) => match level.parse() {
                Ok(level @ 1..=9) => Ok(Filter::Deflate(level)),
                _ => Err(unknown()),
            },
            _ => Err(unknown()),
        }
    }

    /// Whether ours is undone.
    pub fn restores(self) -> bool {
        self != Filter::Sleek
    }
}

/// Refuses a bound that the filter refuses in every dataset.
pub fn check(params: &Params) -> Result<(), String> {
    let (mode, number) = (params.bound.mode(), params.bound.number());
    match mode.has_bound() && number < f64::MIN_POSITIVE {
        true => Err(format!("{} {number:e}: nothing is as near as that; lossless keeps every bit", mode.name())),
        false => Ok(()),
    }
}

pub fn named(argument: &str) -> Result<(String, Request), String> {
    // A path may have such signs too: the request begins behind the first that leaves one.
    let parts = argument.match_indices('=').map(|(at, _)| (&argument[..at], parse(&argument[at + 1..])));
    let mut wrong = Err("a path and a request are needed, such as /t=abs=1e-3".into());
    for (path, request) in parts {
        match request {
            Ok(request) => return Ok((format!("/{}", path.trim_start_matches('/')), request)),
            Err(why) if wrong.is_err() && path == argument.split('=').next().unwrap_or_default() => wrong = Err(why),
            Err(_) => {}
        }
    }
    wrong
}

/// Reads a request: `keep`, a text of the filter, or one with a target such as `ratio=` in the place of the bound.
pub fn parse(request: &str) -> Result<Request, String> {
    if request == "keep" {
        return Ok(Request::Keep);
    }
    let (mut target, mut others) = (None, Vec::new());
    for item in request.split(',') {
        let number = |value: &str| value.parse::<f64>().map_err(|_| format!("'{item}' needs a number"));
        match item.split_once('=') {
            Some(("ratio", value)) => target = Some(Target::Ratio(number(value)?)),
            Some(("psnr", value)) => target = Some(Target::Psnr(number(value)?)),
            Some(("ssim", value)) => target = Some(Target::Ssim(number(value)?)),
            _ => others.push(item),
        }
    }
    let Some(target) = target else {
        let params = text::parse(request).map_err(|e| e.message)?;
        check(&params)?;
        return Ok(Request::Compress(Wish { params, target: None }));
    };
    // The bound is found later; until then the text needs one.
    others.push("abs=1");
    let params = text::parse(&others.join(",")).map_err(|e| format!("{request}: {}", e.message))?;
    targets::check(&target)?;
    let params = params.with_bound(Bound::Abs(f64::MIN_POSITIVE));
    Ok(Request::Compress(Wish { params, target: Some(target) }))
}
