//! The book's table of paths and Weir's YANG module match the declared leaves. `WEIR_WRITE=1` writes both.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use weir_gnmi::models::{MODULES, WEIR};
use weir_gnmi::tree::{schema, Kind, Row, Type};

const MARK: &str = "<!-- paths: WEIR_WRITE=1 cargo test -p weir-gnmi book -->\n";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

fn check(name: &str, wanted: &str) {
    if std::env::var_os("WEIR_WRITE").is_some() {
        std::fs::write(file(name), wanted).unwrap();
        return;
    }
    let is = std::fs::read_to_string(file(name)).unwrap_or_default();
    assert!(
        is == wanted,
        "{name}: WEIR_WRITE=1 cargo test -p weir-gnmi book writes it again"
    );
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Key => "key",
        Kind::Config => "config",
        Kind::Applied => "applied",
        Kind::Event => "event",
        Kind::Counter => "counter",
    }
}

#[test]
fn the_book_has_all_paths() {
    let name = "docs/src/fleet/gnmi.md";
    let page = std::fs::read_to_string(file(name)).unwrap();
    let (before, _) = page.split_once(MARK).expect("the page has the mark");
    let mut text = format!("{before}{MARK}\n| path | kind | is |\n|---|---|---|\n");
    let mut container = "";
    for row in schema::rows() {
        if row.container != container {
            container = row.container;
            let _ = writeln!(text, "| **`{container}`** | | |");
        }
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            row.name,
            kind(row.kind),
            row.help
        );
    }
    check(name, &text);
    for module in MODULES {
        let named = format!("`{}` {}", module.name, module.version);
        assert!(text.contains(&named), "{named}");
    }
}

#[test]
fn the_module_has_all_leaves() {
    let rows: Vec<Row> = schema::rows()
        .into_iter()
        .filter(|row| row.container.starts_with("/weir/"))
        .collect();
    let mut text = format!(
        "// Made from crates/gnmi/src/tree/weir.rs: WEIR_WRITE=1 cargo test -p weir-gnmi book.\n\
         module {} {{\n  yang-version 1.1;\n  namespace \"urn:weir:switch\";\n  prefix weir;\n\n\
         \x20 organization \"Weir\";\n\
         \x20 description \"What a Weir switch shows by gNMI for which OpenConfig has no leaf.\";\n\n\
         \x20 revision 2026-11-26 {{\n    description \"Version {}.\";\n  }}\n\n",
        WEIR.name, WEIR.version
    );
    let rows: Vec<(Vec<&str>, &Row)> = rows
        .iter()
        .map(|row| (row.container.split('/').skip(1).collect(), row))
        .collect();
    write_nodes(&mut text, &rows, 0);
    text.push_str("}\n");
    check("packaging/yang/weir-switch.yang", &text);
}

/// Writes the nodes of `rows`, all of which are below the same first `depth` nodes.
fn write_nodes(text: &mut String, rows: &[(Vec<&str>, &Row)], depth: usize) {
    let indent = "  ".repeat(depth + 1);
    for same in rows.chunk_by(|one, next| one.0.get(depth) == next.0.get(depth)) {
        let Some(node) = same[0].0.get(depth) else {
            same.iter()
                .for_each(|(_, row)| write_leaf(text, row, &indent));
            continue;
        };
        let mut pieces = node.split(['[', ']']).filter(|piece| !piece.is_empty());
        let name = pieces.next().unwrap();
        let keys: Vec<&str> = pieces.collect();
        let kind = if keys.is_empty() { "container" } else { "list" };
        let _ = writeln!(text, "{indent}{kind} {name} {{");
        if depth == 0 {
            let _ = writeln!(text, "{indent}  config false;");
        }
        if !keys.is_empty() {
            let _ = writeln!(text, "{indent}  key \"{}\";", keys.join(" "));
            for key in keys {
                let _ = writeln!(
                    text,
                    "{indent}  leaf {key} {{\n{indent}    type leafref {{\n{indent}      path \"../state/{key}\";\n\
                     {indent}    }}\n{indent}  }}"
                );
            }
        }
        write_nodes(text, same, depth + 1);
        let _ = writeln!(text, "{indent}}}");
    }
}

fn write_leaf(text: &mut String, row: &Row, indent: &str) {
    let ty = match row.ty {
        Type::Text => "string",
        Type::Long => "uint64",
        Type::Short => "uint32",
        Type::Bool => "boolean",
    };
    let units = match row.help.contains("_seconds`") {
        true => format!("{indent}  units \"nanoseconds\";\n"),
        false => String::new(),
    };
    let help = row.help.replace('`', "'");
    let _ = writeln!(
        text,
        "{indent}leaf {} {{\n{indent}  type {ty};\n{units}{indent}  description \"{help}\";\n{indent}}}",
        row.name
    );
}
