//! The call-back `set_local`, which HDF5 calls when a dataset is made.

use super::abi::{H5Z_FLAG_OPTIONAL, Herr, Hid};
use super::caller::Caller;
use super::cd_values::{CdValues, FILTER_ID, StoredElement};
use super::dataset::{Creation, Pipeline};
use super::datatype::Stored;
use super::report::guard;
use super::resolve::Hdf5;
use super::{neighbours, report};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::exec;
use crate::host::memory;
use crate::missing::MAX_MISSING;
use crate::params::{Bound, MissingValues, Params};
use crate::route;
use crate::text;

/// `H5Z_set_local_func_t`: completes the `cd_values` with what the dataset holds.
///
/// It alone protects the data, since HDF5 ignores `can_apply` for an optional filter: what it refuses is not made.
///
/// # Safety
/// As HDF5 calls it.
pub unsafe extern "C" fn set_local(dcpl: Hid, type_id: Hid, _space: Hid) -> Herr {
    let place = 0;
    let caller = Caller::of(&place);
    guard(-1, caller, || {
        memory::expect_room(memory::DESCRIPTION_BYTES)?;
        // Each chunk would fail on it, which HDF5 tells when the dataset is closed, if at all.
        exec::check_environment()?;
        match Hdf5::at(caller.address())? {
            // SAFETY: the ids come from the library of `caller`.
            Some(hdf5) => complete(&unsafe { Creation::new(&hdf5, dcpl, type_id) })?,
            // The user's words stay as they are: with the long form a bound works, with any other chunks are lossless.
            None => report::log(format_args!(
                "the calling HDF5 hides its functions, and with them the element type; cd_values are taken as given, \
                and those without one store losslessly"
            )),
        }
        Ok(0)
    })
}

/// Completes the words of SLEEK in the pipeline, and moves a shuffle.
fn complete(creation: &Creation) -> Result<()> {
    let Some(pipeline) = creation.pipeline()? else {
        return fail!(Hdf5, "filter {FILTER_ID} is not in the pipeline of {} filters", creation.filters());
    };
    let Pipeline { ours, preceded, resized, shuffle, behind } = pipeline;
    for other in &behind {
        neighbours::check_behind(other.id, &other.words)?;
    }
    let stored = creation.stored()?;
    // Behind us it would have to be told more of what are no numbers.
    let may_move = stored.dtype.size() > 1 || stored.bytes > 1 && behind.is_empty();
    let moved = shuffle.as_ref().filter(|_| !preceded && may_move);
    // A shuffle behind us makes a buffer as large as it is told that ours is: of `may_refer` it must be told all.
    let shuffled = stored.dtype == DType::U8 && behind.iter().any(|other| other.id == neighbours::SHUFFLE);
    let at = Place { preceded: preceded || shuffle.is_some() && moved.is_none(), resized: resized || shuffled };
    let words = completed(&ours.words, &stored, at, creation.chunk()?, creation.fills(&stored)?)?;
    // HDF5 does not note that a chunk written again passed other filters than before where its length stays. Beside a
    // filter that changes lengths, what ours declined may get as long as a stream: so there it declines nothing.
    let keeps_lengths = |id| id == neighbours::SHUFFLE || id == neighbours::FLETCHER32;
    let is_mandatory = resized || behind.iter().any(|other| !keeps_lengths(other.id));
    creation.set_words(if is_mandatory { ours.flags & !H5Z_FLAG_OPTIONAL } else { ours.flags }, &words)?;
    moved.map_or(Ok(()), |shuffle| creation.move_shuffle(shuffle, &behind))
}

/// Where in a pipeline the filter is.
#[derive(Clone, Copy)]
pub struct Place {
    /// Another filter comes before.
    pub preceded: bool,
    /// The length of an element is not to be told: one that gives chunks of another length than it gets comes before,
    /// or a shuffle behind bytes that are no numbers.
    pub resized: bool,
}

/// The words of a request with what a dataset is added: what its elements are, the lengths of its chunks, and its fill
/// values.
pub fn completed(words: &[u32], stored: &Stored, at: Place, chunk: Vec<u64>, fills: Vec<u64>) -> Result<Vec<u32>> {
    let asked = CdValues::decode(words)?.request;
    refuse_half_a_number(words, &asked)?;
    // A bound in the environment is meant for the fields that have one, not for the coordinates beside them.
    let mut request = match words.is_empty() || asked.bound != Bound::Lossless {
        true => text::of_environment()?.map(|of_all| instead(&asked, of_all)).unwrap_or(asked),
        false => asked,
    };
    let lossy = request.bound != Bound::Lossless;
    if lossy && at.preceded && stored.dtype.is_float() {
        return fail!(
            InvalidArgument,
            "mode {} after another filter: SLEEK must come first, before checksums and compressors",
            request.bound.mode().name()
        );
    }
    // Behind another filter the bytes are no elements any more.
    let dtype = if at.preceded { DType::U8 } else { stored.dtype };
    let known = together(&mut request, dtype, fills)?;
    // Integers have no bound; some codecs have a rate for them. It must be meant for them: a request for a whole tree
    // meets indices and flags too.
    let of_integers =
        || request.integers && stored.integers && route::chosen(&Params { dtype, ..request.clone() }).is_ok();
    let suits = stored.dtype.is_float() || of_integers();
    let element = StoredElement {
        dtype,
        big_endian: stored.big_endian && !at.preceded,
        bytes: if at.resized { 0 } else { stored.bytes },
        lossless: lossy && (!suits || known.is_none()),
        fills: known.unwrap_or_default(),
        chunk,
    };
    report::log(format_args!(
        "dataset of {} in chunks of {:?}: {}{}",
        stored.what,
        element.chunk,
        text::format(&request),
        remark(&request, &element, stored)
    ));
    let values = CdValues { request, element: Some(element) };
    // A codec that cannot do what is asked for would fail on every chunk.
    values.params()?.map_or(Ok(()), |params| route::chosen(&params).map(|_| ()))?;
    Ok(values.encode())
}

/// A request for all datasets in the place of one for this dataset, whose missing values and limits stay where the
/// other names none.
fn instead(asked: &Params, of_all: Params) -> Params {
    let mut request = of_all;
    if request.missing.is_empty() {
        request.missing = asked.missing;
    }
    request.find_fill = request.find_fill.or(asked.find_fill);
    if request.limits.is_none() && request.bound.mode().has_bound() {
        request.limits = asked.limits;
    }
    request
}

/// Refuses a bound that came as one word where two make a number, or as an integer. Nothing could be as near as
/// that, and every bit would be kept without a word.
fn refuse_half_a_number(words: &[u32], asked: &Params) -> Result<()> {
    let number = asked.bound.number();
    let is_bound = asked.bound.mode().has_bound();
    if !(CdValues::is_short(words) && is_bound && number < f64::MIN_POSITIVE) {
        return Ok(());
    }
    fail!(
        InvalidBound,
        "the bound of mode {} in cd_values is {number:e}; a number takes two words, low one first: for nccopy write \
        0.001d, not 0.001, and to keep every bit no words at all",
        asked.bound.mode().name()
    )
}

/// The dataset's fill values that the user has not named, where there is room for all in a stream. Of the user's stay
/// those that elements of `dtype` can have.
fn together(request: &mut Params, dtype: DType, fills: Vec<u64>) -> Result<Option<Vec<u64>>> {
    if !dtype.is_float() {
        return Ok(Some(Vec::new()));
    }
    let named: Vec<_> = request.missing.iter().filter(|value| value.bits(dtype).is_ok()).collect();
    request.missing = MissingValues::of(&named)?;
    let own: Vec<u64> = request.missing.of_type(dtype)?.bits().to_vec();
    let fills: Vec<u64> = fills.into_iter().filter(|bits| !own.contains(bits)).collect();
    // A zero takes two places.
    let zeros = [&own, &fills].into_iter().flatten().filter(|bits| dtype.number(**bits) == 0.0).count();
    Ok((own.len() + fills.len() + usize::from(zeros == 1) <= MAX_MISSING).then_some(fills))
}

/// What a person should know of a dataset besides the request.
fn remark(request: &Params, element: &StoredElement, stored: &Stored) -> &'static str {
    match () {
        () if element.lossless && !stored.dtype.is_float() => {
            "; its elements can have no bound and are kept losslessly"
        }
        () if element.lossless => "; its fill value has too many parts to be kept exactly, so all is kept losslessly",
        () if request.bound.measures() => {
            "; each chunk takes its own range, and up to two bits for each value more than a given range, so that it \
            can be written again"
        }
        () => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::hdf5_filter::cd_values_of;

    #[test]
    fn missing_values_and_limits_stay_where_the_environment_names_none() {
        let of = |asked: &str, of_all: &str| {
            let [asked, of_all] = [asked, of_all].map(|text| text::parse(text).unwrap());
            text::format(&instead(&asked, of_all))
        };
        let asked = "rel=1e-3,fill=-1,limits=0:1,profile=small";
        assert_eq!(of(asked, "abs=2"), "abs=2e0,limits=0e0:1e0,fill=-1e0");
        assert_eq!(of(asked, "abs=2,fill=3,limits=:5"), "abs=2e0,limits=:5e0,fill=3e0");
        assert_eq!(of(asked, "abs=2,no-fill"), "abs=2e0,limits=0e0:1e0,fill=-1e0,no-fill");
        assert_eq!(of("rel=1e-3,no-fill", "abs=2"), "abs=2e0,no-fill");
        assert_eq!(of(asked, "lossless"), "lossless,fill=-1e0");
        assert_eq!(of(asked, "rate=8,codec=zfp"), "rate=8e0,fill=-1e0,codec=zfp");
    }

    /// nccopy hands `0.001` on as the word 0, and `1e-3` as the word 1.
    #[test]
    fn half_a_number_is_no_bound() {
        let stored = crate::api::hdf5_filter::datatype::parse(&[
            3, 0, 0x11, 0x20, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0,
        ]);
        let (stored, at) = (stored.unwrap(), Place { preceded: false, resized: false });
        let of = |words: &[u32]| completed(words, &stored, at, vec![10], vec![]);
        for words in [&[1, 1, 0][..], &[1, 1, 1], &[1, 2, 0, 0, 0], &[1, 3, 7, 0, 2], &[1, 1, 0, 1]] {
            let error = of(words).unwrap_err().to_string();
            assert!(error.contains("write 0.001d"), "{words:?}: {error}");
        }
        for words in
            [&[][..], &[7], &[0, 0], &[1, 0], &cd_values_of(&Params::new(DType::F32).with_bound(Bound::Abs(1e-3)))]
        {
            of(words).unwrap();
        }
    }
}
