//! Targets in the words of the command: a ratio, a size, a PSNR, an SSIM (`sleek::advise`).

pub use sleek::advise::{Answer, Measured, Quest, Target};
use sleek::{Mode, advise};

use crate::io::tell;
use crate::progress::{bytes, number};
use crate::quality::Figure;

/// Why there are no parameters that meet a target.
pub type Failed = advise::Failed<String>;

/// The argument that asks for it.
pub fn argument(target: &Target) -> String {
    match target {
        Target::Size(size) => format!("--size {size}"),
        Target::Ratio(value) | Target::Psnr(value) | Target::Ssim(value) => {
            format!("--{} {}", target.name(), number(*value))
        }
    }
}

/// An error if nothing could ever meet it.
pub fn check(target: &Target) -> Result<(), String> {
    target.needs().map_or(Ok(()), |needed| Err(format!("{}: {needed} is needed", argument(target))))
}

/// Why it failed, in words.
pub fn reason(failed: Failed) -> String {
    match failed {
        Failed::Unmet(unmet) => {
            let mut words = String::new();
            // A String takes all.
            let _ = unmet.write(&mut words, |target| argument(&target));
            words
        }
        Failed::Other(why) => why,
    }
}

/// What a stream restores.
pub fn restored(stream: &[u8], bytes: usize) -> Result<Vec<u8>, String> {
    advise::restored(stream, bytes).map_err(|e| e.to_string())
}

/// What was measured of a quality, in words.
pub fn reached(target: &Target, m: &Measured) -> String {
    match target {
        Target::Ssim(_) => format!("SSIM {}", Figure::Ssim.words(m.ssim())),
        _ => format!("PSNR {:.2} dB", m.psnr()),
    }
}

/// The request that an answer is.
pub fn request(answer: &Answer) -> String {
    match answer.bound.mode() {
        Mode::Lossless => "--lossless".into(),
        mode => format!("--{} {:e}", mode.name(), answer.bound.number()),
    }
}

/// Says what a target came to.
pub fn tell_of(answer: &Answer, target: &Target, of: &str) {
    let m = &answer.measured;
    let came_to = match target {
        Target::Ratio(_) | Target::Size(_) => format!("ratio {:.2}, {}", m.ratio(), bytes(m.packed)),
        _ if m.is_exact() => "every bit comes back".into(),
        target => format!("{}, ratio {:.2}", reached(target, m), m.ratio()),
    };
    let tries = if answer.tries == 1 { "1 try".into() } else { format!("{} tries", answer.tries) };
    tell(&format!("sleek: {of}: {} is met by {}: {came_to}, {tries}", argument(target), request(answer)));
}
