//! Checks the API's answers against its OpenAPI document; used for every answer over the socket.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{json, Value};
use weir_api::routes::{Answer, Route, ROUTES};

/// The document, modified to refuse unnamed members.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let document: Value = serde_json::from_str(&weir_api::routes::openapi::json()).unwrap();
    let mut closed = document.clone();
    close(&mut closed, &document, false);
    closed
});

type Validators = BTreeMap<(&'static str, &'static str, u16), Arc<Validator>>;

static VALIDATORS: Mutex<Validators> = Mutex::new(BTreeMap::new());

/// Refuses unknown members of every object in `schema`. Parts of one object are closed together: they are copied to their
/// users, and stay `open` by themselves.
fn close(schema: &mut Value, document: &Value, open: bool) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(parts)) = object.get_mut("allOf") {
                for part in parts {
                    if let Some(reference) = part.get("$ref").and_then(Value::as_str) {
                        let pointer = reference.trim_start_matches('#');
                        *part = document.pointer(pointer).unwrap().clone();
                    }
                    close(part, document, true);
                }
                object.insert("unevaluatedProperties".to_owned(), false.into());
                return;
            }
            let is_plain = object.contains_key("properties") && !open;
            if is_plain && !object.contains_key("additionalProperties") {
                object.insert("additionalProperties".to_owned(), false.into());
            }
            for value in object.values_mut() {
                close(value, document, false);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|it| close(it, document, false)),
        _ => {}
    }
}

/// Returns the deviations of this answer from the document; `None` for a path that has no route.
pub fn complaints(method: &str, path: &str, status: u16, body: &Value) -> Option<Vec<String>> {
    let route = route(method, path)?;
    let validator = validator(route, status)
        .unwrap_or_else(|| panic!("{method} {path}: status {status} is not in the document"));
    let errors = validator.iter_errors(body);
    Some(errors.map(|error| error.to_string()).collect())
}

/// Panics with the deviations from the document, if any.
pub fn check(method: &str, path: &str, status: u16, body: &str) {
    let goes_on =
        |route: &Route| status == 200 && matches!(route.answer, Answer::Pcapng | Answer::Lines(_));
    if route(method, path).is_none_or(goes_on) {
        return;
    }
    let body: Value = serde_json::from_str(body).unwrap();
    let complaints = complaints(method, path, status, &body).unwrap_or_default();
    assert!(
        complaints.is_empty(),
        "{method} {path} is not as the OpenAPI document says: {complaints:#?}\n{body:#}"
    );
}

fn route(method: &str, path: &str) -> Option<&'static Route> {
    let path = path.split('?').next().unwrap_or(path);
    ROUTES
        .iter()
        .find(|route| route.method.name() == method && route.matches(path))
}

fn validator(route: &'static Route, status: u16) -> Option<Arc<Validator>> {
    let key = (route.method.name(), route.path, status);
    let mut validators = VALIDATORS.lock().unwrap();
    if let Some(validator) = validators.get(&key) {
        return Some(Arc::clone(validator));
    }
    let operation = &DOCUMENT["paths"][route.path][route.method.name().to_lowercase()];
    let answer = operation["responses"].get(status.to_string())?;
    let mut schema = answer["content"]["application/json"]["schema"].clone();
    schema["components"] = json!({ "schemas": DOCUMENT["components"]["schemas"] });
    let validator = Arc::new(jsonschema::validator_for(&schema).unwrap());
    validators.insert(key, Arc::clone(&validator));
    Some(validator)
}
