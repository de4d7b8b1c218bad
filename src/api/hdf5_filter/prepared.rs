//! Streams that were made before HDF5 asks for them. A chunk that is handed to `H5Dwrite` then holds nothing but a
//! mark, and the filter answers it with the stream of that mark (`hdf5_direct::shared`).

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ptr;

use crate::error::Result;
use crate::host::memory::reserve;

/// Bytes of a mark: a number that no data has by chance, and the place of the stream.
///
/// cbindgen:ignore
pub const MARK: usize = 16;

/// Streams, each until it is asked for.
pub struct Prepared {
    word: u64,
    streams: RefCell<Vec<Option<Vec<u8>>>>,
}

thread_local! {
    static OF_THIS_CALL: Cell<*const Prepared> = const { Cell::new(ptr::null()) };
}

/// Ends what `Prepared::during` has begun.
struct Reset;

impl Drop for Reset {
    fn drop(&mut self) {
        OF_THIS_CALL.set(ptr::null());
    }
}

impl Prepared {
    /// None yet.
    pub fn new() -> Prepared {
        Prepared { word: RandomState::new().build_hasher().finish(), streams: RefCell::default() }
    }

    /// Adds a stream; its place is how many there were before.
    pub fn push(&self, stream: &[u8]) -> Result<()> {
        let (mut copy, mut streams) = (Vec::new(), self.streams.borrow_mut());
        reserve(&mut copy, stream.len())?;
        copy.extend_from_slice(stream);
        if streams.len() == streams.capacity() {
            let more = streams.len().max(64);
            reserve(&mut streams, more)?;
        }
        streams.push(Some(copy));
        Ok(())
    }

    /// How many nobody has asked for.
    pub fn left(&self) -> usize {
        self.streams.borrow().iter().flatten().count()
    }

    /// What a chunk begins with to stand for stream `i`.
    pub fn mark(&self, i: usize) -> [u8; MARK] {
        let mut mark = [0; MARK];
        mark[..8].copy_from_slice(&self.word.to_le_bytes());
        mark[8..].copy_from_slice(&(i as u64).to_le_bytes());
        mark
    }

    /// Makes a call during which the filter gives these streams to this thread.
    pub fn during<T>(&self, call: impl FnOnce() -> T) -> T {
        OF_THIS_CALL.set(self);
        let _reset = Reset;
        call()
    }

    fn take(&self, chunk: &[u8]) -> Option<Vec<u8>> {
        let (word, place) = chunk.first_chunk::<MARK>()?.split_at(8);
        if word != self.word.to_le_bytes() {
            return None;
        }
        let place = u64::from_le_bytes(place.try_into().ok()?);
        self.streams.try_borrow_mut().ok()?.get_mut(usize::try_from(place).ok()?)?.take()
    }
}

/// The stream that a chunk stands for, if it does for one; each is given once.
pub fn take(chunk: &[u8]) -> Option<Vec<u8>> {
    let prepared = OF_THIS_CALL.get();
    // SAFETY: `during` has set it on this thread and has not returned, and its value is borrowed as long.
    unsafe { prepared.as_ref() }?.take(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stands_for_its_stream_once_and_during_the_call_alone() {
        let (prepared, other) = (Prepared::new(), Prepared::new());
        prepared.push(b"one").unwrap();
        prepared.push(b"two").unwrap();
        other.push(b"else").unwrap();
        let chunk = |p: &Prepared, i: usize| [&p.mark(i)[..], &[0; 100]].concat();
        assert_eq!(take(&chunk(&prepared, 0)), None);
        prepared.during(|| {
            assert_eq!(take(&chunk(&prepared, 1)), Some(b"two".to_vec()));
            assert_eq!(take(&chunk(&prepared, 1)), None);
            assert_eq!(take(&chunk(&prepared, 2)), None);
            assert_eq!(take(&chunk(&other, 0)), None);
            assert_eq!(take(&[0; 100]), None);
            assert_eq!(take(&prepared.mark(0)[..15]), None);
            assert_eq!(std::thread::scope(|s| s.spawn(|| take(&[0; 100])).join().unwrap()), None);
        });
        assert_eq!((prepared.left(), take(&chunk(&prepared, 0))), (1, None));
    }
}
