//! How and where a call is carried out. Nothing of it changes a byte of the result.

use std::sync::atomic::{AtomicUsize, Ordering};

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

/// What instructions may be used. Every level gives the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every processor of the architecture has.
    Scalar,
    /// AArch64, all of which has NEON.
    Neon,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512, its VBMI2 and VNNI, and GFNI.
    Avx512,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Level; 4] = [Level::Scalar, Level::Neon, Level::Avx2, Level::Avx512];

    /// The name, as `SLEEK_SIMD` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Scalar => "scalar",
            Level::Neon => "neon",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return match self {
            Level::Scalar => true,
            Level::Neon => false,
            Level::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("fma")
            }
            Level::Avx512 => {
                Level::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512cd")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
                    && is_x86_feature_detected!("avx512vnni")
                    && is_x86_feature_detected!("gfni")
            }
        };
        #[cfg(not(target_arch = "x86_64"))]
        return self == Level::Scalar || self == Level::Neon && cfg!(target_arch = "aarch64");
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
        let wish = crate::host::environment::variable(crate::host::environment::SIMD).unwrap_or_default();
        let limit = Level::ALL.into_iter().find(|l| l.name() == wish).unwrap_or(Level::Avx512);
        let best = Level::ALL.into_iter().rev().find(|l| *l <= limit && l.is_available()).unwrap_or(Level::Scalar);
        BEST.store(best as usize + 1, Ordering::Relaxed);
        Isa(best)
    }

    /// The level that was consented to.
    pub fn level(self) -> Level {
        self.0
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
