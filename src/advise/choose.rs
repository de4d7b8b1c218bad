//! The profile and the codec that suit an array, found by trying all of them on a sample.

use std::time::{Duration, Instant};

use super::measured::restored;
use crate::codec;
use crate::params::{Params, Profile};
use crate::route::cpu;

/// Bytes that all of them are tried on.
pub const SAMPLE_BYTES: u64 = 8 << 20;
/// Codecs that are tried besides the one that each profile goes with.
const CODECS: [&str; 1] = ["zfp"];

/// By what is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// The smallest.
    Ratio,
    /// The fastest, there and back.
    Speed,
    /// The smallest of those that take so many MB/s both ways, else the fastest.
    AtLeast(f64),
}

/// What came of one of them.
struct Trial {
    params: Params,
    bytes: usize,
    times: [Duration; 2],
}

impl Aim {
    /// The parameters with the best profile and codec for these parts, to each of which `shaped` gives its dimensions.
    pub fn choose<P: AsRef<[u8]>, E>(
        self,
        sample: &[P],
        params: &Params,
        shaped: impl Fn(&Params, &[u8]) -> Result<Params, E>,
    ) -> Params {
        let trials: Vec<Trial> = candidates(params).into_iter().filter_map(|p| try_on(sample, p, &shaped)).collect();
        self.best(&trials, sample.iter().map(|part| part.as_ref().len()).sum())
            .map_or_else(|| params.clone(), |t| t.params.clone())
    }

    fn best(self, trials: &[Trial], raw: usize) -> Option<&Trial> {
        let is_fast_enough = |t: &&Trial| match self {
            Aim::Ratio => true,
            Aim::Speed => false,
            Aim::AtLeast(speed) => t.times.iter().all(|time| raw as f64 >= 1e6 * speed * time.as_secs_f64()),
        };
        let smallest = trials.iter().filter(is_fast_enough).min_by_key(|t| t.bytes);
        smallest.or(trials.iter().min_by_key(|t| t.times[0] + t.times[1]))
    }
}

/// All that can be asked for in the place of these.
fn candidates(params: &Params) -> Vec<Params> {
    let profiles = Profile::ALL.into_iter().map(|profile| Params { profile, codec: 0, ..params.clone() });
    let codecs = CODECS.into_iter().filter_map(|name| codec::by_name(name).ok());
    let codecs = codecs.map(|codec| Params { codec: codec.id(), ..params.clone() });
    profiles.chain(codecs).filter(|params| codec::chosen(params).is_ok()).collect()
}

/// `None` for what cannot be done.
fn try_on<P: AsRef<[u8]>, E>(
    sample: &[P],
    params: Params,
    shaped: impl Fn(&Params, &[u8]) -> Result<Params, E>,
) -> Option<Trial> {
    let all: Vec<Params> = sample.iter().map(|part| shaped(&params, part.as_ref()).ok()).collect::<Option<_>>()?;
    let start = Instant::now();
    let parts = all.iter().zip(sample);
    let streams: Vec<Vec<u8>> =
        parts.map(|(params, part)| cpu::compress(params, part.as_ref())).collect::<Result<_, _>>().ok()?;
    let there = start.elapsed();
    let start = Instant::now();
    for (stream, part) in streams.iter().zip(sample) {
        restored(stream, part.as_ref().len()).ok()?;
    }
    Some(Trial { params, bytes: streams.iter().map(Vec::len).sum(), times: [there, start.elapsed()] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn by_ratio_by_speed_or_both() {
        let trial = |profile, bytes, ms| {
            let params = Params { profile, ..Params::new(DType::F32) };
            Trial { params, bytes, times: [Duration::from_millis(ms); 2] }
        };
        let trials = [trial(Profile::Adaptive, 500, 2), trial(Profile::Fast, 900, 1), trial(Profile::Small, 400, 50)];
        let best = |aim: Aim| aim.best(&trials, 1_000_000).unwrap().params.profile;
        assert_eq!((best(Aim::Ratio), best(Aim::Speed)), (Profile::Small, Profile::Fast));
        // 1 MB in 2 ms are 500 MB/s.
        let at_least = |speed| best(Aim::AtLeast(speed));
        assert_eq!(
            (at_least(400.0), at_least(10.0), at_least(1e6)),
            (Profile::Adaptive, Profile::Small, Profile::Fast)
        );
        assert!(Aim::Ratio.best(&[], 1).is_none());
    }
}
