//! Planes of missing values: any bytes are refused or tell of masks that are written back as they were; any masks come
//! back.

use super::Input;
use sleek::exec::Isa;
use sleek::missing::plane::{Mask, block_elements, max_plane_bytes, read_plane, write_plane};

/// Elements of a chunk, as runs and tiles have them.
const CAPACITIES: [usize; 8] = [256, 1024, 2048, 4096, 8192, 16384, 1, 60];

fn written(masks: &[Mask], capacity: usize, inner: u8, unit: usize) -> Vec<u8> {
    let mut out = vec![0xa5; max_plane_bytes(capacity, masks.len())];
    let bytes = write_plane(Isa::best(), masks, block_elements(capacity), unit, &mut masks[0].clone(), &mut out);
    out[0] |= inner << 6;
    out.truncate(bytes);
    out
}

/// Runs the target.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let [choice, values] = input.bytes();
    let capacity = CAPACITIES[usize::from(choice % 8)];
    let unit = if choice & 8 == 0 { 16 } else { 4 };
    let values = 1 + usize::from(values % 4);
    let none = vec![vec![0u64; capacity.div_ceil(64)]; values];

    let mut masks = none.clone();
    if let Ok(plane) = read_plane(Isa::best(), input.0, capacity, unit, &mut masks) {
        assert!(plane.bytes < input.0.len() && plane.bytes % unit == 0);
        assert!(
            written(&masks, capacity, plane.inner, unit) == input.0[..plane.bytes],
            "a plane can be told otherwise"
        );
    }

    // The same bytes as runs of elements that have a value or none.
    let mut masks = none.clone();
    let mut at = 0;
    while at < capacity && !input.0.is_empty() {
        let [value, run] = input.bytes();
        let end = capacity.min(at + 1 + usize::from(run) * usize::from(1 + value / 16));
        if let Some(mask) = masks.get_mut(usize::from(value % 8)) {
            (at..end).for_each(|i| mask[i / 64] |= 1 << (i % 64));
        }
        at = end;
    }
    if masks != none {
        let mut plane = written(&masks, capacity, 2, unit);
        let bytes = plane.len();
        // A body follows.
        plane.push(0);
        let mut back = none;
        let read = read_plane(Isa::best(), &plane, capacity, unit, &mut back).unwrap();
        assert!((read.bytes, read.inner) == (bytes, 2) && back == masks);
    }
}
