//! The manual page of the configuration, weir-switchd.toml(5), converted from the book's page.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use roff::{bold, roman, Inline, Roff};

/// Line that man-pages(7) requires and the book's page lacks.
const NAME: &str = "weir-switchd.toml - configuration of weir-switchd";
const FILES: [(&str, &str); 1] = [(
    "/etc/weir/switchd.toml",
    "What weir-switchd reads where no other file is named.",
)];
const SEE_ALSO: &str = "weir-switchd(8), switchctl(1)";

/// Converts a page of the book into a manual page.
pub fn page(markdown: &str) -> String {
    let mut page = Page::default();
    let version = format!("Weir {}", super::VERSION);
    page.roff
        .control("TH", ["weir-switchd.toml", "5", "", &version, "Weir"])
        .control("SH", ["NAME"])
        .text([roman(NAME)])
        .control("SH", ["DESCRIPTION"]);
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.take(event);
    }
    page.roff.control("SH", ["FILES"]);
    for (path, text) in FILES {
        page.roff
            .control("TP", [])
            .text([bold(path)])
            .text([roman(text)]);
    }
    page.roff
        .control("SH", ["SEE ALSO"])
        .text([roman(SEE_ALSO)]);
    page.roff.render()
}

#[derive(Default)]
struct Page {
    roff: Roff,
    /// Text of the current paragraph, heading or cell.
    text: Vec<Inline>,
    /// Current styles of the text, strong or emphasised, the innermost last.
    styles: Vec<fn(String) -> Inline>,
    is_code: bool,
    /// True in an item of a list, whose paragraph follows the bullet.
    is_item: bool,
    head: Vec<String>,
    cells: Vec<Vec<Inline>>,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => {
                for line in text.lines() {
                    self.roff.text([roman(line)]);
                }
            }
            Event::Text(text) => {
                let style = self.styles.last().copied().unwrap_or(Inline::Roman);
                self.text.push(style(text.into_string()));
            }
            Event::Code(text) => self.text.push(bold(text.into_string())),
            Event::SoftBreak | Event::HardBreak => self.text.push(roman(" ")),
            _ => {}
        }
    }

    fn begin(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph if !self.is_item => _ = self.roff.control("PP", []),
            Tag::Item => {
                self.roff.control("IP", ["\u{2022}", "2"]);
                self.is_item = true;
            }
            Tag::CodeBlock(_) => {
                self.is_code = true;
                self.roff
                    .control("PP", [])
                    .control("RS", ["4"])
                    .control("nf", []);
            }
            Tag::Strong => self.styles.push(Inline::Bold),
            Tag::Emphasis => self.styles.push(Inline::Italic),
            Tag::Table(_) => self.head.clear(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.write(),
            TagEnd::Item => {
                self.write();
                self.is_item = false;
            }
            TagEnd::Heading(level) => {
                let heading = plain(&std::mem::take(&mut self.text));
                match level {
                    // The page's name contains its title.
                    HeadingLevel::H1 => {}
                    HeadingLevel::H2 => _ = self.roff.control("SH", [heading.as_str()]),
                    _ => _ = self.roff.control("SS", [heading.as_str()]),
                }
            }
            TagEnd::CodeBlock => {
                self.is_code = false;
                self.roff.control("fi", []).control("RE", []);
            }
            TagEnd::Strong | TagEnd::Emphasis => _ = self.styles.pop(),
            TagEnd::TableCell => self.cells.push(std::mem::take(&mut self.text)),
            TagEnd::TableHead => {
                self.head = self.cells.drain(..).map(|cell| plain(&cell)).collect()
            }
            TagEnd::TableRow => self.row(),
            _ => {}
        }
    }

    fn write(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.roff.text(text);
        }
    }

    /// Writes a row of a table: the name from its first cell, the middle cells in parentheses, and the last cell below.
    fn row(&mut self) {
        let mut cells = std::mem::take(&mut self.cells).into_iter();
        let mut tag = vec![bold(plain(&cells.next().unwrap_or_default()))];
        let text = cells.next_back().unwrap_or_default();
        let mut between = " (";
        for (head, cell) in self
            .head
            .iter()
            .skip(1)
            .zip(cells)
            .filter(|(_, cell)| !cell.is_empty())
        {
            tag.push(roman(format!("{between}{head}: ")));
            tag.extend(cell);
            between = "; ";
        }
        if between == "; " {
            tag.push(roman(")"));
        }
        self.roff.control("TP", []).text(tag).text(text);
    }
}

/// Returns the text without styles.
fn plain(text: &[Inline]) -> String {
    let part = |inline: &Inline| match inline {
        Inline::Roman(text) | Inline::Italic(text) | Inline::Bold(text) => text.clone(),
        Inline::LineBreak => " ".to_owned(),
    };
    text.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_list_of_keys() {
        let page = page(
            "# Title\n\nIntroduction, with [a link](x.md).\n\n## `[log]`\n\n| key | default | meaning |\n|---|---|---|\n| `level` | `\"info\"` | How **much**. |\n\n```toml\n.dot = 1\n```\n",
        );
        assert!(
            page.contains(".PP\nIntroduction, with a link.\n.SH [log]\n"),
            "{page}"
        );
        assert!(
            page.contains("\\fBlevel\\fR (default: \\fB\"info\"\\fR)\nHow \\fBmuch\\fR."),
            "{page}"
        );
        assert!(page.contains(".nf\n\\&.dot = 1\n.fi"), "{page}");
        assert!(!page.contains("Title"), "{page}");
    }
}
