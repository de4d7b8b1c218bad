//! The buffers of a thread, which it keeps from array to array: small arrays would take longer to clear them than to
//! encode.

use std::cell::Cell;

use super::{closed_loop, decode, encode};
use crate::codec::interp::plan::Plan;
use crate::error::Result;
use crate::exec::{Isa, Level};
use crate::host::fpu;
use crate::host::memory::{Heap, Kept};
use crate::primitives::lorenzo::AXES;
use crate::simd::word::Word;

/// Buffers for words of one size.
pub enum ByWord<A, B, C, D> {
    U8(Heap<A>),
    U16(Heap<B>),
    U32(Heap<C>),
    U64(Heap<D>),
}

impl<A, B, C, D> ByWord<A, B, C, D> {
    /// Takes the buffers out.
    fn take(&mut self) -> Self {
        std::mem::replace(self, ByWord::U8(Heap::default()))
    }
}

type EncoderBuffers = ByWord<encode::Buffers<u8>, encode::Buffers<u16>, encode::Buffers<u32>, encode::Buffers<u64>>;
type DecoderBuffers = ByWord<decode::Buffers<u8>, decode::Buffers<u16>, decode::Buffers<u32>, decode::Buffers<u64>>;

/// All that the lengths of buffers, and where things lie in them, follow from.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Room {
    level: Level,
    sides: [usize; AXES],
    size: usize,
    has_lattice: bool,
    is_interpolated: bool,
}

impl Room {
    fn of(plan: &Plan, isa: Isa) -> Room {
        Room {
            level: isa.level(),
            sides: plan.grid.sides,
            size: plan.layout.dtype.size(),
            has_lattice: plan.lattice().is_some(),
            is_interpolated: closed_loop::is_for(plan),
        }
    }
}

/// What an encoding thread has.
pub struct Encoder {
    _fpu: fpu::Guard,
    room: Room,
    pub buffers: EncoderBuffers,
}

/// What a decoding thread has.
pub struct Decoder {
    _fpu: fpu::Guard,
    room: Room,
    pub buffers: DecoderBuffers,
}

thread_local! {
    static ENCODERS_USED: Cell<bool> = const { Cell::new(false) };
    static OF_ENCODER: Cell<Option<(Room, EncoderBuffers)>> = const { Cell::new(None) };
    static DECODERS_USED: Cell<bool> = const { Cell::new(false) };
    static OF_DECODER: Cell<Option<(Room, DecoderBuffers)>> = const { Cell::new(None) };
}

const ENCODERS: Kept<Option<(Room, EncoderBuffers)>> = Kept { used: &ENCODERS_USED, place: &OF_ENCODER };
const DECODERS: Kept<Option<(Room, DecoderBuffers)>> = Kept { used: &DECODERS_USED, place: &OF_DECODER };

/// Makes buffers for words of `$size` bytes.
macro_rules! for_words {
    ($size:expr, $make:ident($plan:expr)) => {
        match $size {
            1 => ByWord::U8($make($plan)?),
            2 => ByWord::U16($make($plan)?),
            4 => ByWord::U32($make($plan)?),
            _ => ByWord::U64($make($plan)?),
        }
    };
}

/// An encoder's buffers on the heap. Never inlined: the stack holds those of one word alone while they are made.
#[inline(never)]
fn of_encoder<W: Word>(plan: &Plan) -> Result<Heap<encode::Buffers<W>>> {
    Heap::new(encode::Buffers::new(plan)?)
}

/// A decoder's. Never inlined, as above.
#[inline(never)]
fn of_decoder<W: Word>(plan: &Plan) -> Result<Heap<decode::Buffers<W>>> {
    Heap::new(decode::Buffers::new(plan)?)
}

impl Encoder {
    /// For the tiles of a plan: with what the thread keeps, if it fits.
    #[inline(never)]
    pub fn new(plan: &Plan, isa: Isa) -> Result<Encoder> {
        let room = Room::of(plan, isa);
        let kept = ENCODERS.take().filter(|(kept, _)| *kept == room);
        // Those of other tiles are gone by now.
        let buffers = match kept {
            Some((_, buffers)) => buffers,
            None => for_words!(room.size, of_encoder(plan)),
        };
        Ok(Encoder { _fpu: fpu::Guard::standard(), room, buffers })
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            ENCODERS.keep(Some((self.room, self.buffers.take())));
        }
    }
}

impl Decoder {
    /// For the tiles of a plan: with what the thread keeps, if it fits.
    #[inline(never)]
    pub fn new(plan: &Plan, isa: Isa) -> Result<Decoder> {
        let room = Room::of(plan, isa);
        let kept = DECODERS.take().filter(|(kept, _)| *kept == room);
        let buffers = match kept {
            Some((_, buffers)) => buffers,
            None => for_words!(room.size, of_decoder(plan)),
        };
        Ok(Decoder { _fpu: fpu::Guard::standard(), room, buffers })
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        match &mut self.buffers {
            ByWord::U8(one) => one.forget(),
            ByWord::U16(one) => one.forget(),
            ByWord::U32(one) => one.forget(),
            ByWord::U64(one) => one.forget(),
        }
        DECODERS.keep(Some((self.room, self.buffers.take())));
    }
}
