//! Codecs: what turns an array into a stream and back, behind one trait. Adding one is described in
//! `CONTRIBUTING.md`.

pub mod interp;
pub mod shared;
pub mod sleek;
pub mod zfp;

pub use shared::{Capabilities, Codec, CpuCodec, Detail, Info, ShowChunk};

use std::fmt::{self, Display};

use crate::container::{Header, Layout, Shape};
use crate::dtype::DType;
use crate::error::{List, Result, fail};
use crate::missing::Missing;
use crate::params::{Params, Profile};

/// Makes the registry: a line for each codec. A codec that tests alone have says in which file it is and which `cfg` of
/// the build script has it.
macro_rules! registry {
    ($($module:ident::$codec:ident $(in $file:literal with $cfg:ident)?;)+) => {
        $($(
            #[cfg($cfg)]
            #[path = $file]
            pub mod $module;
        )?)+

        /// Every codec, in the order of their ids.
        pub static REGISTRY: &[&dyn Codec] = &[$($(#[cfg($cfg)])? &$module::$codec),+];
    };
}

registry! {
    sleek::Sleek;
    zfp::Zfp;
    interp::Interp;
    toy::Toy in "../../tests/codecs/toy/mod.rs" with test_codecs;
}

/// Ids and names of codecs that only pre-releases of a version had. No other codec gets them.
const RETIRED: [(u8, &str, &str); 2] = [(2, "ratio", "0.2"), (4, "predict", "0.4")];

/// The codec with this id, which a stream has.
pub fn by_id(id: u8) -> Result<&'static dyn Codec> {
    match REGISTRY.iter().find(|c| c.id() == id) {
        Some(c) => Ok(*c),
        None => match RETIRED.iter().find(|codec| codec.0 == id) {
            Some((_, name, release)) => fail!(
                UnsupportedFormat,
                "codec {id} ({name}) was written by a pre-release of {release}; this library does not read it"
            ),
            None => fail!(UnsupportedFormat, "codec {id} is not known to this library; it knows {}", known()),
        },
    }
}

/// The codec of this name.
pub fn by_name(name: &str) -> Result<&'static dyn Codec> {
    match REGISTRY.iter().find(|c| c.name() == name) {
        Some(c) => Ok(*c),
        None => {
            RETIRED.iter().filter(|codec| codec.1 == name).try_for_each(retired)?;
            fail!(InvalidArgument, "codec '{name}' is unknown; this library knows {}", known())
        }
    }
}

/// The error of a request for a codec that is no more.
fn retired((id, name, release): &(u8, &str, &str)) -> Result<()> {
    fail!(InvalidArgument, "codec {id} ({name}) existed in pre-releases of {release} only; codec interp replaces it")
}

/// Refuses a request for a codec that is no more, where an unknown one may mean the default.
pub fn refuse_retired(params: &Params) -> Result<()> {
    RETIRED.iter().filter(|codec| codec.0 == params.codec).try_for_each(retired)
}

/// A codec, for messages.
struct Told(&'static dyn Codec);

impl Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} ({})", self.0.id(), self.0.name())
    }
}

/// All codecs, for messages.
fn known() -> impl Display {
    List(REGISTRY.iter().map(|codec| Told(*codec)), ", ")
}

/// The codec that `params` name, by its id or by a profile.
pub(crate) fn named(params: &Params) -> Result<&'static dyn Codec> {
    match params.codec {
        0 => match REGISTRY.iter().find(|c| c.profiles().contains(&params.profile)) {
            Some(codec) => Ok(*codec),
            None => fail!(InvalidArgument, "no codec has the profile {}", params.profile.name()),
        },
        id => match REGISTRY.iter().find(|c| c.id() == id) {
            Some(codec) => Ok(*codec),
            None => {
                refuse_retired(params)?;
                fail!(InvalidArgument, "codec {id} is unknown; 0 default, {}", known())
            }
        },
    }
}

/// Refuses element types that the codec does not take.
pub(crate) fn check_dtype(codec: &dyn Codec, dtype: DType) -> Result<()> {
    let can = codec.capabilities().dtypes;
    if can.contains(&dtype) {
        return Ok(());
    }
    let names = List(can.iter().map(|t| t.name()), ", ");
    fail!(UnsupportedType, "codec {} takes {names}; {} was asked for", codec.name(), dtype.name())
}

/// The codec that `params` ask for, if it can do what they ask for.
pub fn chosen(params: &Params) -> Result<&'static dyn Codec> {
    params.check()?;
    if params.bound.number() > 0.0 {
        params.missing.check(params.dtype)?;
    }
    let codec = named(params)?;
    // A codec that is named needs no profile, and then the default one means nothing.
    let profiles = codec.profiles();
    if !profiles.contains(&params.profile) && params.profile != Profile::default() {
        return fail!(
            InvalidArgument,
            "codec {} has the profiles {}{}; {} was asked for",
            codec.name(),
            if profiles.is_empty() { "none" } else { "" },
            List(profiles.iter().map(|p| p.name()), ", "),
            params.profile.name()
        );
    }
    check_dtype(codec, params.dtype)?;
    let can = codec.capabilities();
    let mode = params.bound.mode();
    if !can.modes.contains(&mode) {
        let others = REGISTRY.iter().filter(|c| c.capabilities().modes.contains(&mode)).map(|c| c.name());
        return fail!(
            InvalidArgument,
            "codec {} has the modes {}; {} was asked for, which codec {} has",
            codec.name(),
            List(can.modes.iter().map(|m| m.name()), ", "),
            mode.name(),
            List(others, " or ")
        );
    }
    Ok(codec)
}

/// Whether what `params` ask for depends on the dimensions of the array.
pub fn uses_dims(params: &Params) -> bool {
    chosen(params).is_ok_and(|codec| codec.capabilities().rank > 1)
}

/// The layout of the stream of `count` elements that `params` ask for.
pub fn layout(params: &Params, count: u64) -> Result<Layout> {
    layout_with(chosen(params)?, params, params.missing.of_type(params.dtype)?, count)
}

/// The same of the codec that was chosen, with these missing values.
pub(crate) fn layout_with(codec: &dyn Codec, params: &Params, missing: Missing, count: u64) -> Result<Layout> {
    let dims = params.dims.of_count(count)?;
    let shape = codec.shape(params, Shape { dims, missing, ..Shape::line(count) })?;
    Layout::with(params.dtype, shape)
}

/// The profile of a stream: of those that its codec serves, since the header tells fast from adaptive alone.
pub fn profile_of(header: &Header) -> Profile {
    let profiles = by_id(header.codec).map_or(&[][..], |codec| codec.profiles());
    match profiles.contains(&header.profile) {
        true => header.profile,
        false => profiles.first().copied().unwrap_or(header.profile),
    }
}
