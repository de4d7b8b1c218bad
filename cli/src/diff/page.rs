//! The page of a comparison.

use std::fmt::Write as _;

use super::draw::draw;
use super::{Args, Compared, figure_line, rows};
use crate::plot::page::{self, light_and_dark};
use crate::plot::picture::escaped;

/// A page with a picture of each field, and all figures.
pub fn page(args: &Args, all: &[Compared]) -> String {
    let title = format!("{} and {}", args.original.display(), args.restored.display());
    let mut body = format!("<h2>{}</h2>\n", escaped(&title));
    if all.len() > 1 {
        body += "<ul>\n";
        for (i, of) in all.iter().enumerate() {
            let _ =
                writeln!(body, "<li><a href=\"#f{i}\">{}</a>: {}</li>", escaped(&of.name), escaped(&figure_line(of)));
        }
        body += "</ul>\n";
    }
    for (i, of) in all.iter().enumerate() {
        let _ = writeln!(body, "<section id=\"f{i}\">");
        body += &light_and_dark(|is_dark| draw(of, is_dark));
        body += "<table>\n";
        for (label, value) in rows(of) {
            let _ = writeln!(body, "<tr><td class=\"l\">{label}</td><td class=\"l\">{}</td></tr>", escaped(&value));
        }
        body += "</table></section>\n";
    }
    page::page(&title, &body)
}
