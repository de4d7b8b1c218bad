//! The shapes of a plot as PNG. Letters come from a font that is compiled in, as machines for computing often have
//! none.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster};

use super::picture::{Anchor, Colour, Picture, Point, Shape, Size, Style};

/// Pixels along a unit of the picture.
const SCALE: f64 = 2.0;
/// Lengths of a dash and of the gap after it.
const DASH: (f64, f64) = (6.0, 4.0);
/// The line that letters stand on, from the top of the font's rasters.
const BASELINE: f64 = 0.8;

/// The bytes of a PNG file.
pub fn to_png(picture: &Picture) -> Result<Vec<u8>, png::EncodingError> {
    let mut canvas = Canvas::new(picture);
    for shape in &picture.shapes {
        canvas.draw(shape);
    }
    encode(canvas.width, canvas.height, &canvas.pixels)
}

/// Pixels as the bytes of a PNG file.
pub fn encode(width: usize, height: usize, pixels: &[[u8; 3]]) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels.as_flattened())?;
    writer.finish()?;
    Ok(bytes)
}

/// Red, green and blue.
pub fn rgb(colour: Colour) -> [u8; 3] {
    let [_, rgb @ ..] = colour.to_be_bytes();
    rgb
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Canvas {
    fn new(picture: &Picture) -> Canvas {
        let (width, height) = ((picture.width * SCALE) as usize, (picture.height * SCALE) as usize);
        Canvas { width, height, pixels: vec![[255; 3]; width * height] }
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Area { from, to, colour } => self.area(scaled(*from), scaled(*to), *colour),
            Shape::Path { points, width, dashed, colour } => {
                for pair in points.windows(2) {
                    let strokes = if *dashed { dashes(pair[0], pair[1]) } else { vec![(pair[0], pair[1])] };
                    for (from, to) in strokes {
                        self.stroke(scaled(from), scaled(to), SCALE * width / 2.0, *colour);
                    }
                }
            }
            Shape::Disc { at, radius, colour } => self.stroke(scaled(*at), scaled(*at), SCALE * radius, *colour),
            Shape::Image { from, to, width, height, cells } => {
                self.image(scaled(*from), scaled(*to), (*width, *height), cells);
            }
            Shape::Text { at, anchor, style, text } => self.text(scaled(*at), *anchor, *style, text),
        }
    }

    /// Mixes a colour into a pixel that it covers so far.
    fn blend(&mut self, x: usize, y: usize, colour: Colour, coverage: f64) {
        let new = rgb(colour);
        let pixel = &mut self.pixels[y * self.width + x];
        for (old, new) in pixel.iter_mut().zip(new) {
            *old = (f64::from(*old) + (f64::from(new) - f64::from(*old)) * coverage).round() as u8;
        }
    }

    /// Pixels from `low` to `high`, as far as they are in the picture.
    fn inside(low: f64, high: f64, size: usize) -> std::ops::Range<usize> {
        low.max(0.0) as usize..(high.max(0.0).ceil() as usize).min(size)
    }

    fn area(&mut self, from: Point, to: Point, colour: Colour) {
        for y in Canvas::inside(from.1.round(), to.1.round(), self.height) {
            for x in Canvas::inside(from.0.round(), to.0.round(), self.width) {
                self.blend(x, y, colour, 1.0);
            }
        }
    }

    /// Each pixel has the colour of the cell that it lies in.
    fn image(&mut self, from: Point, to: Point, (width, height): (usize, usize), cells: &[Colour]) {
        if cells.is_empty() {
            return;
        }
        let cell = |at: usize, from: f64, to: f64, count: usize| {
            let share = (at as f64 + 0.5 - from) / (to - from);
            ((share * count as f64) as usize).min(count - 1)
        };
        for y in Canvas::inside(from.1.round(), to.1.round(), self.height) {
            let row = cell(y, from.1, to.1, height) * width;
            for x in Canvas::inside(from.0.round(), to.0.round(), self.width) {
                self.blend(x, y, cells[row + cell(x, from.0, to.0, width)], 1.0);
            }
        }
    }

    /// Everything that is not farther than `radius` from a line; a line of no length makes a disc.
    fn stroke(&mut self, from: Point, to: Point, radius: f64, colour: Colour) {
        let reach = radius + 1.0;
        for y in Canvas::inside(from.1.min(to.1) - reach, from.1.max(to.1) + reach, self.height) {
            for x in Canvas::inside(from.0.min(to.0) - reach, from.0.max(to.0) + reach, self.width) {
                let centre = (x as f64 + 0.5, y as f64 + 0.5);
                let coverage = (radius + 0.5 - distance(centre, from, to)).clamp(0.0, 1.0);
                self.blend(x, y, colour, coverage);
            }
        }
    }

    fn text(&mut self, at: Point, anchor: Anchor, style: Style, text: &str) {
        let glyphs: Vec<RasterizedChar> = text.chars().map(|c| glyph(c, style)).collect();
        let width: usize = glyphs.iter().map(RasterizedChar::width).sum();
        let before = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5 * width as f64,
            Anchor::End => width as f64,
        };
        let mut left = (at.0 - before).max(0.0) as usize;
        for glyph in &glyphs {
            let top = (at.1 - BASELINE * glyph.height() as f64).max(0.0) as usize;
            for (y, row) in (top..self.height).zip(glyph.rows()) {
                for (x, intensity) in (left..self.width).zip(row) {
                    self.blend(x, y, style.colour, f64::from(*intensity) / 255.0);
                }
            }
            left += glyph.width();
        }
    }
}

fn scaled((x, y): Point) -> Point {
    (x * SCALE, y * SCALE)
}

/// From a point to the nearest one of a line.
fn distance((x, y): Point, from: Point, to: Point) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx * dx + dy * dy;
    let share = if length > 0.0 { ((x - from.0) * dx + (y - from.1) * dy) / length } else { 0.0 };
    let share = share.clamp(0.0, 1.0);
    (x - from.0 - share * dx).hypot(y - from.1 - share * dy)
}

fn dashes(from: Point, to: Point) -> Vec<(Point, Point)> {
    let length = (to.0 - from.0).hypot(to.1 - from.1);
    let at = |way: f64| {
        let share = (way / length).min(1.0);
        (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
    };
    let starts = (0..).map(|i| f64::from(i) * (DASH.0 + DASH.1)).take_while(|way| *way < length);
    starts.map(|way| (at(way), at(way + DASH.0))).collect()
}

/// A question mark stands for what the font does not have.
fn glyph(c: char, style: Style) -> RasterizedChar {
    let weight = if style.bold { FontWeight::Bold } else { FontWeight::Regular };
    let size = if style.size == Size::Title { RasterHeight::Size32 } else { RasterHeight::Size24 };
    get_raster(c, weight, size).or_else(|| get_raster('?', weight, size)).expect("the font has ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strokes_cover_what_is_near() {
        assert_eq!(distance((3.0, 4.0), (0.0, 0.0), (0.0, 0.0)), 5.0);
        assert_eq!(distance((1.0, 2.0), (0.0, 0.0), (9.0, 0.0)), 2.0);
        assert_eq!(dashes((0.0, 0.0), (12.0, 0.0)), [((0.0, 0.0), (6.0, 0.0)), ((10.0, 0.0), (12.0, 0.0))]);
        let mut canvas = Canvas::new(&Picture::new(10.0, 10.0));
        canvas.stroke((10.0, 10.0), (10.0, 10.0), 4.0, 0x102030);
        assert_eq!(canvas.pixels[10 * canvas.width + 10], [0x10, 0x20, 0x30]);
        assert_eq!(canvas.pixels[10 * canvas.width + 15], [255; 3]);
    }
}
