//! What the fuzz targets share: the reference decoder and the exact judge of the tests, and a way to make parameters of bytes.

#[path = "../../tests/reference/mod.rs"]
pub mod reference;
#[path = "../../tests/vectors/mod.rs"]
pub mod vectors;

use sleek::{DType, Mode, Params, Profile};

/// Takes values off the front of the fuzzer's bytes; zeros when there are no more.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_at(N.min(self.0.len()));
        self.0 = rest;
        let mut all = [0; N];
        all[..head.len()].copy_from_slice(head);
        all
    }

    pub fn u8(&mut self) -> u8 {
        self.bytes::<1>()[0]
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// Any f64, or often one of the size that bounds have.
    pub fn f64(&mut self) -> f64 {
        match self.u8() {
            0..=63 => f64::from_bits(self.u64()),
            n => (1.0 + f64::from(self.u32() as u16)) * vectors::exact::power(i32::from(n) - 160),
        }
    }

    pub fn params(&mut self) -> Params {
        let [dtype, mode, flags, threads] = self.bytes();
        let mode = [Mode::Lossless, Mode::Abs, Mode::Noa, Mode::Rel][usize::from(mode % 4)];
        let mut params = Params::new(DType::ALL[usize::from(dtype) % DType::ALL.len()]).with_bound(mode, self.f64());
        params.profile = if flags & 1 == 0 { Profile::Adaptive } else { Profile::Fast };
        params.big_endian = flags & 2 != 0;
        params.range = (flags & 4 != 0).then(|| self.f64());
        params.fill_value = (flags & 8 != 0).then(|| self.f64());
        params.threads = u32::from(threads % 4);
        params
    }
}

/// Ours and the reference decoder take or refuse `stream` alike, and parts are parts of the whole.
pub fn check_stream(stream: &[u8]) {
    let info = sleek::inspect(stream);
    let ours = sleek::decompress(stream);
    if let Err(error) = &ours {
        assert_ne!(error.kind, sleek::Kind::Internal, "{error}");
    }
    let theirs = reference::decode(stream);
    match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => assert!(ours == theirs, "restored differently"),
        (Err(_), Err(_)) => return,
        (ours, theirs) => panic!("ours: {:?}, the reference: {:?}", ours.as_ref().err(), theirs.as_ref().err()),
    }
    let (whole, info) = (ours.unwrap(), info.expect("a stream that decodes can be inspected"));
    assert!(whole.len() < 900 * stream.len());
    let size = info.dtype.size();
    let first = info.count / 3;
    let count = (info.count - first).min(5000) as usize;
    let mut part = vec![0xA5; count * size];
    sleek::decompress_range_into(stream, first, count, &mut part).unwrap();
    assert!(part == whole[first as usize * size..][..part.len()]);
}
