//! How and where a call is carried out. Nothing of it changes a byte of the result.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{List, Result, enumeration, fail};
use crate::host::environment;

pub use crate::host::pool::threads;

/// Results of arrays from this size on go past the caches, unless the caller reads them at once.
pub const PAST_CACHES_BYTES: usize = 16 << 20;

/// Bytes of GPU memory that an asynchronous call for one array needs besides its data.
pub const WORKSPACE_BYTES: usize = 512;

/// How the CPU carries out a call.
#[derive(Clone, Copy, Debug)]
pub struct ExecOptions {
    /// Threads; 0 lets the library choose.
    pub threads: u32,
    /// Whether the caller reads the result at once: then it belongs into the caches, however large it is.
    pub read_at_once: bool,
}

impl ExecOptions {
    /// On so many threads, for a result that is read some time.
    pub fn threads(threads: u32) -> ExecOptions {
        ExecOptions { threads, read_at_once: false }
    }

    /// Whether a result of an array of `bytes` goes past the caches.
    pub fn past_caches(self, bytes: usize) -> bool {
        bytes >= PAST_CACHES_BYTES && !self.read_at_once
    }
}

/// Refuses environment variables that say how a call is carried out and cannot be understood.
pub fn check_environment() -> Result<()> {
    // An atomic rather than a lock, which could stay locked in a child forked meanwhile.
    static FINE: AtomicBool = AtomicBool::new(false);
    if !FINE.load(Ordering::Relaxed) {
        environment::threads()?;
        Isa::check(environment::variable(environment::SIMD))?;
        FINE.store(true, Ordering::Relaxed);
    }
    Ok(())
}

enumeration! {
    /// What instructions may be used, the lowest level first. Every level gives the same bytes. `SLEEK_SIMD` takes the
    /// names.
    #[derive(PartialOrd, Ord)]
    pub enum Level: u8, name {
        /// What every processor of the architecture has.
        Scalar = 0 "scalar",
        /// AArch64, all of which has NEON.
        Neon = 1 "neon",
        /// x86-64 with AVX2 and FMA.
        Avx2 = 2 "avx2",
        /// x86-64 with AVX-512, its VBMI2 and VNNI, and GFNI.
        Avx512 = 3 "avx512",
    }
}

impl Level {
    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        self.lacks().is_none()
    }

    /// The first feature that the level needs and this processor does not have, or its architecture.
    pub fn lacks(self) -> Option<&'static str> {
        #[cfg(target_arch = "x86_64")]
        {
            macro_rules! lacking {
                ($($feature:tt),*) => { $(if !is_x86_feature_detected!($feature) { return Some($feature) })* };
            }
            if self == Level::Neon {
                return Some("aarch64");
            }
            if self >= Level::Avx2 {
                lacking!("avx2", "bmi1", "bmi2", "lzcnt", "popcnt", "fma");
            }
            if self >= Level::Avx512 {
                lacking!("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl");
                lacking!("avx512vbmi", "avx512vbmi2", "avx512vnni", "gfni");
            }
            None
        }
        #[cfg(not(target_arch = "x86_64"))]
        match self {
            Level::Scalar => None,
            Level::Neon => (!cfg!(target_arch = "aarch64")).then_some("aarch64"),
            Level::Avx2 | Level::Avx512 => Some("x86_64"),
        }
    }
}

/// The processor's consent to the instructions of a level: only detection makes it, so whoever has one may use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Level);

impl Isa {
    /// The consent to `level`, if this processor has it.
    pub fn of(level: Level) -> Option<Isa> {
        level.is_available().then_some(Isa(level))
    }

    /// The best level of this processor, or the one that `SLEEK_SIMD` names if it is lower.
    pub fn best() -> Isa {
        // Its place in `ALL` and one more; 0 until known. Two threads may both find it out: a lock would stay locked in
        // a child that is forked meanwhile.
        static BEST: AtomicUsize = AtomicUsize::new(0);
        let known = BEST.load(Ordering::Relaxed);
        if known > 0 {
            return Isa(Level::ALL[known - 1]);
        }
        let limit = Isa::limit().unwrap_or(Level::Avx512);
        let best = Level::ALL.into_iter().rev().find(|l| *l <= limit && l.is_available()).unwrap_or(Level::Scalar);
        BEST.store(best as usize + 1, Ordering::Relaxed);
        Isa(best)
    }

    /// Refuses a level in `SLEEK_SIMD` that there is none of.
    fn check(named: Option<OsString>) -> Result<()> {
        let Some(named) = named.filter(|v| !v.is_empty()) else { return Ok(()) };
        let names = Level::ALL.map(Level::name);
        match named.to_str() {
            Some(v) if names.contains(&v) => Ok(()),
            _ => fail!(
                InvalidArgument,
                "{} is '{}'; one of {} is needed",
                environment::SIMD,
                named.display(),
                List(names.iter(), ", ")
            ),
        }
    }

    /// The level that `SLEEK_SIMD` names.
    fn limit() -> Option<Level> {
        let wish = environment::variable(environment::SIMD)?;
        Level::ALL.into_iter().find(|l| l.name() == wish)
    }

    /// The best level, and why it is no higher one, in a sentence.
    pub fn reason() -> String {
        let best = Isa::best().level();
        let highest = Level::ALL.into_iter().rev().find(|l| l.is_available()).unwrap_or(Level::Scalar);
        let (name, variable) = (best.name(), environment::SIMD);
        if best < highest {
            return format!("{name}, as {variable} says; this processor has {}", highest.name());
        }
        let asked = match Isa::limit() {
            Some(limit) if limit > best => format!(" ({variable} asks for {})", limit.name()),
            _ => String::new(),
        };
        let above = Level::ALL.into_iter().find(|l| *l > best && !matches!(l.lacks(), Some("x86_64" | "aarch64")));
        match above.and_then(|above| Some((above, above.lacks()?))) {
            Some((above, lack)) => format!("{name}{asked}; {} needs {lack}, which this processor lacks", above.name()),
            None => format!("{name}{asked}, the highest there is for it"),
        }
    }

    /// The level that was consented to.
    pub fn level(self) -> Level {
        self.0
    }
}

/// The right to the instructions of `Level::Avx2`, which only a processor that has them gives. Code compiled for that
/// level is where its methods are fast.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// From a consent to this level or a higher one.
    pub fn of(isa: Isa) -> Option<Avx2> {
        (isa.level() >= Level::Avx2).then_some(Avx2(()))
    }
}

/// The right to the instructions of `Level::Avx512`.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx512(Avx2);

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// From a consent to this level.
    pub fn of(isa: Isa) -> Option<Avx512> {
        Avx2::of(isa).filter(|_| isa.level() >= Level::Avx512).map(Avx512)
    }

    /// The level below, which it has as well.
    #[inline(always)]
    pub fn avx2(self) -> Avx2 {
        self.0
    }
}

/// The right to what is made for `Level::Neon`.
#[cfg(target_arch = "aarch64")]
#[derive(Clone, Copy)]
pub struct Neon(());

#[cfg(target_arch = "aarch64")]
impl Neon {
    /// From a consent to this level.
    pub fn of(isa: Isa) -> Option<Neon> {
        (isa.level() == Level::Neon).then_some(Neon(()))
    }
}

/// Where a pointer leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySpace {
    /// Memory of the host, pinned or not, and whatever no driver knows.
    Host,
    /// Memory of the GPU with this number.
    Device(i32),
    /// Managed memory, which host and GPU both reach.
    Managed(i32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_available_if_nothing_lacks() {
        let available: Vec<Level> = Level::ALL.into_iter().filter(|level| level.lacks().is_none()).collect();
        assert_eq!(available[0], Level::Scalar);
        assert!(available.contains(&Isa::best().level()) && Isa::of(Isa::best().level()).is_some());
        for level in Level::ALL {
            assert_eq!(Isa::of(level).is_some(), available.contains(&level), "{}", level.name());
        }
        assert!(Isa::reason().starts_with(Isa::best().level().name()), "{}", Isa::reason());
    }
}
