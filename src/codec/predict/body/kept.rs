//! The buffers of a thread, which it keeps from array to array: small arrays would take longer to clear them than to
//! encode.

use std::cell::Cell;

use super::{closed_loop, decode, encode};
use crate::codec::predict::map::plan::Plan;
use crate::error::Result;
use crate::exec::{Isa, Level};
use crate::host::fpu;
use crate::host::memory::{Kept, on_heap};
use crate::primitives::lorenzo::AXES;
use crate::primitives::word::Word;

/// Buffers for words of one size: one, on the heap.
pub enum ByWord<A, B, C, D> {
    U8(Box<[A]>),
    U16(Box<[B]>),
    U32(Box<[C]>),
    U64(Box<[D]>),
}

impl<A, B, C, D> ByWord<A, B, C, D> {
    /// Takes the buffers out.
    fn take(&mut self) -> Self {
        std::mem::replace(self, ByWord::U8(Box::default()))
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
fn of_encoder<W: Word>(plan: &Plan) -> Result<Box<[encode::Buffers<W>]>> {
    on_heap(encode::Buffers::new(plan)?)
}

/// A decoder's. Never inlined, as above.
#[inline(never)]
fn of_decoder<W: Word>(plan: &Plan) -> Result<Box<[decode::Buffers<W>]>> {
    on_heap(decode::Buffers::new(plan)?)
}

impl Encoder {
    /// For the tiles of a plan: with what the thread keeps, if it fits.
    #[inline(never)]
    pub fn new(plan: &Plan, isa: Isa) -> Result<Encoder> {
        let room = Room::of(plan, isa);
        let buffers = match ENCODERS.take() {
            Some((kept, buffers)) if kept == room => buffers,
            _ => for_words!(room.size, of_encoder(plan)),
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
        let buffers = match DECODERS.take() {
            Some((kept, buffers)) if kept == room => buffers,
            _ => for_words!(room.size, of_decoder(plan)),
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
            ByWord::U8(one) => one.iter_mut().for_each(decode::Buffers::forget),
            ByWord::U16(one) => one.iter_mut().for_each(decode::Buffers::forget),
            ByWord::U32(one) => one.iter_mut().for_each(decode::Buffers::forget),
            ByWord::U64(one) => one.iter_mut().for_each(decode::Buffers::forget),
        }
        DECODERS.keep(Some((self.room, self.buffers.take())));
    }
}
