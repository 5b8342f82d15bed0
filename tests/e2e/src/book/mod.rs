//! Parses the book for its tests: pages with their code blocks, links and anchors, in mdBook's dialect.
#![allow(dead_code)] // each test file uses its own part

pub mod block;
pub mod expected;
pub mod session;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use block::Block;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// One Markdown file.
pub struct Page {
    /// Path relative to the repository.
    pub path: PathBuf,
    /// Code blocks in order.
    pub blocks: Vec<Block>,
    /// Targets of links and pictures with their lines, as written.
    pub links: Vec<(usize, String)>,
    /// Anchors for a link's `#`.
    pub anchors: Vec<String>,
}

/// Returns the repository's path.
pub fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let above = package.ancestors().nth(2);
    above.expect("tests/e2e is in it").to_owned()
}

/// Returns every page of the book and the README, sorted by path.
pub fn pages() -> Vec<Page> {
    let mut paths = vec![PathBuf::from("README.md")];
    let mut open = vec![PathBuf::from("docs/src")];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(repository().join(&directory)).unwrap() {
            let entry = entry.unwrap();
            let path = directory.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.into_iter().map(Page::read).collect()
}

impl Page {
    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(repository().join(&path)).unwrap();
        Self::parse(path, &text).unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// Parses a page.
    ///
    /// # Errors
    ///
    /// The place of an invalid code block, and the reason.
    pub fn parse(path: PathBuf, text: &str) -> Result<Self, String> {
        let mut page = Self {
            path,
            blocks: Vec::new(),
            links: Vec::new(),
            anchors: Vec::new(),
        };
        let line_of = |offset: usize| text[..offset].matches('\n').count() + 1;
        let mut taken = BTreeMap::new();
        let mut heading: Option<String> = None;
        let mut code: Option<(usize, String, String)> = None;
        let mut before = Vec::new();
        let mut comment = String::new();
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    let info = match kind {
                        CodeBlockKind::Fenced(info) => info.to_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    code = Some((line_of(range.start), info, String::new()));
                }
                Event::End(TagEnd::CodeBlock) => {
                    let (line, info, content) = code.take().expect("it began");
                    let place = format!("{}:{line}", page.path.display());
                    let block = Block::new(line, &info, content, std::mem::take(&mut before));
                    page.blocks
                        .push(block.map_err(|problem| format!("{place}: {problem}"))?);
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().expect("it began"));
                    let count = taken.entry(anchor.clone()).or_insert(0);
                    page.anchors.push(match *count {
                        0 => anchor,
                        count => format!("{anchor}-{count}"),
                    });
                    *count += 1;
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links
                        .push((line_of(range.start), dest_url.to_string()));
                }
                Event::Text(words) | Event::Code(words) => {
                    if let Some((_, _, content)) = &mut code {
                        content.push_str(&words);
                    } else if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                Event::Html(html) => {
                    let pictures = pictures(&html).map(|to| (line_of(range.start), to.to_owned()));
                    page.links.extend(pictures);
                    comment.push_str(&html);
                }
                Event::End(TagEnd::HtmlBlock) => {
                    let commands = comment.trim().strip_prefix("<!-- before: ");
                    let commands = commands.and_then(|rest| rest.strip_suffix("-->"));
                    before.extend(commands.map(|commands| commands.trim().to_owned()));
                    comment.clear();
                }
                _ => {}
            }
        }
        Ok(page)
    }
}

/// Returns the files of pictures in HTML: those for light and for dark themes.
fn pictures(html: &str) -> impl Iterator<Item = &str> {
    let attributes = ["src=\"", "srcset=\""];
    attributes.into_iter().flat_map(|attribute| {
        let values = html.split(attribute).skip(1);
        values.filter_map(|rest| Some(rest.split_once('"')?.0))
    })
}

fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.collect()
}
