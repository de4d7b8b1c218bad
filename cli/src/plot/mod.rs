//! What pictures are drawn with: shapes, axes, colours, and how they become SVG, PNG or a page of HTML.

pub mod axis;
pub mod colour;
pub mod page;
pub mod picture;
pub mod pixels;

use std::path::{Path, PathBuf};

use crate::io::{Model, Output};
use picture::Picture;

/// The name of a file for a picture.
pub fn file_name(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    match extension(&path) {
        Some("png" | "svg" | "html") => Ok(path),
        _ => Err("a name that ends in .png, .svg or .html is needed".into()),
    }
}

pub fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|e| e.to_str())
}

/// How a file of pictures is written.
pub struct Writing<'a> {
    pub path: &'a Path,
    pub force: bool,
    /// The file whose numbers it shows: who cannot read that cannot read this.
    pub like: Option<Model>,
}

/// Writes a picture, as PNG or SVG by the name of the file.
pub fn write(picture: &Picture, to: &Writing) -> Result<(), String> {
    let bytes = match extension(to.path) {
        Some("png") => pixels::to_png(picture).map_err(|e| format!("{}: {e}", to.path.display()))?,
        _ => picture.to_svg().into_bytes(),
    };
    write_bytes(&bytes, to)
}

/// Writes a file, whole or not at all.
pub fn write_bytes(bytes: &[u8], to: &Writing) -> Result<(), String> {
    let mut output = Output::create(to.path, to.force, to.like.as_ref())?;
    output.write(bytes)?;
    output.finish()
}

/// A number for reading.
pub fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.4e}").parse().unwrap_or(x);
    if rounded == 0.0 || (1e-3..1e6).contains(&rounded.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}
