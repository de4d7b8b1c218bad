//! The real fields that the benches run on: `SLEEK_DATA`, else the small ones in `tests/data`.

use std::path::{Path, PathBuf};

use sleek::{DType, Dims};

/// A raw field.
#[derive(Clone)]
pub struct Field {
    /// File name.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Little-endian elements.
    pub bytes: Vec<u8>,
    /// The dimensions, as the file's name ends.
    #[allow(dead_code)] // Not every bench asks.
    pub dims: Dims,
    /// A value that does not count for the range.
    pub fill: Option<f64>,
}

/// Every `*.f32` and `*.f64` of the data directory, by name.
pub fn load() -> Vec<Field> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let dir = std::env::var_os("SLEEK_DATA").map_or(home, PathBuf::from);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&dir)
        .unwrap_or_else(|e| panic!("{}: {e}; set SLEEK_DATA to a directory of *.f32 and *.f64", dir.display()))
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|x| x == "f32" || x == "f64"))
        .collect();
    paths.sort();
    paths.iter().map(|p| field(p)).collect()
}

fn field(path: &Path) -> Field {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let dtype = name.rsplit_once('.').and_then(|(_, end)| DType::from_name(end)).unwrap_or(DType::F32);
    // The one field here with a fill value inside (land, 45 % of it).
    let fill = name.starts_with("levitus").then_some(-1e10);
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let dims = dims(&name, (bytes.len() / dtype.size()) as u64);
    Field { name, dtype, bytes, dims, fill }
}

/// The lengths at the end of a name such as `cth_pressure_64x64x128.f32`, if they make up `count`.
fn dims(name: &str, count: u64) -> Dims {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let lens: Option<Vec<u64>> = stem.rsplit('_').next().map(|d| d.split('x').map_while(|n| n.parse().ok()).collect());
    let dims = Dims::new(&lens.unwrap_or_default()).unwrap_or(Dims::line(count));
    if dims.count() == count { dims } else { Dims::line(count) }
}
