//! A request in words, as `sleek_params_parse`, `H5Pset_sleek` and `SLEEK_PARAMS` take it: `abs=1e-3`,
//! `noa=1e-4,range=5`, `rel=1e-2,profile=fast`, `lossless`, `rate=8,codec=zfp,integers`.

use std::ffi::OsString;

use crate::codec;
use crate::dtype::DType;
use crate::error::{Error, Kind, Result, fail};
use crate::host::memory::reserve;
use crate::host::{environment, fpu};
use crate::missing::MissingValue;
use crate::params::{Bound, Limits, Mode, Params, Profile};

/// Reads a request. The element type of the answer means nothing: the text does not say it.
pub fn parse(text: &str) -> Result<Params> {
    let _fpu = fpu::Guard::standard(); // numbers are read by arithmetic
    let mut params = Params::new(DType::F32);
    let (mut mode_given, mut range) = (false, None);
    let mut keys = Vec::new();
    for item in text.split(',').map(str::trim) {
        let (key, value) = match item.split_once('=') {
            Some((k, v)) => (k.trim(), Some(v.trim())),
            None => (item, None),
        };
        if keys.contains(&key) && key != "fill" {
            return fail!(InvalidArgument, "'{item}' in '{text}': '{key}' may be there once only");
        }
        reserve(&mut keys, 1)?;
        keys.push(key);
        match (Mode::ALL.into_iter().find(|mode| mode.name() == key), key) {
            (Some(_), _) if mode_given => {
                return fail!(
                    InvalidArgument,
                    "'{item}' in '{text}' is a second mode; give one of abs, noa, rel, rate, precision, lossless"
                );
            }
            (Some(Mode::Lossless), _) if value.is_some() => {
                return fail!(InvalidArgument, "'{item}' in '{text}': {key} has no value");
            }
            (Some(mode), _) => {
                mode_given = true;
                let number = if mode == Mode::Lossless { 0.0 } else { number(item, value)? };
                params.bound = Bound::new(mode, number)?;
            }
            (_, "range") => range = Some(number(item, value)?),
            (_, "limits") => params.limits = limits(item, value)?,
            (_, "fill") => params.missing.push(missing(item, value)?)?,
            (_, "codec") => params.codec = codec::by_name(value.unwrap_or_default())?.id(),
            (_, "profile") => params.profile = profile(item, value)?,
            (_, "integers") if value.is_none() => params.integers = true,
            (_, "no-fill") if value.is_none() => params.find_fill = Some(false),
            _ => {
                return fail!(
                    InvalidArgument,
                    "'{item}' in '{text}' is unknown; abs=, noa=, rel=, rate=, precision=, lossless, range=, limits=, \
                    fill=, no-fill, profile=, codec=, integers are defined"
                );
            }
        }
    }
    if !mode_given {
        return fail!(
            InvalidArgument,
            "'{text}' has no mode; give one of abs=, noa=, rel=, rate=, precision=, lossless"
        );
    }
    params.bound = params.bound.of_range(range);
    if range.is_some() && params.bound.mode() != Mode::Noa {
        return fail!(InvalidArgument, "'range' in '{text}' goes with noa only");
    }
    if params.limits.is_some() && !params.bound.mode().has_bound() {
        return fail!(InvalidArgument, "'limits' in '{text}' go with abs, noa and rel only");
    }
    params.check()?;
    Ok(params)
}

/// What `SLEEK_PARAMS` asks for; `None` if it is not set or empty.
pub fn of_environment() -> Result<Option<Params>> {
    request(environment::variable(environment::PARAMS))
}

fn request(value: Option<OsString>) -> Result<Option<Params>> {
    let Some(value) = value.filter(|v| !v.is_empty()) else { return Ok(None) };
    let parsed = parse(&value.to_string_lossy());
    parsed.map(Some).map_err(|e| Error::of(e.kind, format_args!("{}: {}", environment::PARAMS, e.message)))
}

/// The text that `parse` reads back as the same request.
pub fn format(params: &Params) -> String {
    let mut text = match params.bound.mode() {
        Mode::Lossless => Mode::Lossless.name().to_string(),
        mode => format!("{}={:e}", mode.name(), params.bound.number()),
    };
    if let Some(range) = params.bound.range() {
        text += &format!(",range={range:e}");
    }
    if let Some(limits) = params.limits {
        let said = |limit: f64| if limit.is_finite() { format!("{limit:e}") } else { String::new() };
        text += &format!(",limits={}:{}", said(limits.low), said(limits.high));
    }
    for value in params.missing.iter() {
        text += &match value {
            MissingValue::Number(x) => format!(",fill={x:e}"),
            MissingValue::Bits(bits) => format!(",fill={bits:#x}"),
        };
    }
    if params.find_fill == Some(false) {
        text += ",no-fill";
    }
    if let Some(codec) = codec::REGISTRY.iter().find(|c| c.id() == params.codec) {
        text += &format!(",codec={}", codec.name());
    }
    if params.profile != Profile::default() {
        text += &format!(",profile={}", params.profile.name());
    }
    if params.integers {
        text += ",integers";
    }
    text
}

fn number(item: &str, value: Option<&str>) -> Result<f64> {
    match value.and_then(|v| v.parse().ok()) {
        Some(number) => Ok(number),
        None => fail!(InvalidArgument, "'{item}' needs a number, as in 'abs=1e-3'"),
    }
}

/// The smallest and the largest valid value, of which one may be left out.
fn limits(item: &str, value: Option<&str>) -> Result<Option<Limits>> {
    let example = "'limits=0:1' or 'limits=0:'";
    let needed = || Error::of(Kind::InvalidArgument, format_args!("'{item}' needs two numbers, as in {example}"));
    let (low, high) = value.and_then(|value| value.split_once(':')).ok_or_else(needed)?;
    let of = |text: &str, none: f64| {
        if text.trim().is_empty() { Ok(none) } else { text.trim().parse().map_err(|_| needed()) }
    };
    Limits::new(of(low, f64::NEG_INFINITY)?, of(high, f64::INFINITY)?)
}

/// A missing value: a number, or an element's bits as 0x…. `item` is all that was said, for messages.
pub fn missing(item: &str, value: Option<&str>) -> Result<MissingValue> {
    let bits = value.and_then(|v| v.strip_prefix("0x").or_else(|| v.strip_prefix("0X")));
    // A sign is no digit, whatever `from_str_radix` says.
    match bits.map(|digits| u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))) {
        None => number(item, value).map(MissingValue::Number),
        Some(Some(bits)) => Ok(MissingValue::Bits(bits)),
        Some(None) => {
            fail!(InvalidArgument, "'{item}' needs a number or bits, as in 'fill=-9999' or 'fill=0x7fc00000'")
        }
    }
}

fn profile(item: &str, value: Option<&str>) -> Result<Profile> {
    match Profile::ALL.into_iter().find(|profile| Some(profile.name()) == value) {
        Some(profile) => Ok(profile),
        None => fail!(InvalidArgument, "'{item}' is unknown; profile=adaptive, profile=fast or profile=small"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_comes_back() {
        for text in [
            "lossless",
            "abs=1e-3",
            "noa=1e-4,range=5e0",
            "rel=1e-2,profile=fast",
            "noa=1e-1,fill=1e36",
            "abs=1e0,fill=-9.999e3,fill=0x7fc00000",
            "lossless,fill=1e20,codec=sleek",
            "rate=7.5e0,codec=zfp",
            "precision=1.6e1,codec=zfp",
            "rate=8e0,codec=zfp,integers",
            "abs=1e0,no-fill",
            "abs=1e-3,limits=0e0:1e0",
            "noa=1e-3,range=5e0,limits=-2.5e0:,fill=1e20",
            "rel=1e-3,limits=:1e2,no-fill",
            "noa=1e-1,fill=1e36,no-fill,profile=fast",
        ] {
            assert_eq!(format(&parse(text).unwrap()), text);
        }
        let p = parse(" noa = 0.5 , range = 10, profile=adaptive ").unwrap();
        assert_eq!((p.bound, p.profile), (Bound::Noa { share: 0.5, range: Some(10.0) }, Profile::Adaptive));
    }

    #[test]
    fn what_the_environment_asks_for() {
        assert!(request(None).unwrap().is_none() && request(Some("".into())).unwrap().is_none());
        assert_eq!(request(Some("abs=0.5".into())).unwrap().unwrap().bound, Bound::Abs(0.5));
        let message = request(Some("junk".into())).unwrap_err().message;
        assert!(message.starts_with("SLEEK_PARAMS: 'junk' in 'junk' is unknown"), "{message}");
    }

    #[test]
    fn nonsense_is_refused() {
        let texts = [
            "",
            "abs",
            "abs=",
            "abs=x",
            "abs=-1",
            "abs=nan",
            "lossless=1",
            "abs=1,rel=1",
            "range=5",
            "abs=1,ranges=5",
            "abs=1,no-fill=1",
        ];
        for text in texts.into_iter().chain(["noa=1,range=0", "abs=1,profile=slow", "abs=1,"]).chain([
            "rate=0",
            "rate=65",
            "rate=nan",
            "precision=7.5",
            "precision=0",
            "lossless,abs=1",
        ]) {
            let message = parse(text).unwrap_err().message;
            assert!(!message.is_empty(), "{text}");
        }
        let said = |text: &str| parse(text).unwrap_err().message;
        assert!(said("abs=1,codec=best").contains("'best' is unknown; this library knows 1 (sleek)"));
        assert!(said("abs=1,codec=ratio").contains("codec interp replaces it"));
        for fill in ["fill=0x", "fill=0x+5", "fill=0x-5", "fill=0x0x5"] {
            assert!(said(&format!("abs=1,{fill}")).contains(&format!("'{fill}' needs")));
        }
        assert!(said("abs=1,fill=1,fill=2,fill=3,fill=4,fill=5").contains("5 missing values"));
        for text in ["abs=1,range=50", "range=50,rel=1", "lossless,range=5"] {
            assert!(said(text).contains("'range' in") && said(text).contains("noa only"), "{}", said(text));
        }
        for text in ["abs=1,integers", "integers,lossless"] {
            assert!(said(text).contains("rate and precision only"), "{}", said(text));
        }
        assert!(said("rate=8,codec=zfp,integers=1").contains("is unknown"));
        for limits in
            ["abs=1,limits=1", "abs=1,limits=1:0", "abs=1,limits=nan:1", "lossless,limits=0:1", "abs=1,limits"]
        {
            assert!(said(limits).contains("limits"), "{}", said(limits));
        }
        let twice = ["noa=1,range=50,range=60", "abs=1,abs=2", "abs=1,profile=fast,profile=fast"];
        for text in twice.into_iter().chain(["lossless,lossless"]) {
            assert!(said(text).contains("once only"), "{}", said(text));
        }
    }
}
