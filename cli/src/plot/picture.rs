//! Shapes that a plot is made of, and how SVG says them.

use std::fmt::Write as _;

use sleek::printable::printable;

use super::page;

/// A place: to the right and down, in the units of SVG.
pub type Point = (f64, f64);

/// Red, green and blue, as in 0xrrggbb.
pub type Colour = u32;

/// Which part of a text lies at its place.
#[derive(Clone, Copy, PartialEq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Height of letters.
#[derive(Clone, Copy, PartialEq)]
pub enum Size {
    Normal,
    Title,
}

#[derive(Clone, Copy)]
pub struct Style {
    pub colour: Colour,
    pub bold: bool,
    pub size: Size,
}

impl Style {
    pub fn new(colour: Colour) -> Style {
        Style { colour, bold: false, size: Size::Normal }
    }

    pub fn bold(colour: Colour) -> Style {
        Style { bold: true, ..Style::new(colour) }
    }
}

pub enum Shape {
    Area {
        from: Point,
        to: Point,
        colour: Colour,
    },
    Path {
        points: Vec<Point>,
        width: f64,
        dashed: bool,
        colour: Colour,
    },
    Disc {
        at: Point,
        radius: f64,
        colour: Colour,
    },
    Text {
        at: Point,
        anchor: Anchor,
        style: Style,
        text: String,
    },
    /// Cells of colours, row by row.
    Image {
        from: Point,
        to: Point,
        width: usize,
        height: usize,
        cells: Vec<Colour>,
    },
}

/// What was drawn, from the back to the front.
pub struct Picture {
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
}

impl Picture {
    /// A white one.
    pub fn new(width: f64, height: f64) -> Picture {
        Picture::on(0xffffff, width, height)
    }

    /// One on paper of this colour.
    pub fn on(paper: Colour, width: f64, height: f64) -> Picture {
        let mut picture = Picture { width, height, shapes: Vec::new() };
        picture.area((0.0, 0.0), (width, height), paper);
        picture
    }

    pub fn area(&mut self, from: Point, to: Point, colour: Colour) {
        self.shapes.push(Shape::Area { from, to, colour });
    }

    pub fn path(&mut self, points: Vec<Point>, width: f64, colour: Colour) {
        self.shapes.push(Shape::Path { points, width, dashed: false, colour });
    }

    pub fn line(&mut self, from: Point, to: Point, colour: Colour) {
        self.path(vec![from, to], 1.0, colour);
    }

    pub fn dashes(&mut self, from: Point, to: Point, colour: Colour) {
        self.shapes.push(Shape::Path { points: vec![from, to], width: 1.0, dashed: true, colour });
    }

    pub fn disc(&mut self, at: Point, radius: f64, colour: Colour) {
        self.shapes.push(Shape::Disc { at, radius, colour });
    }

    pub fn text(&mut self, at: Point, anchor: Anchor, style: Style, text: &str) {
        self.shapes.push(Shape::Text { at, anchor, style, text: text.to_owned() });
    }

    /// Cells of colours over an area; `cells` are the rows one after another, each of `width`.
    pub fn image(&mut self, from: Point, to: Point, width: usize, cells: Vec<Colour>) {
        let height = cells.len() / width.max(1);
        self.shapes.push(Shape::Image { from, to, width, height, cells });
    }

    pub fn to_svg(&self) -> String {
        let (w, h) = (self.width, self.height);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
             font-family=\"sans-serif\" font-size=\"13\" stroke-linejoin=\"round\">\n"
        );
        for shape in &self.shapes {
            // Writing to a string cannot fail.
            let _ = write_shape(&mut svg, shape);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn write_shape(svg: &mut String, shape: &Shape) -> std::fmt::Result {
    match shape {
        Shape::Area { from: (x, y), to: (right, bottom), colour } => {
            let (width, height) = (right - x, bottom - y);
            let place = format!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
            writeln!(svg, "<rect {place} fill=\"#{colour:06x}\"/>")
        }
        Shape::Path { points, width, dashed, colour } => {
            let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let dashes = if *dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            let pen = format!("stroke=\"#{colour:06x}\" stroke-width=\"{width}\"{dashes}");
            writeln!(svg, "<polyline points=\"{}\" fill=\"none\" {pen}/>", places.join(" "))
        }
        Shape::Disc { at: (x, y), radius, colour } => {
            writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"#{colour:06x}\"/>")
        }
        Shape::Image { from: (x, y), to: (right, bottom), width, height, cells } => {
            let (w, h) = (right - x, bottom - y);
            let place = format!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\"");
            let address = page::image_address(*width, *height, cells);
            let how = "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\"";
            writeln!(svg, "<image {place} {how} href=\"{address}\"/>")
        }
        Shape::Text { at: (x, y), anchor, style, text } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let bold = if style.bold { " font-weight=\"bold\"" } else { "" };
            let size = if style.size == Size::Title { " font-size=\"17\"" } else { "" };
            let place = format!("x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"");
            writeln!(svg, "<text {place} fill=\"#{:06x}\"{bold}{size}>{}</text>", style.colour, escaped(text))
        }
    }
}

/// Text with the characters of XML made harmless.
pub fn escaped(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_harmless() {
        assert_eq!(escaped("a<b>&\"c"), "a&lt;b&gt;&amp;&quot;c");
        assert_eq!(escaped("a\u{1}\n"), "a\\u{1}\\n");
    }
}
