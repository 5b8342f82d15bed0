//! The book's table of drop reasons.

use weir_core::DropReason;
use weir_export::sflow::Code;

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/src/operations/sflow.md"
);
const HEAD: &str = "| reason | sFlow's code |\n|---|---|\n";

#[test]
fn the_book_has_the_code_of_every_reason() {
    let page = std::fs::read_to_string(PAGE).unwrap();
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
    let begin = page.find(HEAD).unwrap() + HEAD.len();
    let end = begin + page[begin..].find("\n\n").unwrap() + 1;
    let mut renewed = page.clone();
    renewed.replace_range(begin..end, &rows);
    if std::env::var_os("WEIR_WRITE").is_some() {
        std::fs::write(PAGE, &renewed).unwrap();
        return;
    }
    assert!(
        page == renewed,
        "WEIR_WRITE=1 cargo test -p weir-export book writes the rows again"
    );
}
