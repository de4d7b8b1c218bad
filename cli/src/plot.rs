//! Pictures as SVG.

use std::error::Error;
use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;
use sleek::printable::printable;

use crate::io::{Model, Output};

/// What is drawn on.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// How drawing ends.
pub type Drawn = Result<(), Box<dyn Error>>;

/// The letters of pictures.
pub const FONT: &str = "sans-serif";

/// The name of a file for a picture.
pub fn file_name(name: &str) -> Result<PathBuf, String> {
    match name.ends_with(".svg") {
        true => Ok(name.into()),
        false => Err("a name that ends in .svg is needed".into()),
    }
}

/// Writes a picture, whole or not at all. `like` is the file that it shows: who cannot read that cannot read this.
pub fn write(
    path: &Path,
    force: bool,
    like: Option<&Model>,
    size: (u32, u32),
    draw: impl FnOnce(&Area) -> Drawn,
) -> Result<(), String> {
    write_with(path, force, like, size, "", draw)
}

/// The same with an element of SVG above what is drawn.
pub fn write_with(
    path: &Path,
    force: bool,
    like: Option<&Model>,
    size: (u32, u32),
    above: &str,
    draw: impl FnOnce(&Area) -> Drawn,
) -> Result<(), String> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    let drawn = area.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&area));
    drawn.and_then(|()| Ok(area.present()?)).map_err(|e| format!("{}: {e}", path.display()))?;
    drop(area);
    let end = svg.rfind("</svg>").unwrap_or(svg.len());
    svg.insert_str(end, above);
    let mut output = Output::create(path, force, like)?;
    output.write(svg.as_bytes())?;
    output.finish()
}

/// A line of text.
pub fn title(area: &Area, at: (i32, i32), size: u32, text: &str) -> Drawn {
    Ok(area.draw(&Text::new(printable(text).into_owned(), at, (FONT, size)))?)
}

/// A number for reading.
pub fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.4e}").parse().unwrap_or(x);
    if rounded == 0.0 || (1e-3..1e6).contains(&rounded.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}
