//! Levels of instructions: what is compiled for each, and the vectors of each. Here alone stands with which features
//! code is compiled for a level. A function of a level's own instructions names the few that it has.
//!
//! A loop is written once over a trait of vectors, which the levels implement. The scalar level has arrays for vectors,
//! and judges the others. The traits:
//!
//! - `numbers`: 32-bit numbers;
//! - `words`: words of 16 to 64 bits;
//! - `bits`: packed words;
//! - `columns`: a word of each of eight rows;
//! - `elements`: words as they lie in memory.
//!
//! What one level has for itself:
//!
//! - `avx512::pack`: strings are put together by permutes, not by a store each. The loop over the traits is slower.
//! - `avx512::extremes`: eight rows are reduced together. The loop over the traits is slower.
//! - `avx512::byte_sums` (products of bytes), `stream` of both (lines that are shared), the sums of `keyed`.
//! - For codec sleek the transposition of bytes and their comparison.

/// Methods of a level that are one instruction, or a few. One that reads or writes memory asks first whether it is
/// there.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! instructions {
    ($(fn $name:ident$(<const $n:ident: $of:ty>)?($($arg:ident: $t:ty),*) $(-> $r:ty)? { $body:expr })*) => {$(
        #[inline(always)]
        #[allow(unused_unsafe)]
        fn $name$(<const $n: $of>)?(self, $($arg: $t),*) $(-> $r)? {
            // SAFETY: the processor has the level, as the token says; memory is there, as the body asks.
            unsafe { $body }
        }
    )*};
}

/// A function as it is compiled for a level.
macro_rules! compiled_for {
    (Scalar, $function:item) => {
        #[inline(never)]
        $function
    };
    (Avx2, $function:item) => {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,fma")]
        $function
    };
    (Avx512, $function:item) => {
        #[target_feature(enable = "avx512f,avx512cd,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni")]
        #[target_feature(enable = "gfni,avx2,bmi1,bmi2,lzcnt,popcnt,fma")]
        $function
    };
    (Neon, $function:item) => {
        #[inline(never)]
        #[target_feature(enable = "neon")]
        $function
    };
}

/// What a block gives that is compiled for a level of x86-64; `None` without the consent to it. Its arguments are
/// variables of their names.
macro_rules! by {
    ($level:ident, $isa:expr, |$($arg:ident: $t:ty),*| -> $r:ty $body:block) => {{
        #[allow(unsafe_code)]
        #[cfg(target_arch = "x86_64")]
        let done: Option<$r> = {
            $crate::simd::compiled_for!($level, fn run($($arg: $t),*) -> $r $body);
            // SAFETY: the processor has the level, as the token says.
            $crate::exec::$level::of($isa).map(|_| unsafe { run($($arg),*) })
        };
        #[cfg(not(target_arch = "x86_64"))]
        let done: Option<$r> = {
            let _ = ($isa, $(&$arg),*);
            None
        };
        done
    }};
}

/// What an expression gives for the token of the highest level that an [`Isa`](crate::exec::Isa) consents to; in it
/// `$level` is the module of the caller's that is named like the level.
macro_rules! by_level {
    ($isa:expr, $p:ident $(in $level:ident)? => $body:expr) => {{
        #[allow(unused_variables)]
        let isa = $isa;
        $crate::simd::by_level!(@ "x86_64", isa, Avx512, avx512, $p $(in $level)? => $body);
        $crate::simd::by_level!(@ "x86_64", isa, Avx2, avx2, $p $(in $level)? => $body);
        $crate::simd::by_level!(@ "aarch64", isa, Neon, neon, $p $(in $level)? => $body);
        $(use scalar as $level;)?
        let $p = $crate::simd::Scalar;
        $body
    }};
    (@ $arch:literal, $isa:ident, $token:ident, $module:ident, $p:ident $(in $level:ident)? => $body:expr) => {
        #[cfg(target_arch = $arch)]
        if let Some($p) = $crate::exec::$token::of($isa) {
            $(use $module as $level;)?
            return $body;
        }
    };
}

/// Evaluates an expression for the token of each level that the processor has beside the scalar one.
#[cfg(test)]
macro_rules! each_level {
    ($p:ident => $body:expr) => {{
        $crate::simd::each_level!(@ "x86_64", Avx2, $p => $body);
        $crate::simd::each_level!(@ "x86_64", Avx512, $p => $body);
        $crate::simd::each_level!(@ "aarch64", Neon, $p => $body);
    }};
    (@ $arch:literal, $token:ident, $p:ident => $body:expr) => {
        #[cfg(target_arch = $arch)]
        if let Some($p) = $crate::exec::Isa::of($crate::exec::Level::$token).and_then($crate::exec::$token::of) {
            $body;
        }
    };
}

/// `given! { level, fn … }`: a function compiled for a level's instructions, and safe to call with the level's token as
/// its first argument. In brackets
/// are its parameters of types with their bounds, their names, and what else is asked of them.
macro_rules! given {
    ($level:tt, $(#[$about:meta])* $vis:vis fn $name:ident($($arguments:tt)*) $(-> $r:ty)? $body:block) => {
        $crate::simd::given! { $level, $(#[$about])* $vis fn $name[][]($($arguments)*) $(-> $r)? $body }
    };
    ($level:tt, $(#[$about:meta])* $vis:vis fn $name:ident[$($parameters:tt)*][$($names:tt)*](
        $token:ident: $token_type:ty, $($arg:ident: $t:ty),* $(,)?
    ) $(-> $r:ty)? $(where [$($bounds:tt)*])? $body:block) => {
        $(#[$about])*
        #[inline(always)]
        #[allow(unsafe_code, unused_unsafe)]
        $vis fn $name<$($parameters)*>($token: $token_type, $($arg: $t),*) $(-> $r)?
        $(where $($bounds)*)?
        {
            $crate::simd::compiled_for!($level,
                fn run<$($parameters)*>($token: $token_type, $($arg: $t),*) $(-> $r)?
                $(where $($bounds)*)?
                $body
            );
            // SAFETY: the processor has the level, as the token says.
            unsafe { run::<$($names)*>($token, $($arg),*) }
        }
    };
}

mod arithmetic;
#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod bits;
pub mod columns;
pub mod elements;
pub mod keyed;
#[cfg(target_arch = "aarch64")]
pub mod neon;
pub mod numbers;
mod scalar;
pub mod stream;
pub mod word;
pub mod words;

#[cfg(target_arch = "aarch64")]
use crate::exec::Neon;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Avx2, Avx512};
pub use arithmetic::Arithmetic;
#[cfg(test)]
pub(crate) use each_level;
use numbers::{CodeVectors, NumberVectors};
pub use scalar::Scalar;
pub(crate) use {by, by_level, compiled_for, given};

/// A level. A value of it is the right to its instructions.
pub trait Level: Arithmetic + NumberVectors {
    /// Does a task, compiled for the level. Never inlined: the stack would hold what all tasks of a tile need.
    fn run<T: Task>(self, task: T) -> T::Done;

    /// Does what a closure does, its loops compiled for the level.
    fn loops<D>(self, work: impl FnOnce() -> D) -> D {
        self.run(Loops(work))
    }
}

/// What is compiled for each level: `run` is `inline(always)`, and all that is to be fast in it.
pub trait Task {
    /// What comes of it.
    type Done;
    /// Does it with a level's vectors, M of which have a number for each of 32 lanes.
    fn run<P: CodeVectors<M>, const M: usize>(self, p: P) -> Self::Done;
}

struct Loops<F>(F);

impl<D, F: FnOnce() -> D> Task for Loops<F> {
    type Done = D;

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, _: P) -> D {
        (self.0)()
    }
}

/// A level, by its registers for 32 numbers.
macro_rules! level {
    ($token:ident, $registers:expr) => {
        impl Level for $token {
            #[inline(always)]
            fn run<T: Task>(self, task: T) -> T::Done {
                compiled_for!(
                    $token,
                    fn run<T: Task>(p: $token, task: T) -> T::Done {
                        task.run::<$token, { $registers }>(p)
                    }
                );
                // SAFETY: the processor has the level, as the token says.
                #[allow(unused_unsafe)]
                unsafe {
                    run(self, task)
                }
            }
        }
    };
}

level!(Scalar, scalar::REGISTERS);
#[cfg(target_arch = "x86_64")]
level!(Avx2, avx2::REGISTERS);
#[cfg(target_arch = "x86_64")]
level!(Avx512, avx512::REGISTERS);
#[cfg(target_arch = "aarch64")]
level!(Neon, neon::REGISTERS);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    /// What is quoted in a text, at commas.
    fn quoted(text: &str) -> BTreeSet<&str> {
        text.split('"').skip(1).step_by(2).flat_map(|list| list.split(',')).collect()
    }

    fn sources(folder: &Path, to: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => sources(&path, to),
                false => to.push(fs::read_to_string(path).unwrap()),
            }
        }
    }

    /// Whoever has a level's token may call what is compiled for it: no code has features that nobody asked for.
    #[test]
    fn features_are_those_that_a_level_asks_for() {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let detection = fs::read_to_string(src.join("exec.rs")).unwrap();
        let mut asked = detection.split("if self >= Level::Avx512 {");
        let of_avx2 = quoted(asked.next().unwrap().split("if self >= Level::Avx2 {").nth(1).unwrap());
        let of_avx512 = quoted(asked.next().unwrap().split("None\n").next().unwrap());
        assert!(of_avx2.contains("fma") && of_avx512.contains("gfni"), "{of_avx2:?} {of_avx512:?}");
        let (mut all, mut seen) = (Vec::new(), 0);
        sources(&src, &mut all);
        for line in all
            .iter()
            .flat_map(|source| source.lines())
            .filter(|line| line.trim_start().starts_with("#[target_feature("))
        {
            let enabled = quoted(line);
            let is_higher = enabled.iter().any(|feature| of_avx512.contains(feature));
            let may = |feature: &&str| of_avx2.contains(feature) || is_higher && of_avx512.contains(feature);
            assert!(enabled.iter().all(may) || enabled.contains("neon"), "{line}");
            seen += 1;
        }
        assert!(seen > 20, "{seen}");
    }
}
