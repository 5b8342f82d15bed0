//! Contents of bodies.

use std::fmt;

use utoipa::openapi::schema::Array;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::ToSchema;

/// Schemas by name.
pub(crate) type Schemas = Vec<(String, RefOr<Schema>)>;

/// JSON of one type, or a list of it.
#[derive(Clone, Copy)]
pub struct Content {
    name: fn() -> String,
    is_list: bool,
    collect: fn(&mut Schemas),
}

/// Contents of an answer.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// JSON.
    Json(Content),
    /// The JSON `null`.
    Null,
    /// A stream of pcapng.
    Pcapng,
    /// A stream of lines with JSON of one type.
    Lines(Content),
    /// The OpenAPI document.
    Document,
}

impl Content {
    /// A `T`.
    pub(super) const fn of<T: ToSchema>() -> Self {
        Self {
            name: name::<T>,
            is_list: false,
            collect: collect::<T>,
        }
    }

    /// A list of `T`.
    pub(super) const fn list_of<T: ToSchema>() -> Self {
        Self {
            is_list: true,
            ..Self::of::<T>()
        }
    }

    pub(crate) fn schema(&self) -> RefOr<Schema> {
        let reference = RefOr::Ref(Ref::from_schema_name((self.name)()));
        match self.is_list {
            true => Array::new(reference).into(),
            false => reference,
        }
    }

    /// Adds the schemas of the type and of the types that it refers to.
    pub(crate) fn collect(&self, schemas: &mut Schemas) {
        (self.collect)(schemas);
    }
}

fn name<T: ToSchema>() -> String {
    T::name().into_owned()
}

fn collect<T: ToSchema>(schemas: &mut Schemas) {
    schemas.push((name::<T>(), T::schema()));
    T::schemas(schemas);
}

/// `Status`, or `[Port]` for a list.
impl fmt::Display for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_list {
            true => write!(formatter, "[{}]", (self.name)()),
            false => formatter.write_str(&(self.name)()),
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(content) => content.fmt(formatter),
            Self::Null => formatter.write_str("null"),
            Self::Pcapng => formatter.write_str("pcapng"),
            Self::Lines(content) => write!(formatter, "lines of {content}"),
            Self::Document => formatter.write_str("OpenAPI"),
        }
    }
}
