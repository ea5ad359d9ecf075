//! A page of text, tables, images and zoomable plots in one file.
//!
//! The page loads nothing from the network: a `Content-Security-Policy` forbids it, and everything
//! is included, also uPlot. All strings are untrusted until they are
//! escaped, in HTML and in the JSON of the plots. Characters that are unprintable are shown as escapes.

mod data;

use std::{collections::BTreeSet, fmt::Write as _};

use base64::{Engine as _, prelude::BASE64_STANDARD};

use crate::{
    chart::Chart,
    curves::CurvePlot,
    escape::{html, json},
    heat_map::HeatMap,
    page::data::PlotData,
};

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The title.
    pub title: String,
    /// A description of the page and the program that created it.
    pub about: String,
    /// The provenance in machine-readable form, for the `<meta>` element called `provenance`.
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
    /// Preformatted text whose long lines are wrapped.
    Text(String),
    /// Preformatted text with columns. Long lines are not wrapped, but can be scrolled.
    Columns(String),
    /// A table: the header and the rows.
    Table(Vec<String>, Vec<TableRow>),
    /// A zoomable plot. All plots have a common time axis, and only the first panel is
    /// shown.
    Plot(String, Chart),
    /// A plot of curves with its own horizontal axis.
    Curves(String, CurvePlot),
    /// A heat map with the common time axis.
    HeatMap(String, HeatMap),
    /// Names and values, in as many columns as fit on the screen.
    Facts(Vec<(String, String)>),
    /// Blocks that are shown only after a click on their title.
    Details(String, Vec<Block>),
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
    /// Links, which form an additional last cell. Links to plots and sections that are not in the
    /// page are omitted.
    pub links: Vec<PlotLink>,
}

/// A link to a plot or a section of the same page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlotLink {
    /// The title of the plot or the section.
    pub title: String,
    /// The time range in nanoseconds that the plots show after a click.
    pub time: Option<(i64, i64)>,
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
        let dark = dark_style(&self.sections);
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta name=\"provenance\" content=\"{}\">\n\
             <title>{title}</title>\n<style>\n{UPLOT_STYLE}\n{STYLE}{dark}</style>\n</head>\n\
             <body>\n<header><h1>{title}</h1><p>{}</p></header>\n<nav>",
            html(&json(&self.provenance)),
            html(&self.about)
        );
        for (index, section) in self.sections.iter().enumerate() {
            let _ = write!(page, "<a href=\"#s{index}\">{}</a> ", html(&section.title));
        }
        page.push_str("</nav>\n<main>\n");
        let plots = PlotData::new(&self.sections);
        let mut writer = BlockWriter { page, plots: &plots, plot_count: 0 };
        for (index, section) in self.sections.iter().enumerate() {
            let title = html(&section.title);
            let _ = writeln!(writer.page, "<section id=\"s{index}\"><h2>{title}</h2>");
            writer.contents(&section.blocks);
            section.blocks.iter().for_each(|block| writer.block(block));
            writer.page.push_str("</section>\n");
        }
        let mut page = writer.page;
        let data = json(&plots.json());
        let license = UPLOT_LICENSE.replace("*/", "");
        let _ = write!(
            page,
            "</main>\n<script type=\"application/json\" id=\"plots\">{data}</script>\n\
             <script>\n/* uPlot\n{license}*/\n{UPLOT}\n{SCRIPT}</script>\n</body>\n</html>\n"
        );
        page
    }
}

/// The colours of texts and axes in an SVG, and those in a dark page.
const INKS: [(&str, &str); 2] = [("#333333", "#cccccc"), ("#000000", "#e1e1e1")];

/// Returns a style that adapts the colours of the SVGs in `sections` to dark pages: lines become
/// lighter, as those of the plots do, and texts and axes become nearly white.
fn dark_style(sections: &[Section]) -> String {
    let mut colors = BTreeSet::new();
    for section in sections {
        section.blocks.iter().for_each(|block| block.add_svg_colors(&mut colors));
    }
    if colors.is_empty() {
        return String::new();
    }
    let mut style = String::from("@media (prefers-color-scheme: dark) {\n");
    for color in colors {
        let ink = INKS.iter().find(|(ink, _)| *ink == color);
        let lighter =
            ink.map_or_else(|| lighter(color), |(_, dark)| (*dark).to_owned());
        for attribute in ["fill", "stroke"] {
            let _ = writeln!(
                style,
                "  figure svg [{attribute}=\"{color}\"] {{ {attribute}: {lighter}; }}"
            );
        }
    }
    style.push_str("}\n");
    style
}

/// Returns 65 % of `color`, which is `#` and six hexadecimal digits, and 35 % white.
fn lighter(color: &str) -> String {
    let part = |start: usize| {
        let digits = color.get(start..start + 2).unwrap_or_default();
        let part = u8::from_str_radix(digits, 16).unwrap_or_default();
        (f64::from(part) * 0.65 + 255.0 * 0.35).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", part(1), part(3), part(5))
}

/// Sections with more plots than this start with links to them.
const MAX_PLOTS_WITHOUT_CONTENTS: usize = 6;

/// Writes blocks to a page.
struct BlockWriter<'p> {
    page: String,
    plots: &'p PlotData,
    /// The number of plots that were written.
    plot_count: usize,
}

impl BlockWriter<'_> {
    /// Writes links to the plots among `blocks`, if there are many.
    fn contents(&mut self, blocks: &[Block]) {
        let titles: Vec<&str> = blocks.iter().filter_map(Block::plot_title).collect();
        if titles.len() <= MAX_PLOTS_WITHOUT_CONTENTS {
            return;
        }
        self.page.push_str("<p class=\"contents\">");
        for (index, title) in (self.plot_count..).zip(titles) {
            let _ = write!(self.page, "<a href=\"#p{index}\">{}</a> ", html(title));
        }
        self.page.push_str("</p>\n");
    }

    fn block(&mut self, block: &Block) {
        if block.plot_title().is_some() {
            let index = self.plot_count;
            self.plot_count += 1;
            let _ = writeln!(self.page, "<div class=\"plot\" id=\"p{index}\"></div>");
            return;
        }
        let page = &mut self.page;
        let _ = match block {
            Block::Plot(..) | Block::Curves(..) | Block::HeatMap(..) => Ok(()),
            Block::Note(text) => writeln!(page, "<p>{}</p>", html(text)),
            Block::Text(text) => {
                let line = |line| format!("<span>{}\n</span>", html(line));
                let lines: String = text.lines().map(line).collect();
                writeln!(page, "<pre>{lines}</pre>")
            }
            Block::Columns(text) => {
                writeln!(page, "<pre class=\"columns\">{}</pre>", html(text))
            }
            Block::Table(head, rows) => {
                table(page, head, rows, self.plots);
                Ok(())
            }
            Block::Facts(facts) => {
                let fact = |(name, value): &(String, String)| {
                    let (name, value) = (html(name), html(value));
                    format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n")
                };
                let facts: String = facts.iter().map(fact).collect();
                writeln!(page, "<dl class=\"facts\">{facts}</dl>")
            }
            Block::Details(title, blocks) => {
                let title = html(title);
                let _ = writeln!(page, "<details><summary>{title}</summary>");
                blocks.iter().for_each(|block| self.block(block));
                writeln!(self.page, "</details>")
            }
            Block::Svg(caption, svg) => {
                let caption = html(caption);
                writeln!(
                    page,
                    "<figure>{svg}<figcaption>{caption}</figcaption></figure>"
                )
            }
            Block::Image(caption, media, bytes) => {
                let (caption, bytes) = (html(caption), BASE64_STANDARD.encode(bytes));
                writeln!(
                    page,
                    "<figure><img alt=\"\" src=\"data:{media};base64,{bytes}\">\
                     <figcaption>{caption}</figcaption></figure>"
                )
            }
        };
    }
}

impl Block {
    /// Adds the colours of SVGs to `colors`, each as `#` and six hexadecimal digits.
    fn add_svg_colors<'b>(&'b self, colors: &mut BTreeSet<&'b str>) {
        match self {
            Self::Svg(_, svg) => {
                for attribute in svg.split("=\"").skip(1) {
                    let value = attribute.split('"').next().unwrap_or_default();
                    let is_color = value.len() == 7
                        && value.strip_prefix('#').is_some_and(|digits| {
                            digits.bytes().all(|digit| digit.is_ascii_hexdigit())
                        });
                    if is_color {
                        colors.insert(value);
                    }
                }
            }
            Self::Details(_, blocks) => {
                blocks.iter().for_each(|block| block.add_svg_colors(colors));
            }
            _ => {}
        }
    }

    /// Returns the title of a plot that the script of the page draws.
    fn plot_title(&self) -> Option<&str> {
        match self {
            Self::Plot(title, _) | Self::Curves(title, _) | Self::HeatMap(title, _) => {
                Some(title)
            }
            _ => None,
        }
    }
}

fn table(page: &mut String, header: &[String], rows: &[TableRow], plots: &PlotData) {
    // On narrow screens, the cells of rows with long texts and links are stacked.
    let has_links = rows.iter().any(|row| !row.links.is_empty());
    let class = if has_links { " class=\"cards\"" } else { "" };
    let _ = write!(page, "<div class=\"scroll\"><table{class}><thead><tr>");
    for cell in header {
        let _ = write!(page, "<th>{}</th>", html(cell));
    }
    page.push_str("</tr></thead><tbody>\n");
    for row in rows {
        page.push_str(if row.is_warning { "<tr class=\"warning\">" } else { "<tr>" });
        for cell in &row.cells {
            let _ = write!(page, "<td>{}</td>", html(cell));
        }
        if !row.links.is_empty() {
            let links: String =
                row.links.iter().filter_map(|link| plots.link(link)).collect();
            let _ = write!(page, "<td>{links}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chart::{Line, Mark, Panel},
        curves::{Curve, CurveMark},
        sample::Sampler,
    };

    #[test]
    fn a_single_value_has_some_time_around_it_to_be_seen_in() {
        let mut sampler = Sampler::new(0, 10_000_000_000, 10);
        sampler.add(3_000_000_000, 2.0);
        let signal = sampler.signal();
        let line = Line { name: "x".into(), signal, ..Line::default() };
        let panel =
            Panel { unit: String::new(), lines: vec![line], ..Panel::default() };
        let chart = Chart { panels: vec![panel], ..Chart::default() };
        let blocks = vec![Block::Plot("one".into(), chart)];
        let json = PlotData::new(&[Section { title: String::new(), blocks }]).json();
        assert!(json.contains("\"range\":[2.5,3.5]"), "{json}");
        assert!(json.contains("\"x\":[3],\"y\":[2]"), "{json}");
    }

    #[test]
    fn range_shorter_than_the_resolution_is_widened() {
        let mut sampler = Sampler::new(0, 10_000_000_000, 10);
        sampler.add(3_000_000_000, 2.0);
        sampler.add(3_000_000_018, 4.0);
        let signal = sampler.signal();
        let line = Line { name: "x".into(), signal, ..Line::default() };
        let panel = Panel { lines: vec![line], ..Panel::default() };
        let chart = Chart { panels: vec![panel], ..Chart::default() };
        let blocks = vec![Block::Plot("one".into(), chart)];
        let json = PlotData::new(&[Section { title: String::new(), blocks }]).json();
        assert!(json.contains("\"range\":[2.5,3.5]"), "{json}");
    }

    #[test]
    fn svg_colors_follow_a_dark_scheme() {
        let svg = "<svg><path stroke=\"#0072B2\" fill=\"none\"/>\
                   <text fill=\"#333333\">#ABCDEF</text></svg>";
        let nested = vec![Block::Svg(String::new(), svg.into())];
        let blocks = vec![Block::Details(String::new(), nested)];
        let page = Page {
            sections: vec![Section { blocks, ..Section::default() }],
            ..Page::default()
        };
        let html = page.html();
        // 65 % of 0, 114 and 178, and 35 % of 255: 89, 163 and 205.
        assert!(html.contains("figure svg [stroke=\"#0072B2\"] { stroke: #59a3cd; }"));
        assert!(html.contains("figure svg [fill=\"#333333\"] { fill: #cccccc; }"));
        assert!(!html.contains("[fill=\"#ABCDEF\"]"));
        assert!(!Page::default().html().contains("figure svg [fill"));
    }

    #[test]
    fn no_text_of_a_log_can_become_a_script() {
        let evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&";
        let mut sampler = Sampler::new(0, 100, 10);
        sampler.add(1, 2.0);
        let line =
            Line { name: evil.into(), signal: sampler.signal(), ..Line::default() };
        let panel = Panel { unit: evil.into(), lines: vec![line], ..Panel::default() };
        let mark = Mark {
            kind: evil.into(),
            text: evil.into(),
            start: 0,
            end: 0,
            color: [0; 3],
        };
        let chart =
            Chart { panels: vec![panel], marks: vec![mark], ..Chart::default() };
        let link = |title: &str| PlotLink { title: title.into(), time: Some((0, 1)) };
        let links = vec![link(evil), link("elsewhere")];
        let row = TableRow { cells: vec![evil.into()], is_warning: true, links };

        let curves = CurvePlot {
            name: evil.into(),
            unit: evil.into(),
            curves: vec![Curve { name: evil.into(), values: vec![1.0] }],
            marks: vec![CurveMark { name: evil.into(), position: 0.0 }],
            ..CurvePlot::default()
        };
        let heat = HeatMap {
            unit: evil.into(),
            times: vec![0],
            columns: vec![vec![1.0]],
            ..HeatMap::default()
        };
        let blocks = vec![
            Block::Note(evil.into()),
            Block::Text(evil.into()),
            Block::Columns(evil.into()),
            Block::Table(vec![evil.into()], vec![row]),
            Block::Plot(evil.into(), chart),
            Block::Curves(evil.into(), curves),
            Block::HeatMap(evil.into(), heat),
            Block::Facts(vec![(evil.into(), evil.into())]),
            Block::Details(evil.into(), vec![Block::Note(evil.into())]),
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
        // The link to the plot of this title, but none to a plot that the page does not have.
        assert_eq!(page.matches("<a href=\"#p0\" data-start=\"0\"").count(), 1);
        assert!(!page.contains("elsewhere"));
    }
}
