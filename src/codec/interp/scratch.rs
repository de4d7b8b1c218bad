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
use crate::error::{Result, fail};
use crate::exec::Isa;
use crate::host::fpu;
use crate::host::memory::{Heap, Kept};
use crate::primitives::lorenzo::AXES;
use crate::primitives::quantize::{BF16, F16, F32, F64, Int};
use crate::simd::by_level;
use crate::simd::word::Word;

/// The coder of the tiles of one stream.
#[derive(Clone, Copy)]
pub struct Tiles<'a> {
    pub plan: &'a Plan,
    pub choice: Choice,
    /// Tiles are tried, not encoded.
    pub trials: Option<&'a Mutex<Vec<Trial>>>,
    pub isa: Isa,
}

impl<'a> Tiles<'a> {
    /// Those of a plan, by the best instructions there are.
    pub fn of(plan: &'a Plan) -> Tiles<'a> {
        Tiles { plan, choice: Choice::default(), trials: None, isa: Isa::best() }
    }
}

/// An encoder of tiles of one type.
pub trait EncodeTile {
    fn encode(&mut self, tiles: &Tiles, tile: Tile, out: &mut [u8]) -> (Kind, usize);
    fn attempt(&mut self, tiles: &Tiles, tile: Tile) -> Option<Trial>;
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
    fn encode(&mut self, tiles: &Tiles, tile: Tile, out: &mut [u8]) -> (Kind, usize) {
        by_level!(tiles.isa, p => self[0].encode(p, tiles.plan, &tiles.choice, tile, out))
    }

    fn attempt(&mut self, tiles: &Tiles, tile: Tile) -> Option<Trial> {
        by_level!(tiles.isa, p => self[0].attempt(p, tiles.plan, tile))
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

/// What a thread codes tiles with.
pub struct Coder<T: ?Sized + 'static> {
    _fpu: fpu::Guard,
    of_type: Option<(Room, Box<T>)>,
    kept: &'static Kept<Option<(Room, Box<T>)>>,
}

/// What an encoding thread has.
pub type Encoder = Coder<dyn EncodeTile>;
/// What a decoding thread has.
pub type Decoder = Coder<dyn DecodeTile>;

thread_local! {
    static ENCODERS_USED: Cell<bool> = const { Cell::new(false) };
    static OF_ENCODER: Cell<Option<(Room, Box<dyn EncodeTile>)>> = const { Cell::new(None) };
    static DECODERS_USED: Cell<bool> = const { Cell::new(false) };
    static OF_DECODER: Cell<Option<(Room, Box<dyn DecodeTile>)>> = const { Cell::new(None) };
}

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

/// An encoder for the tiles of a plan: what the thread keeps, if it fits.
pub fn encoder(plan: &Plan) -> Result<Encoder> {
    static KEPT: Kept<Option<(Room, Box<dyn EncodeTile>)>> = Kept { used: &ENCODERS_USED, place: &OF_ENCODER };
    Coder::of(plan, &KEPT, || Ok(for_type!(encoder_of(plan))))
}

/// A decoder, as above.
pub fn decoder(plan: &Plan) -> Result<Decoder> {
    static KEPT: Kept<Option<(Room, Box<dyn DecodeTile>)>> = Kept { used: &DECODERS_USED, place: &OF_DECODER };
    let mut decoder = Coder::of(plan, &KEPT, || Ok(for_type!(decoder_of(plan))))?;
    decoder.get()?.begin();
    Ok(decoder)
}

impl<T: ?Sized> Coder<T> {
    /// What the thread keeps for tiles such as those of a plan, or what is made for them.
    #[inline(never)]
    fn of(
        plan: &Plan,
        kept: &'static Kept<Option<(Room, Box<T>)>>,
        make: impl FnOnce() -> Result<Box<T>>,
    ) -> Result<Coder<T>> {
        let room = (plan.layout.dtype, plan.grid.sides);
        // Those of other tiles are gone before the new one is made.
        let of_type = match kept.take().filter(|(of, _)| *of == room) {
            Some(known) => known,
            None => (room, make()?),
        };
        Ok(Coder { _fpu: fpu::Guard::standard(), of_type: Some(of_type), kept })
    }

    /// The coder of the type.
    pub fn get(&mut self) -> Result<&mut T> {
        match &mut self.of_type {
            Some((_, of_type)) => Ok(of_type),
            None => fail!(Internal, "a coder that was given back"),
        }
    }
}

impl Encoder {
    /// Whether an element of the tile came back as the number next to a missing value.
    pub fn came_beside(&self) -> bool {
        self.of_type.as_ref().is_some_and(|(_, it)| it.came_beside())
    }
}

impl<T: ?Sized> Drop for Coder<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.kept.keep(self.of_type.take());
        }
    }
}
