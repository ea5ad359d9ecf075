//! A page of text, tables, images and zoomable plots in one file.
//!
//! The page loads nothing from the network. A `Content-Security-Policy` tells the browser
//! so, and everything is included, also uPlot. All strings are untrusted until they are
//! escaped, in HTML and in the JSON of the plots.

mod data;
mod escape;

use std::fmt::Write as _;

use base64::{Engine as _, prelude::BASE64_STANDARD};

use crate::{
    chart::Chart,
    page::escape::{html, json},
};

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The title.
    pub title: String,
    /// A description of the page and the program that created it.
    pub about: String,
    /// The provenance for programs: the `<meta>` element called `provenance`.
    pub provenance: String,
    /// The sections.
    pub sections: Vec<Section>,
}

/// A section of a page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The title.
    pub title: String,
    /// The content.
    pub blocks: Vec<Block>,
}

/// A block of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A sentence.
    Note(String),
    /// Preformatted text.
    Text(String),
    /// A table: the header and the rows.
    Table(Vec<String>, Vec<TableRow>),
    /// A zoomable plot. All plots have a common time axis, and only the first panel is
    /// shown.
    Plot(String, Chart),
    /// A plot as SVG, created by this crate.
    Svg(String, String),
    /// An image: its caption, media type and bytes.
    Image(String, &'static str, Vec<u8>),
}

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub struct TableRow {
    /// The cells.
    pub cells: Vec<String>,
    /// Whether it is a warning or an error.
    pub is_warning: bool,
}

const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
const UPLOT_STYLE: &str = include_str!("../vendor/uplot/uPlot.min.css");
const UPLOT: &str = include_str!("../vendor/uplot/uPlot.iife.min.js");
const UPLOT_LICENSE: &str = include_str!("../vendor/uplot/LICENSE");

/// The security policy: the page can only show its own content.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
                      script-src 'unsafe-inline'";

impl Page {
    /// Returns the page as one HTML file.
    pub fn html(&self) -> String {
        let title = html(&self.title);
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta name=\"provenance\" content=\"{}\">\n\
             <title>{title}</title>\n<style>\n{UPLOT_STYLE}\n{STYLE}</style>\n</head>\n\
             <body>\n<header><h1>{title}</h1><p>{}</p></header>\n<nav>",
            html(&self.provenance),
            html(&self.about)
        );
        for (index, section) in self.sections.iter().enumerate() {
            let _ = write!(page, "<a href=\"#s{index}\">{}</a> ", html(&section.title));
        }
        page.push_str("</nav>\n<main>\n");
        let mut plots = Vec::new();
        for (index, section) in self.sections.iter().enumerate() {
            let title = html(&section.title);
            let _ = writeln!(page, "<section id=\"s{index}\"><h2>{title}</h2>");
            section.blocks.iter().for_each(|block| block.write(&mut page, &mut plots));
            page.push_str("</section>\n");
        }
        let data = json(&format!("[{}]", plots.join(",\n")));
        let license = UPLOT_LICENSE.replace("*/", "");
        let _ = write!(
            page,
            "</main>\n<script type=\"application/json\" id=\"plots\">{data}</script>\n\
             <script>\n/* uPlot\n{license}*/\n{UPLOT}\n{SCRIPT}</script>\n</body>\n</html>\n"
        );
        page
    }
}

impl Block {
    fn write(&self, page: &mut String, plots: &mut Vec<String>) {
        let _ = match self {
            Self::Note(text) => writeln!(page, "<p>{}</p>", html(text)),
            Self::Text(text) => {
                let line = |line| format!("<span>{}\n</span>", html(line));
                let lines: String = text.lines().map(line).collect();
                writeln!(page, "<pre>{lines}</pre>")
            }
            Self::Table(head, rows) => {
                table(page, head, rows);
                Ok(())
            }
            Self::Plot(title, chart) => {
                let number = plots.len();
                plots.push(data::plot(title, chart));
                writeln!(page, "<div class=\"plot\" id=\"p{number}\"></div>")
            }
            Self::Svg(below, svg) => {
                let below = html(below);
                writeln!(page, "<figure>{svg}<figcaption>{below}</figcaption></figure>")
            }
            Self::Image(below, media, bytes) => {
                let (below, bytes) = (html(below), BASE64_STANDARD.encode(bytes));
                writeln!(
                    page,
                    "<figure><img alt=\"\" src=\"data:{media};base64,{bytes}\">\
                     <figcaption>{below}</figcaption></figure>"
                )
            }
        };
    }
}

fn table(page: &mut String, head: &[String], rows: &[TableRow]) {
    page.push_str("<div class=\"scroll\"><table><thead><tr>");
    for cell in head {
        let _ = write!(page, "<th>{}</th>", html(cell));
    }
    page.push_str("</tr></thead><tbody>\n");
    for row in rows {
        page.push_str(if row.is_warning { "<tr class=\"warning\">" } else { "<tr>" });
        for cell in &row.cells {
            let _ = write!(page, "<td>{}</td>", html(cell));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chart::{Line, Panel},
        sample::Sampler,
    };

    #[test]
    fn a_single_value_has_some_time_around_it_to_be_seen_in() {
        let mut sampler = Sampler::new(0, 10_000_000_000, 10);
        sampler.add(3_000_000_000, 2.0);
        let signal = sampler.signal();
        let line = Line { name: "x".into(), signal, is_held: false };
        let panel =
            Panel { unit: String::new(), lines: vec![line], ..Panel::default() };
        let json =
            data::plot("one", &Chart { panels: vec![panel], ..Chart::default() });
        assert!(json.contains("\"range\":[2.5,3.5]"), "{json}");
        assert!(json.contains("\"x\":[3],\"y\":[2]"), "{json}");
    }

    #[test]
    fn no_text_of_a_log_can_become_a_script() {
        let evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&";
        let mut sampler = Sampler::new(0, 100, 10);
        sampler.add(1, 2.0);
        let line = Line { name: evil.into(), signal: sampler.signal(), is_held: false };
        let panel = Panel { unit: evil.into(), lines: vec![line], ..Panel::default() };
        let chart = Chart { panels: vec![panel], ..Chart::default() };
        let row = TableRow { cells: vec![evil.into()], is_warning: true };
        let blocks = vec![
            Block::Note(evil.into()),
            Block::Text(evil.into()),
            Block::Table(vec![evil.into()], vec![row]),
            Block::Plot(evil.into(), chart),
            Block::Image(evil.into(), "image/png", vec![1]),
        ];
        let section = Section { title: evil.into(), blocks };
        let page = Page {
            title: evil.into(),
            about: evil.into(),
            provenance: evil.into(),
            sections: vec![section],
        };
        let page = page.html();
        assert_eq!(page.matches("<script").count(), 2, "our own");
        assert_eq!(page.matches("</script").count(), 2);
        assert!(!page.contains("<img src=x") && !page.contains("alert(1)</"));
        assert!(page.contains("\\u003c/script\\u003e"));
    }
}
