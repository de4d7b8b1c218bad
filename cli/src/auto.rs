//! `--auto`: the profile and the codec that suit an array.

use sleek::Params;
pub use sleek::advise::{Aim, SAMPLE_BYTES};

/// Reads the argument.
pub fn parse(text: &str) -> Result<Aim, String> {
    match (text, text.parse::<f64>()) {
        ("ratio", _) => Ok(Aim::Ratio),
        ("speed", _) => Ok(Aim::Speed),
        (_, Ok(speed)) if speed > 0.0 && speed.is_finite() => Ok(Aim::AtLeast(speed)),
        _ => Err("ratio, speed, or a number of MB/s is needed".into()),
    }
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
    use sleek::{DType, Profile};

    #[test]
    fn words_are_read_and_chosen_profiles_named() {
        assert_eq!(parse("ratio"), Ok(Aim::Ratio));
        assert_eq!((parse("400"), parse("speed")), (Ok(Aim::AtLeast(400.0)), Ok(Aim::Speed)));
        assert!(["", "0", "fastest", "inf"].iter().all(|text| parse(text).is_err()));
        let names = Profile::ALL.map(|profile| arguments(&Params { profile, ..Params::new(DType::F32) }));
        assert!(names.contains(&"--profile small".to_string()), "{names:?}");
    }
}
