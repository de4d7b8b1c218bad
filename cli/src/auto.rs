//! `--auto`: the profile and the codec that suit an array, found by trying all of them on a sample.

use std::time::{Duration, Instant};

use sleek::{Params, Profile};

/// Bytes that all of them are tried on.
pub const SAMPLE_BYTES: u64 = 8 << 20;
/// Codecs that are tried besides the one that each profile goes with.
const CODECS: [&str; 1] = ["zfp"];

/// By what is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Auto {
    /// The smallest.
    Ratio,
    /// The fastest, there and back.
    Speed,
    /// The smallest of those that take so many MB/s both ways, else the fastest.
    AtLeast(f64),
}

impl Auto {
    /// As the argument says it.
    pub fn words(self) -> String {
        match self {
            Auto::Ratio => "ratio".into(),
            Auto::Speed => "speed".into(),
            Auto::AtLeast(speed) => speed.to_string(),
        }
    }
}

/// Reads the argument.
pub fn parse(text: &str) -> Result<Auto, String> {
    match (text, text.parse::<f64>()) {
        ("ratio", _) => Ok(Auto::Ratio),
        ("speed", _) => Ok(Auto::Speed),
        (_, Ok(speed)) if speed > 0.0 && speed.is_finite() => Ok(Auto::AtLeast(speed)),
        _ => Err("ratio, speed, or a number of MB/s is needed".into()),
    }
}

/// What came of one of them.
struct Trial {
    params: Params,
    bytes: usize,
    times: [Duration; 2],
}

impl Auto {
    /// The parameters with the best profile and codec for these parts, to each of which `shaped` gives its dimensions.
    pub fn choose(
        self,
        sample: &[Vec<u8>],
        params: &Params,
        shaped: impl Fn(&Params, &[u8]) -> Result<Params, String>,
    ) -> Params {
        let trials: Vec<Trial> = candidates(params).into_iter().filter_map(|p| try_on(sample, p, &shaped)).collect();
        self.best(&trials, sample.iter().map(Vec::len).sum()).map_or_else(|| params.clone(), |t| t.params.clone())
    }

    fn best(self, trials: &[Trial], raw: usize) -> Option<&Trial> {
        let is_fast_enough = |t: &&Trial| match self {
            Auto::Ratio => true,
            Auto::Speed => false,
            Auto::AtLeast(speed) => t.times.iter().all(|time| raw as f64 >= 1e6 * speed * time.as_secs_f64()),
        };
        let smallest = trials.iter().filter(is_fast_enough).min_by_key(|t| t.bytes);
        smallest.or(trials.iter().min_by_key(|t| t.times[0] + t.times[1]))
    }
}

/// All that can be asked for in the place of these.
fn candidates(params: &Params) -> Vec<Params> {
    let profiles = Profile::ALL.into_iter().map(|profile| Params { profile, codec: 0, ..params.clone() });
    let codecs = CODECS.into_iter().filter_map(|name| sleek::codec::by_name(name).ok());
    let codecs = codecs.map(|codec| Params { codec: codec.id(), ..params.clone() });
    profiles.chain(codecs).filter(|params| sleek::codec::chosen(params).is_ok()).collect()
}

/// `None` for what cannot be done.
fn try_on(
    sample: &[Vec<u8>],
    params: Params,
    shaped: impl Fn(&Params, &[u8]) -> Result<Params, String>,
) -> Option<Trial> {
    let all: Vec<Params> = sample.iter().map(|part| shaped(&params, part).ok()).collect::<Option<_>>()?;
    let start = Instant::now();
    let parts = all.iter().zip(sample);
    let streams: Vec<Vec<u8>> =
        parts.map(|(params, part)| sleek::compress(params, part)).collect::<Result<_, _>>().ok()?;
    let there = start.elapsed();
    let start = Instant::now();
    let mut back = Vec::new();
    for (stream, part) in streams.iter().zip(sample) {
        back.resize(part.len(), 0);
        sleek::decompress_into(stream, &mut back).ok()?;
    }
    Some(Trial { params, bytes: streams.iter().map(Vec::len).sum(), times: [there, start.elapsed()] })
}

/// What was chosen, as arguments that ask for it.
pub fn arguments(params: &Params) -> String {
    match sleek::codec::chosen(params).ok().filter(|_| params.codec != 0) {
        Some(codec) => format!("--codec {}", codec.name()),
        None => format!("--profile {}", params.profile.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sleek::DType;

    #[test]
    fn by_ratio_by_speed_or_both() {
        let trial = |profile, bytes, ms| {
            let params = Params { profile, ..Params::new(DType::F32) };
            Trial { params, bytes, times: [Duration::from_millis(ms); 2] }
        };
        let trials = [trial(Profile::Adaptive, 500, 2), trial(Profile::Fast, 900, 1), trial(Profile::Small, 400, 50)];
        let best = |text: &str| parse(text).unwrap().best(&trials, 1_000_000).unwrap().params.profile;
        assert_eq!((best("ratio"), best("speed")), (Profile::Small, Profile::Fast));
        // 1 MB in 2 ms are 500 MB/s.
        assert_eq!((best("400"), best("10"), best("1e6")), (Profile::Adaptive, Profile::Small, Profile::Fast));
        assert!(["", "0", "fastest", "inf"].iter().all(|text| parse(text).is_err()));
        assert!(Auto::Ratio.best(&[], 1).is_none());
        let names = trials.each_ref().map(|t| arguments(&t.params));
        assert_eq!(names, ["--profile adaptive", "--profile fast", "--profile small"]);
    }
}
