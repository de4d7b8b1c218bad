//! `sleek repack --rechunk`: chunks of a shape that compresses well.

use sleek::container::Geometry;
use sleek::{Dims, Params};

use super::measure::Chunks;
use crate::hdf5::dataset::{CHUNK_BYTES, Field, good_chunk};
use crate::progress::bytes;

/// Of whole old and new chunks so many bytes are held at once, at most.
const TOGETHER_BYTES: u64 = 512 << 20;
/// Old chunks are given up for one part in so many of what they take.
const GAIN: u64 = 100;

/// Gives a dataset that is to be compressed the chunks with which it takes least; what is to be said of it. Chunks that
/// it has must be beaten by something.
pub fn rechunk(field: &mut Field, params: &Params, is_rough: bool) -> Result<Option<String>, String> {
    let old = shape(&field.chunk);
    let mut proposals = proposals(field, params);
    proposals.retain(|new| *new != field.chunk);
    if proposals.is_empty() {
        return Ok(None);
    }
    let written = field.blocks_in_chunks()?.len() as u64;
    if written < field.blocks_of_all_chunks().total() {
        return Ok(Some(format!("chunks {old} kept, some were never written")));
    }
    proposals.retain(|new| field.together(new) <= TOGETHER_BYTES);
    if proposals.is_empty() {
        let held = bytes(TOGETHER_BYTES);
        return Ok(Some(format!("chunks {old} kept, as others would need more than {held} of memory at once")));
    }
    let before = Chunks::of(field)?.rough(is_rough).estimated_bytes(params, 0)?;
    let mut best: Option<(u64, Vec<u64>)> = None;
    for new in proposals {
        field.new_chunk = Some(new.clone());
        let after = Chunks::of(field)?.rough(is_rough).estimated_bytes(params, 0)?;
        if best.as_ref().is_none_or(|(least, _)| after < *least) {
            best = Some((after, new));
        }
    }
    field.new_chunk = None;
    let Some((after, new)) = best else { return Ok(None) };
    let (shown, is_smaller) = (shape(&new), after < before - before / GAIN);
    if is_smaller || !field.is_chunked && after < before {
        field.new_chunk = Some(new);
        let was = if field.is_chunked { format!("{old} -> ") } else { String::new() };
        return Ok(Some(format!("chunks {was}{shown}")));
    }
    if !field.is_chunked {
        return Ok(Some(format!("chunks {old}")));
    }
    let [before, after] = [before, after].map(bytes);
    Ok(Some(format!("chunks {old} kept, {before}, as {shown} {after}")))
}

fn shape(lens: &[u64]) -> String {
    let lens: Vec<String> = lens.iter().map(u64::to_string).collect();
    lens.join("x")
}

/// Shapes that may do: whole rows; whole tiles of the codec; as many tiles along each dimension as can be, in equal
/// parts.
fn proposals(field: &Field, params: &Params) -> Vec<Vec<u64>> {
    let (dims, size) = (&field.dims, field.size);
    let mut shapes = vec![good_chunk(dims, size)];
    if let Some(sides) = if field.is_of_numbers() { sides(dims, params) } else { None } {
        shapes.extend([of_tiles(dims, &sides, size), in_parts(dims, &sides, size)]);
    }
    shapes.sort();
    shapes.dedup();
    shapes
}

/// The sides of the tiles in which the codec would cut the whole dataset; none if it has no tiles.
fn sides(dims: &[u64], params: &Params) -> Option<Vec<u64>> {
    let params = Params { dims: Dims::new(dims).ok()?, ..params.clone() };
    let layout = sleek::codec::layout(&params, params.dims.count()).ok()?;
    match layout.shape.geometry {
        Geometry::Tile { sides_log2 } => Some(sides_log2[..dims.len()].iter().map(|s| 1 << s).collect()),
        Geometry::Linear { .. } => None,
    }
}

/// Whole tiles, from the fastest dimension on as many as a chunk takes, in chunks as equal as tiles allow.
fn of_tiles(dims: &[u64], sides: &[u64], size: u64) -> Vec<u64> {
    let lens = || dims.iter().map(|len| (*len).max(1));
    let mut chunk: Vec<u64> = lens().zip(sides).map(|(len, side)| len.min(*side)).collect();
    for (k, len) in lens().enumerate().collect::<Vec<_>>().into_iter().rev() {
        let tiles = len.div_ceil(sides[k]);
        let bytes = chunk.iter().product::<u64>().saturating_mul(size);
        let fit = (CHUNK_BYTES / bytes.max(1)).max(1);
        let each = tiles.div_ceil(tiles.div_ceil(fit));
        chunk[k] = len.min(each * sides[k]);
        if each < tiles {
            break;
        }
    }
    chunk
}

/// Equal parts: the dimension along which a chunk has most tiles is cut until it is small enough.
fn in_parts(dims: &[u64], sides: &[u64], size: u64) -> Vec<u64> {
    let mut parts = vec![1; dims.len()];
    loop {
        let chunk: Vec<u64> = dims.iter().zip(&parts).map(|(len, n)| (*len).max(1).div_ceil(*n)).collect();
        let tiles = |k: &usize| chunk[*k] as f64 / sides[*k] as f64;
        let longest = (0..dims.len()).filter(|k| chunk[*k] > 1).max_by(|a, b| tiles(a).total_cmp(&tiles(b)));
        match longest {
            Some(k) if chunk.iter().fold(size, |n, len| n.saturating_mul(*len)) > CHUNK_BYTES => {
                // The next number of parts that makes them shorter, at least by one in 16.
                parts[k] = dims[k].div_ceil(chunk[k] - (chunk[k] / 16).max(1));
            }
            _ => return chunk,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_whole_tiles() {
        // Small ones are a chunk.
        assert_eq!(of_tiles(&[20, 90, 90], &[32, 32, 16], 4), [20, 90, 90]);
        assert_eq!(of_tiles(&[8760, 180, 360], &[32, 32, 16], 4), [32, 32, 192]);
        assert_eq!(of_tiles(&[8760, 180, 100], &[32, 32, 16], 4), [32, 64, 100]);
        assert_eq!(of_tiles(&[1 << 30], &[1 << 14], 8), [1 << 17]);
        assert_eq!(of_tiles(&[3, 1 << 20], &[1, 1 << 14], 4), [1, 1 << 18]);
        assert_eq!(of_tiles(&[0, 5], &[1, 8], 4), [1, 5]);
        assert_eq!(in_parts(&[20, 90, 90], &[32, 32, 16], 4), [20, 90, 90]);
        assert_eq!(in_parts(&[60, 90, 130], &[32, 32, 16], 4), [60, 90, 44]);
        assert_eq!(in_parts(&[0, 5], &[1, 8], 4), [1, 5]);
        assert_eq!(in_parts(&[1 << 40], &[1 << 14], 8).len(), 1);
        for dims in [[7, 1000, 1000], [1000, 1, 1000], [500, 500, 500]] {
            let sides =
                sides(&dims, &Params { profile: sleek::Profile::Small, ..Params::new(sleek::DType::F32) }).unwrap();
            let (chunk, part) = (of_tiles(&dims, &sides, 4), in_parts(&dims, &sides, 4));
            for chunk in [&chunk, &part] {
                let bytes = 4 * chunk.iter().product::<u64>();
                assert!((CHUNK_BYTES / 4..=CHUNK_BYTES).contains(&bytes), "{dims:?}: {chunk:?}");
            }
            assert!((0..3).all(|k| chunk[k] == dims[k] || chunk[k] % sides[k] == 0), "{dims:?}: {chunk:?}");
        }
    }
}
