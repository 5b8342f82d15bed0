//! SVG documents, colours, charts and units shared by all of Weir's pictures.
//!
//! Lengths are in pixels; x goes to the right and y down, as in SVG.
//!
//! Design: docs/src/internals/design/house.md.
#![forbid(unsafe_code)]

pub mod chart;
pub mod meaning;
pub mod quantity;

use std::fmt::{self, Write as _};

/// Okabe and Ito's palette, which colour-blind readers can distinguish.
pub const PALETTE: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c8c00",
];

/// The palette for thin lines in pictures that follow a reader's theme: on light paper, and on dark. Colours of
/// [`PALETTE`] that are too pale or too dark for it are replaced.
pub const THEMED: [[&str; 2]; 8] = [
    ["#0072b2", "#56b4e9"],
    ["#d55e00", "#ff8c42"],
    ["#009e73", "#2fd0a0"],
    ["#cc79a7", "#e8a2cb"],
    ["#b07900", "#f0b429"],
    ["#3a9bd0", "#9ad4f5"],
    ["#333", "#ddd"],
    ["#7a7a00", "#cccc4a"],
];

/// The colours of pictures on [paper](Svg::on_paper), and their replacements in a dark theme.
const ON_DARK: [[&str; 2]; 14] = [
    [PAPER, "#181a1b"],
    ["#f4f4f4", "#26292c"],
    ["#dddddd", "#3a3e42"],
    ["#444444", "#b8bcc0"],
    ["#b00000", "#ff6b6b"],
    ["#00704a", "#2fd0a0"],
    [PALETTE[0], "#56b4e9"],
    [PALETTE[1], "#ff8c42"],
    [PALETTE[2], "#2fd0a0"],
    [PALETTE[3], "#e8a2cb"],
    [PALETTE[4], "#f0b429"],
    [PALETTE[5], "#9ad4f5"],
    [PALETTE[6], "#e6e6e6"],
    [PALETTE[7], "#cccc4a"],
];
const PAPER: &str = "#ffffff";
const INK_ON_DARK: &str = "#e6e6e6";

/// The colour of a curve, by its index.
pub const fn colour(index: usize) -> &'static str {
    PALETTE[index % PALETTE.len()]
}

/// Escapes text between tags.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The least of `steps` times a power of ten that is not below `value`; 1 if `value` is not above zero. `steps` ascend
/// from 1 to 10. An excess of less than a millionth over a candidate is rounding, and ignored.
pub fn round_up(value: f64, steps: &[f64]) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let mut candidates = steps.iter().map(|step| step * power);
    let fits = candidates.find(|candidate| *candidate >= value * 0.999_999);
    fits.unwrap_or(10.0 * power)
}

/// A point of a line, to a tenth of a pixel.
pub fn point((x, y): (f64, f64)) -> String {
    format!("{x:.1},{y:.1}")
}

/// A document under construction. Elements without a method here are written with [`write!`], which cannot fail.
#[derive(Debug)]
pub struct Svg {
    out: String,
}

impl Svg {
    /// Creates a document without a background.
    pub fn new([width, height]: [f64; 2], font_size: u32) -> Self {
        Self {
            out: format!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="{font_size}">
"#
            ),
        }
    }

    /// Creates a document with its own paper: white, or dark if the reader's theme is. Viewers without style sheets
    /// show it white.
    pub fn on_paper(size: [f64; 2], font_size: u32) -> Self {
        let mut svg = Self::new(size, font_size);
        // Style sheets take precedence over attributes.
        let _ = write!(
            svg,
            "<style>@media (prefers-color-scheme: dark) {{ text {{ fill: {INK_ON_DARK} }}"
        );
        for [light, dark] in ON_DARK {
            let _ = write!(
                svg,
                " [fill=\"{light}\"] {{ fill: {dark} }} [stroke=\"{light}\"] {{ stroke: {dark} }}"
            );
        }
        let _ = writeln!(
            svg,
            " }}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"{PAPER}\"/>"
        );
        svg
    }

    /// Text with its own size, centred at `x`.
    pub fn title(&mut self, [x, y]: [f64; 2], font_size: u32, text: &str) {
        let text = escaped(text);
        let _ = writeln!(
            self,
            r#"<text x="{x}" y="{y}" font-size="{font_size}" text-anchor="middle">{text}</text>"#
        );
    }

    /// A line through `points`, each from [`point`]. `attributes` are inserted unchanged, each with a leading space.
    pub fn polyline(&mut self, colour: &str, width: f64, attributes: &str, points: &[String]) {
        let points = points.join(" ");
        let _ = writeln!(
            self,
            r#"<polyline fill="none" stroke="{colour}" stroke-width="{width}"{attributes} points="{points}"/>"#
        );
    }

    /// A name preceded by the stroke of its curve.
    pub fn legend(&mut self, [x, y]: [f64; 2], colour: &str, name: &str) {
        let (name, middle) = (escaped(name), y - 4.0);
        let _ = writeln!(
            self,
            r#"<line x1="{x}" x2="{}" y1="{middle}" y2="{middle}" stroke="{colour}" stroke-width="3"/><text x="{}" y="{y}">{name}</text>"#,
            x + 14.0,
            x + 18.0
        );
    }

    /// Appends the elements of another document.
    pub fn push(&mut self, other: &Self) {
        let elements = other
            .out
            .split_once('\n')
            .map_or("", |(_, elements)| elements);
        self.out.push_str(elements);
    }

    /// The complete document.
    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}

impl fmt::Write for Svg {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.out.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn colours_by_meaning_are_those_of_pictures() {
        for meaning in meaning::MEANINGS {
            let pair = [meaning.light, meaning.dark];
            assert!(
                ON_DARK.contains(&pair) || THEMED.contains(&pair),
                "{}",
                meaning.name
            );
        }
    }

    #[test]
    fn a_document_has_its_elements_in_order_and_its_text_escaped() {
        let mut svg = Svg::on_paper([20.0, 10.5], 12);
        svg.title([10.0, 5.0], 14, "a < b & c");
        svg.polyline(colour(9), 1.3, "", &[(0.01, 1.04), (2.0, 3.0)].map(point));
        svg.legend([1.0, 9.0], "#123456", "x>y");
        let document = svg.finish();
        let style = document.lines().nth(1).unwrap().to_owned();
        assert!(style.contains(r##"[stroke="#d55e00"] { stroke: #ff8c42 }"##));
        let lines = [
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10.5" width="20" height="10.5" font-family="sans-serif" font-size="12">"#,
            &style,
            r##"<rect width="100%" height="100%" fill="#ffffff"/>"##,
            r#"<text x="10" y="5" font-size="14" text-anchor="middle">a &lt; b &amp; c</text>"#,
            r##"<polyline fill="none" stroke="#d55e00" stroke-width="1.3" points="0.0,1.0 2.0,3.0"/>"##,
            r##"<line x1="1" x2="15" y1="5" y2="5" stroke="#123456" stroke-width="3"/><text x="19" y="9">x&gt;y</text>"##,
            "</svg>",
        ];
        assert_eq!(document, lines.join("\n") + "\n");
    }

    fn below(directory: &Path, end: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .flat_map(|path| match path.is_dir() {
                true => below(&path, end),
                false => vec![path],
            })
            .filter(|path| path.to_string_lossy().ends_with(end))
            .collect()
    }

    #[test]
    fn every_colour_of_the_book_has_one_for_dark_readers() {
        let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
        let pictures = below(&book, ".svg");
        assert!(pictures.len() > 10, "{pictures:?}");
        for path in pictures {
            let text = std::fs::read_to_string(&path).unwrap();
            for attribute in ["fill=\"#", "stroke=\"#"] {
                for after in text.split(attribute).skip(1) {
                    let colour = format!("#{}", after.split('"').next().unwrap());
                    let is_known = ON_DARK.iter().any(|[light, _]| *light == colour);
                    assert!(is_known, "{}: {colour}", path.display());
                }
            }
        }
    }

    #[test]
    fn axes_end_at_round_numbers() {
        const STEPS: [f64; 5] = [1.0, 2.0, 2.5, 5.0, 10.0];
        for (value, end) in [
            (-1.0, 1.0),
            (0.0, 1.0),
            (98.4, 100.0),
            (100.000_001, 100.0),
            (101.0, 200.0),
            (0.000_37, 0.0005),
        ] {
            let rounded = round_up(value, &STEPS);
            assert!((rounded - end).abs() < 1e-9, "{value}: {rounded}");
        }
    }
}
