//! Declarations of leaves: name, kind, type, meaning and source of the value, each in one line.

use super::Leaf;

/// A value, by YANG type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `string`, or a value of an enumeration or identity.
    Text(String),
    /// `uint64`, `counter64`.
    Long(u64),
    /// `uint8` to `uint32`.
    Short(u32),
    /// `boolean`.
    Bool(bool),
}

/// The YANG type of a leaf of Weir's own module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Text.
    Text,
    /// A number of 64 bits.
    Long,
    /// A number of at most 32 bits.
    Short,
    /// True or false.
    Bool,
}

impl Type {
    /// The type of this value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Text(_) => Self::Text,
            Value::Long(_) => Self::Long,
            Value::Short(_) => Self::Short,
            Value::Bool(_) => Self::Bool,
        }
    }
}

/// Type of a leaf's data, and of its changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A list's key, both configuration and state.
    Key,
    /// Intended values: in a `config` container.
    Config,
    /// Applied configuration: in a `state` container.
    Applied,
    /// Observed values that change by events.
    Event,
    /// Observed values that change all the time.
    Counter,
}

/// Source of a container's values, which may borrow from the state.
pub(super) trait Family {
    /// The source.
    type Of<'a>;
}

/// A leaf of a container.
pub(super) struct Field<F: Family> {
    pub name: &'static str,
    pub kind: Kind,
    pub ty: Type,
    pub help: &'static str,
    pub value: for<'a, 'b> fn(&'b F::Of<'a>) -> Option<Value>,
}

impl<F: Family> Field<F> {
    /// Returns the leaf with its value; `None` if it does not apply.
    pub(super) fn leaf(&self, of: &F::Of<'_>) -> Option<Leaf> {
        let value = (self.value)(of)?;
        debug_assert_eq!(Type::of(&value), self.ty, "{}", self.name);
        Some(Leaf {
            name: self.name,
            value,
            kind: self.kind,
        })
    }
}

/// One leaf in the book and in the YANG module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Path of its container, with keys in brackets.
    pub container: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Its type.
    pub ty: Type,
    /// Source of its value.
    pub help: &'static str,
}

pub(super) fn rows<F: Family>(container: &'static str, fields: &[Field<F>]) -> Vec<Row> {
    let row = |field: &Field<F>| Row {
        container,
        name: field.name,
        kind: field.kind,
        ty: field.ty,
        help: field.help,
    };
    fields.iter().map(row).collect()
}

/// Type of a value. A missing value, `None`, is omitted.
pub(super) trait Shown {
    const TYPE: Type;
    fn shown(self) -> Value;
}

impl Shown for String {
    const TYPE: Type = Type::Text;
    fn shown(self) -> Value {
        Value::Text(self)
    }
}

impl Shown for &str {
    const TYPE: Type = Type::Text;
    fn shown(self) -> Value {
        Value::Text(self.to_owned())
    }
}

impl Shown for u64 {
    const TYPE: Type = Type::Long;
    fn shown(self) -> Value {
        Value::Long(self)
    }
}

impl Shown for u32 {
    const TYPE: Type = Type::Short;
    fn shown(self) -> Value {
        Value::Short(self)
    }
}

impl Shown for bool {
    const TYPE: Type = Type::Bool;
    fn shown(self) -> Value {
        Value::Bool(self)
    }
}

/// Seconds, converted to nanoseconds: an integer has the same form in every encoding, and for every client.
pub(super) struct Nanos(pub f64);

impl Shown for Nanos {
    const TYPE: Type = Type::Long;
    fn shown(self) -> Value {
        Value::Long((self.0 * 1e9).round() as u64)
    }
}

/// Declares the fields of a container: `LIST of Family`, and for each leaf `"name" Kind: Type = |of| option;
/// "meaning"`; `Type` is the Rust type.
macro_rules! fields {
    ($list:ident of $family:ty { $($name:literal $kind:ident: $ty:ty = $value:expr; $help:literal)* }) => {
        const $list: &[$crate::tree::field::Field<$family>] = &[$(
            $crate::tree::field::Field {
                name: $name,
                kind: $crate::tree::field::Kind::$kind,
                ty: <$ty as $crate::tree::field::Shown>::TYPE,
                help: $help,
                value: |of| {
                    let value: for<'a, 'b> fn(
                        &'b <$family as $crate::tree::field::Family>::Of<'a>,
                    ) -> Option<$ty> = $value;
                    value(of).map($crate::tree::field::Shown::shown)
                },
            },
        )*];
    };
}

/// Declares families for types, which may borrow from the state.
macro_rules! families {
    ($($family:ident: $of:ty;)*) => {$(
        /// Source of containers.
        struct $family;

        impl $crate::tree::field::Family for $family {
            type Of<'a> = $of;
        }
    )*};
}

pub(super) use {families, fields};
