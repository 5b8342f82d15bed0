//! Parses JSON as text editors leave it: with a byte order mark, or with duplicate names in an object.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::notes::{Kind, Report};

const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF_16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// Parses a file's bytes. The last of several equal names in an object counts, as in SONiC, with a note.
///
/// # Errors
///
/// A message if the bytes are not JSON.
pub fn parse(bytes: &[u8], report: &Report) -> Result<Value, String> {
    if UTF_16_MARKS.iter().any(|mark| bytes.starts_with(mark)) {
        return Err("is UTF-16; save it as UTF-8".to_owned());
    }
    let bytes = bytes.strip_prefix(UTF_8_MARK).unwrap_or(bytes);
    let value = serde_json::from_slice(bytes).map_err(|error| format!("is not JSON: {error}"))?;
    let repeated = RefCell::default();
    let object = Object {
        path: String::new(),
        depth: 0,
        repeated: &repeated,
    };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    if object.deserialize(&mut deserializer).is_ok() {
        for path in repeated.borrow().iter() {
            let message = "appears several times; only the last one is used, as in SONiC";
            report.note(Kind::Changed, path.as_str(), message);
        }
    }
    Ok(value)
}

/// Collects duplicate names in an object and in objects within it.
struct Object<'a> {
    /// `TABLE|key`.
    path: String,
    depth: usize,
    repeated: &'a RefCell<BTreeSet<String>>,
}

impl Object<'_> {
    fn path_of(&self, name: &str) -> String {
        match self.depth {
            0 => name.to_owned(),
            1 => format!("{}|{name}", self.path),
            _ => format!("{}.{name}", self.path),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let path = self.path_of(&name);
            if !names.insert(name) {
                self.repeated.borrow_mut().insert(path.clone());
            }
            map.next_value_seed(Object {
                path,
                depth: self.depth + 1,
                repeated: self.repeated,
            })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}
