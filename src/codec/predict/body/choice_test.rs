//! The choice by samples beside trying every way on whole tiles.

use std::path::Path;

use super::choice::{FORCED, Way};
use crate::codec::compress;
use crate::codec::predict::format::Rule;
use crate::container::{Dims, Header, Index};
use crate::dtype::DType;
use crate::params::{Bound, Params, Profile};

/// The bytes of each tile's body, if all are predicted in one way.
fn tiles(params: &Params, data: &[u8], way: Option<Way>) -> Vec<usize> {
    FORCED.set(way);
    let stream = compress(params, data).unwrap();
    FORCED.set(None);
    let header = Header::read(&stream).unwrap();
    let index = Index::new(&header, &stream).unwrap();
    (0..header.layout.groups).flat_map(|g| index.chunks(g)).map(|chunk| chunk.body.bytes().len()).collect()
}

/// Bins, and interpolation by every rule that loses something.
fn ways() -> impl Iterator<Item = Way> {
    let rules = (0..16).map(|k| Rule { rough: k & 8 > 0, coarse: true, set: k & 7 });
    [Way::Bins].into_iter().chain(rules.map(Way::Interpolated))
}

#[test]
fn the_choice_is_near_the_best() {
    let home = std::env::var_os("SLEEK_DATA").filter(|_| std::env::var_os("SLEEK_SHORT").is_none());
    let home = home.map_or(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"), Into::into);
    let (mut all, mut fields) = ([0, 0], 0);
    for path in std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let dtype = match path.extension().and_then(|e| e.to_str()) {
            Some("f32") => DType::F32,
            Some("f64") => DType::F64,
            _ => continue,
        };
        let mut data = std::fs::read(&path).unwrap();
        let mut lens: Vec<u64> = name.rsplit('_').next().unwrap().split('x').map(|n| n.parse().unwrap()).collect();
        let row = data.len() / lens[0] as usize;
        // Of large fields the beginning is enough.
        lens[0] = lens[0].min((1 << 20) / row as u64).max(1);
        data.truncate(lens[0] as usize * row);
        let dims = Dims::new(&lens).unwrap();
        for bound in [1e-2, 1e-3, 1e-4] {
            let params = Params {
                dims,
                profile: Profile::Small,
                threads: 1,
                ..Params::new(dtype).with_bound(Bound::noa(bound))
            };
            let chosen = tiles(&params, &data, None);
            let tried: Vec<_> = ways().map(|way| tiles(&params, &data, Some(way))).collect();
            let best = (0..chosen.len()).map(|t| tried.iter().map(|sizes| sizes[t]).min().unwrap());
            let sums = [chosen.iter().sum::<usize>(), best.sum()];
            println!("{name} {bound}: {:.4}", sums[0] as f64 / sums[1] as f64);
            assert!(
                sums[0] as f64 <= 1.1 * sums[1] as f64,
                "{name} at {bound}: {} bytes, {} are possible",
                sums[0],
                sums[1]
            );
            all = [all[0] + sums[0], all[1] + sums[1]];
        }
        fields += 1;
    }
    println!("all: {:.4}", all[0] as f64 / all[1] as f64);
    assert!(fields > 3 && all[0] as f64 <= 1.02 * all[1] as f64, "{} bytes, {} are possible", all[0], all[1]);
}
