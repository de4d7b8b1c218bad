//! Interpolation weights of a level's new nodes, from the coarse nodes around them along one axis
//! (docs/reference/codecs/interp.md §6).

/// Bits of weights.
pub const WEIGHT_BITS: u32 = 10;

/// Weights of coarse nodes −1, 0, 1 and 2 from a new one.
pub type Weights = [u32; 4];

/// Those in the middle, smooth and rough.
const EVEN: [Weights; 2] = [[0u32.wrapping_sub(64), 576, 576, 0u32.wrapping_sub(64)], [0, 512, 512, 0]];

/// Of so many nodes of an axis on a level those that are coarse.
pub fn coarse(len: usize) -> usize {
    if len.is_multiple_of(2) { len / 2 + 1 } else { len.div_ceil(2) }
}

/// Nodes of an axis on a level.
#[derive(Clone, Copy, Debug)]
pub struct Nodes {
    /// The level's length: new and coarse ones.
    pub len: usize,
    /// Coarse ones.
    pub coarse: usize,
    /// New ones.
    pub new: usize,
    /// How the first new one is made, and the last two, smooth and rough: all others are as far from each other.
    ends: [[Weights; 3]; 2],
}

impl Nodes {
    /// Of no axis.
    pub const NONE: Nodes = Nodes { len: 0, coarse: 0, new: 0, ends: [[[0; 4]; 3]; 2] };

    /// Of a level on which nodes are `stride` apart, of an axis of `n` elements; `len` of them are on it.
    pub fn new(n: usize, stride: usize, len: usize) -> Nodes {
        let coarse = coarse(len);
        let mut nodes = Nodes { len, coarse, new: len - coarse, ..Nodes::NONE };
        for (rough, ends) in nodes.ends.iter_mut().enumerate() {
            for (at, j) in [0, nodes.new.saturating_sub(2), nodes.new.saturating_sub(1)].into_iter().enumerate() {
                if j < nodes.new {
                    ends[at] = weights(n, stride, coarse, j, rough == 1);
                }
            }
        }
        nodes
    }

    /// How new node `j` is made.
    #[inline(always)]
    pub fn weights(&self, rough: bool, j: usize) -> Weights {
        let ends = &self.ends[usize::from(rough)];
        match j {
            0 => ends[0],
            _ if j + 1 == self.new => ends[2],
            _ if j + 2 == self.new => ends[1],
            _ => EVEN[usize::from(rough)],
        }
    }

    /// Of a node of the level whether it is new, and which of such it is.
    #[inline(always)]
    pub fn kind(&self, place: usize) -> (bool, usize) {
        match place {
            _ if place + 1 == self.len => (false, self.coarse - 1),
            _ => (place % 2 == 1, place / 2),
        }
    }

    /// How many are new, or coarse.
    #[inline(always)]
    pub fn count(&self, is_new: bool) -> usize {
        if is_new { self.new } else { self.coarse }
    }
}

/// How new node `j` between `coarse` ones of an axis of `n` elements is made.
fn weights(n: usize, stride: usize, coarse: usize, j: usize, rough: bool) -> Weights {
    let (left, right) = (j + 1, coarse - 1 - j);
    let (first, last) = match (left >= 2, right >= 2) {
        _ if rough => (j, j + 1),
        (true, true) => (j - 1, j + 2),
        (true, false) => (j - 1, j + 1),
        (false, true) => (j, j + 2),
        (false, false) => (j, j + 1),
    };
    let place = |j: usize| (if j + 1 == coarse { n - 1 } else { 2 * stride * j }) as i64;
    let places: [i64; 4] = std::array::from_fn(|i| place((first + i).min(last)));
    let all = lagrange(&places[..=last - first], (stride * (2 * j + 1)) as i64);
    let mut weights = [0; 4];
    for (i, weight) in all.into_iter().enumerate().take(last - first + 1) {
        weights[first + i + 1 - j] = weight as u32;
    }
    weights
}

/// Lagrange's weights at `x`, to a sum of 2^`WEIGHT_BITS`: rounded, and the heaviest takes what is left.
fn lagrange(places: &[i64], x: i64) -> [i32; 4] {
    let mut weights = [0; 4];
    for (i, place) in places.iter().enumerate() {
        let others = || places.iter().enumerate().filter(|(h, _)| *h != i).map(|(_, other)| *other);
        let (mut top, mut bottom) = (1, 1);
        others().for_each(|other| {
            top *= x - other;
            bottom *= place - other;
        });
        if bottom < 0 {
            (top, bottom) = (-top, -bottom);
        }
        weights[i] = (((top << (WEIGHT_BITS + 1)) + bottom).div_euclid(2 * bottom)) as i32;
    }
    let rest = (1 << WEIGHT_BITS) - weights.iter().sum::<i32>();
    let heaviest = (0..4).rev().max_by_key(|i| weights[*i].abs()).unwrap_or(0);
    weights[heaviest] += rest;
    weights
}

/// Weights that need no multiplication, or any.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WeightKind {
    /// Four nodes as far apart as each other.
    Even,
    /// The mean of two.
    Mean,
    /// Others.
    Any,
}

impl WeightKind {
    /// That of weights.
    pub fn of(weights: Weights) -> WeightKind {
        match weights {
            _ if weights == EVEN[0] => WeightKind::Even,
            _ if weights == EVEN[1] => WeightKind::Mean,
            _ => WeightKind::Any,
        }
    }
}
