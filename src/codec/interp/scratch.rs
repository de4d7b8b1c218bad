//! The coders of a thread, which it keeps from array to array: small arrays would take longer to clear their buffers
//! than to encode.

use std::cell::Cell;
use std::sync::Mutex;

use super::body::decode::{self, Body, Out};
use super::choose::{Choice, Trial};
use super::encoder::{self, Tile};
use super::lattice::Multiple;
use super::plan::Plan;
use crate::container::Kind;
use crate::dtype::DType;
use crate::error::Result;
use crate::exec::Isa;
#[cfg(target_arch = "aarch64")]
use crate::exec::Neon;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Avx2, Avx512};
use crate::host::fpu;
use crate::host::memory::{Heap, Kept};
use crate::primitives::lorenzo::AXES;
use crate::primitives::quantize::{BF16, F16, F32, F64, Int};
use crate::simd::Scalar;
use crate::simd::word::Word;

/// The coder of the tiles of one stream.
#[derive(Clone, Copy)]
pub struct Tiles<'a> {
    pub plan: &'a Plan,
    /// The same for tiles whose elements may be restored as a missing value.
    pub beside: &'a Plan,
    pub choice: Choice,
    /// Tiles are tried, not encoded.
    pub trials: Option<&'a Mutex<Vec<Trial>>>,
    pub isa: Isa,
}

/// Evaluates an expression for the token of a level.
macro_rules! by_level {
    ($isa:expr, $p:ident => $body:expr) => {{
        #[cfg(target_arch = "x86_64")]
        if let Some($p) = Avx512::of($isa) {
            return $body;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some($p) = Avx2::of($isa) {
            return $body;
        }
        #[cfg(target_arch = "aarch64")]
        if let Some($p) = Neon::of($isa) {
            return $body;
        }
        let $p = Scalar;
        $body
    }};
}

/// An encoder of tiles of one type.
pub trait EncodeTile {
    /// Begins an array.
    fn begin(&mut self, plan: &Plan);
    fn encode(&mut self, tiles: &Tiles, plan: &Plan, tile: Tile, out: &mut [u8]) -> (Kind, usize);
    fn attempt(&mut self, tiles: &Tiles, plan: &Plan, tile: Tile) -> Option<Trial>;
    fn came_beside(&self) -> bool;
}

/// A decoder of tiles of one type.
pub trait DecodeTile {
    /// Begins an array.
    fn begin(&mut self);
    fn decode(&mut self, tiles: &Tiles, body: Body, next: Option<Body>, out: Out) -> Result<()>;
    fn on_grid(&mut self, tiles: &Tiles, bodies: (Body, Option<Body>), level: u32, out: &mut [u8]) -> Result<bool>;
}

impl<E: Multiple, N: Word> EncodeTile for [encoder::Encoder<E, N>; 1] {
    fn begin(&mut self, plan: &Plan) {
        self[0].begin(plan);
    }

    fn encode(&mut self, tiles: &Tiles, plan: &Plan, tile: Tile, out: &mut [u8]) -> (Kind, usize) {
        by_level!(tiles.isa, p => self[0].encode(p, plan, &tiles.choice, tile, out))
    }

    fn attempt(&mut self, tiles: &Tiles, plan: &Plan, tile: Tile) -> Option<Trial> {
        by_level!(tiles.isa, p => self[0].attempt(p, plan, plan.layout.chunks, tile))
    }

    fn came_beside(&self) -> bool {
        self[0].came_beside
    }
}

impl<E: Multiple, N: Word> DecodeTile for [decode::Decoder<E, N>; 1] {
    fn begin(&mut self) {
        self[0].begin();
    }

    fn decode(&mut self, tiles: &Tiles, body: Body, next: Option<Body>, out: Out) -> Result<()> {
        by_level!(tiles.isa, p => self[0].decode(p, tiles.plan, body, next, out))
    }

    fn on_grid(&mut self, tiles: &Tiles, bodies: (Body, Option<Body>), level: u32, out: &mut [u8]) -> Result<bool> {
        by_level!(tiles.isa, p => self[0].on_grid(p, tiles.plan, bodies, level, out))
    }
}

/// All that the lengths of buffers, and where things lie in them, follow from.
type Room = (DType, [usize; AXES]);

fn room(plan: &Plan) -> Room {
    (plan.layout.dtype, plan.grid.sides)
}

/// What an encoding thread has.
pub struct Encoder {
    _fpu: fpu::Guard,
    room: Room,
    of_type: Option<Box<dyn EncodeTile>>,
}

/// What a decoding thread has.
pub struct Decoder {
    _fpu: fpu::Guard,
    room: Room,
    of_type: Option<Box<dyn DecodeTile>>,
}

type EncoderKept = Option<(Room, Box<dyn EncodeTile>)>;
type DecoderKept = Option<(Room, Box<dyn DecodeTile>)>;

thread_local! {
    static ENCODERS_USED: Cell<bool> = const { Cell::new(false) };
    static OF_ENCODER: Cell<EncoderKept> = const { Cell::new(None) };
    static DECODERS_USED: Cell<bool> = const { Cell::new(false) };
    static OF_DECODER: Cell<DecoderKept> = const { Cell::new(None) };
}

const ENCODERS: Kept<EncoderKept> = Kept { used: &ENCODERS_USED, place: &OF_ENCODER };
const DECODERS: Kept<DecoderKept> = Kept { used: &DECODERS_USED, place: &OF_DECODER };

/// An encoder on the heap. Never inlined: the stack holds that of one type alone while it is made.
#[inline(never)]
fn encoder_of<E: Multiple, N: Word>(plan: &Plan) -> Result<Box<[encoder::Encoder<E, N>; 1]>> {
    Heap::new(encoder::Encoder::new(plan)?)?.into_array()
}

/// A decoder. Never inlined, as above.
#[inline(never)]
fn decoder_of<E: Multiple, N: Word>(plan: &Plan) -> Result<Box<[decode::Decoder<E, N>; 1]>> {
    Heap::new(decode::Decoder::new(plan)?)?.into_array()
}

/// Makes an encoder or a decoder for elements of a type, and numbers that hold them.
macro_rules! for_type {
    ($make:ident($plan:expr)) => {
        match $plan.layout.dtype {
            DType::F32 => $make::<F32, u32>($plan)?,
            DType::F64 => $make::<F64, u64>($plan)?,
            DType::F16 => $make::<F16, u32>($plan)?,
            DType::BF16 => $make::<BF16, u32>($plan)?,
            dtype => match dtype.size() {
                1 => $make::<Int<u8>, u32>($plan)?,
                2 => $make::<Int<u16>, u32>($plan)?,
                4 => $make::<Int<u32>, u32>($plan)?,
                _ => $make::<Int<u64>, u64>($plan)?,
            },
        }
    };
}

impl Encoder {
    /// For the tiles of a plan: what the thread keeps, if it fits.
    #[inline(never)]
    pub fn new(plan: &Plan) -> Result<Encoder> {
        let room = room(plan);
        // Those of other tiles are gone before the new one is made.
        let kept = ENCODERS.take().filter(|(kept, _)| *kept == room);
        let mut of_type: Box<dyn EncodeTile> = match kept {
            Some((_, of_type)) => of_type,
            None => for_type!(encoder_of(plan)),
        };
        of_type.begin(plan);
        Ok(Encoder { _fpu: fpu::Guard::standard(), room, of_type: Some(of_type) })
    }

    /// The encoder of the type.
    pub fn of_type(&mut self) -> Option<&mut dyn EncodeTile> {
        self.of_type.as_deref_mut().map(|it| it as _)
    }

    /// Whether an element of the tile came back as the number next to a missing value.
    pub fn came_beside(&self) -> bool {
        self.of_type.as_ref().is_some_and(|it| it.came_beside())
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            ENCODERS.keep(self.of_type.take().map(|it| (self.room, it)));
        }
    }
}

impl Decoder {
    /// For the tiles of a plan: what the thread keeps, if it fits.
    #[inline(never)]
    pub fn new(plan: &Plan) -> Result<Decoder> {
        let room = room(plan);
        let kept = DECODERS.take().filter(|(kept, _)| *kept == room);
        let mut of_type: Box<dyn DecodeTile> = match kept {
            Some((_, of_type)) => of_type,
            None => for_type!(decoder_of(plan)),
        };
        of_type.begin();
        Ok(Decoder { _fpu: fpu::Guard::standard(), room, of_type: Some(of_type) })
    }

    /// The decoder of the type.
    pub fn of_type(&mut self) -> Option<&mut dyn DecodeTile> {
        self.of_type.as_deref_mut().map(|it| it as _)
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            DECODERS.keep(self.of_type.take().map(|it| (self.room, it)));
        }
    }
}
