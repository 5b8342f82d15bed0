//! The committed OpenAPI document and the book's table match this source, and are complete for a client.

use std::path::{Path, PathBuf};

use serde_json::Value;
use weir_api::routes::openapi::{json, COMMITTED};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document() -> Value {
    serde_json::from_str(&json()).unwrap()
}

#[test]
fn the_committed_document_is_current() {
    let committed = std::fs::read_to_string(root().join(COMMITTED)).unwrap_or_default();
    assert!(
        committed == json(),
        "{COMMITTED} is out of date: `cargo xtask dashboards` writes it"
    );
}

/// Visits every object in `value`.
fn visit(value: &Value, seen: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            seen(object);
            object.values().for_each(|value| visit(value, seen));
        }
        Value::Array(list) => list.iter().for_each(|value| visit(value, seen)),
        _ => {}
    }
}

#[test]
fn every_reference_resolves() {
    let document = document();
    let mut count = 0;
    visit(&document, &mut |object| {
        if let Some(Value::String(reference)) = object.get("$ref") {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
            count += 1;
        }
    });
    assert!(count > 100, "{count}");
}

#[test]
fn every_description_has_its_unit_and_no_rustdoc_links() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas {
        assert!(schema["description"].is_string(), "{name}");
        let properties = schema["properties"].as_object().into_iter().flatten();
        for (member, schema) in properties {
            // A nullable field is described beside its reference.
            let described = [&schema["description"], &schema["oneOf"][0]["description"]];
            let description = described.into_iter().find_map(Value::as_str);
            let description = description.unwrap_or_else(|| panic!("{name}.{member}"));
            let has_unit = description.contains("Unit: ");
            assert!(
                has_unit || !member.ends_with("_bytes"),
                "{name}.{member}: {description}"
            );
            assert!(
                !description.contains("[`"),
                "{name}.{member}: {description}"
            );
        }
    }
}
