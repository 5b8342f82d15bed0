//! The book's tables of drop reasons and of information elements.

use weir_core::DropReason;
use weir_export::ipfix::{Element, ELEMENTS};
use weir_export::sflow::Code;

const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/operations/");

/// Compares the rows below `head` on a page; `WEIR_WRITE=1` writes them.
fn compare(page: &str, head: &str, rows: &str) {
    let path = format!("{BOOK}{page}");
    let page = std::fs::read_to_string(&path).unwrap();
    let begin = page.find(head).unwrap() + head.len();
    let end = begin + page[begin..].find("\n\n").unwrap() + 1;
    let mut renewed = page.clone();
    renewed.replace_range(begin..end, rows);
    if std::env::var_os("WEIR_WRITE").is_some() {
        std::fs::write(path, &renewed).unwrap();
        return;
    }
    assert!(
        page == renewed,
        "WEIR_WRITE=1 cargo test -p weir-export book writes the rows again"
    );
}

#[test]
fn the_book_has_the_code_of_every_reason() {
    let row = |reason: &DropReason| {
        let code = Code::of(*reason);
        format!(
            "| `{}` | {} `{}` |\n",
            reason.name(),
            code.number(),
            code.name()
        )
    };
    let rows: String = DropReason::ALL.iter().map(row).collect();
    compare("sflow.md", "| reason | sFlow's code |\n|---|---|\n", &rows);
}

#[test]
fn the_book_has_every_element() {
    let row = |element: &Element| {
        let whose = if element.is_own { "own" } else { "IANA" };
        let length = element
            .length
            .map_or("variable".to_owned(), |length| length.to_string());
        let unit = if element.unit.is_empty() {
            "–"
        } else {
            element.unit
        };
        format!(
            "| `{}` | {whose} {} | {} | {length} | {unit} | {} |\n",
            element.name, element.number, element.kind, element.meaning
        )
    };
    let rows: String = ELEMENTS.iter().map(row).collect();
    let head = "| element | number | type | bytes | semantics, unit | meaning |\n|---|---|---|---|---|---|\n";
    compare("ipfix.md", head, &rows);
}
