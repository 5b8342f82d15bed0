//! Settings are declared once: the field, its key, its default, what is valid, whether a running daemon takes a change, and
//! the row of the reference page. Legal keys, reader, writer and differences follow from that.

use std::fmt::Write as _;

use weir_core::{Bytes, Duration, Quanta};

use crate::reader::Table;
use crate::units::{format_duration, format_size};

/// Whether a running daemon takes another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// While it forwards.
    Live,
    /// When it starts.
    Restart,
}

/// A setting as the reference page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key in the table.
    pub key: &'static str,
    /// As a file writes the default; `unset` where there is none.
    pub default: String,
    /// What is valid, beyond the kind of value.
    pub valid: &'static str,
    /// Its meaning, in Markdown.
    pub meaning: &'static str,
    /// Whether a running daemon takes another value.
    pub reload: Reload,
}

impl Setting {
    /// The row of the page.
    pub fn row(&self) -> String {
        let (key, valid, meaning) = (self.key, self.valid, self.meaning);
        let default = match self.default.as_str() {
            number if number.bytes().all(|byte| byte.is_ascii_digit()) => number.to_owned(),
            "unset" => "unset".to_owned(),
            other => format!("`{other}`"),
        };
        let separator = if valid.is_empty() { "" } else { " " };
        format!("| `{key}` | {default} |{separator}{valid} | {meaning} |")
    }
}

/// What a setting may hold.
pub(crate) trait Value: Sized {
    /// The value of `key`; `None` when it is not there, or wrong (which is then noted).
    fn read(table: &Table<'_>, key: &str) -> Option<Self>;
    /// As a file writes it; `None` for nothing.
    fn written(&self) -> Option<String>;
}

/// The value of `key` if `check` has nothing against it.
pub(crate) fn checked<T: Value>(
    table: &Table<'_>,
    key: &str,
    default: T,
    check: impl Fn(&T) -> Result<(), String>,
) -> T {
    let Some(value) = T::read(table, key) else {
        return default;
    };
    match check(&value) {
        Ok(()) => value,
        Err(message) => {
            table.complain(key, message);
            default
        }
    }
}

/// A TOML basic string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl Value for bool {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for Bytes {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&format_size(*self)))
    }
}

impl Value for Duration {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&format_duration(*self)))
    }
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn read(table: &Table<'_>, key: &str) -> Option<Self> {
                let number: u64 = table.get(key)?;
                let narrowed = Self::try_from(number).ok();
                if narrowed.is_none() {
                    table.complain(key, format!("{number} is more than {}", Self::MAX));
                }
                narrowed
            }

            fn written(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}

whole_numbers!(u8, u16, u32, usize);

impl Value for Quanta {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        u16::read(table, key).map(Self)
    }

    fn written(&self) -> Option<String> {
        self.0.written()
    }
}

/// Nothing is written for `None`.
impl<T: Value> Value for Option<T> {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        T::read(table, key).map(Some)
    }

    fn written(&self) -> Option<String> {
        self.as_ref().and_then(Value::written)
    }
}

/// CPUs. Nothing is written for none.
impl Value for Vec<usize> {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        let numbers: Vec<u64> = table.get(key)?;
        Some(numbers.into_iter().map(|number| number as usize).collect())
    }

    fn written(&self) -> Option<String> {
        (!self.is_empty()).then(|| format!("{self:?}"))
    }
}

/// One of some words.
macro_rules! words {
    ($($type:ty: $words:expr;)*) => {$(
        impl $crate::settings::Value for $type {
            fn read(table: &$crate::reader::Table<'_>, key: &str) -> Option<Self> {
                table.choice(key, &$words)
            }

            fn written(&self) -> Option<String> {
                let word = $words.into_iter().find(|(_, value)| value == self);
                word.map(|(word, _)| $crate::settings::quoted(word))
            }
        }
    )*};
}
pub(crate) use words;

/// Checks of values.
pub(crate) mod valid {
    use weir_core::Duration;

    /// Between two numbers.
    pub(crate) fn within<T: Copy + Into<u64>>(
        least: u64,
        most: u64,
    ) -> impl Fn(&T) -> Result<(), String> {
        move |value| {
            let value: u64 = (*value).into();
            match (least..=most).contains(&value) {
                true => Ok(()),
                false => Err(format!("{value} is not between {least} and {most}")),
            }
        }
    }

    /// The same for a length or a count of things in memory.
    pub(crate) fn count(least: usize, most: usize) -> impl Fn(&usize) -> Result<(), String> {
        move |value| match (least..=most).contains(value) {
            true => Ok(()),
            false => Err(format!("{value} is not between {least} and {most}")),
        }
    }

    pub(crate) fn above_zero(duration: &Duration) -> Result<(), String> {
        match duration.is_zero() {
            true => Err("must be above zero".to_owned()),
            false => Ok(()),
        }
    }

    pub(crate) fn anything<T>(_: &T) -> Result<(), String> {
        Ok(())
    }
}

/// Declares the struct of one table. A setting is one entry:
/// `"key" field: Type = default, "what is valid", Live or Restart, check; "meaning"`.
macro_rules! settings {
    (
        $(#[$attribute:meta])*
        $name:ident in $table:literal {
            $(
                $key:literal $field:ident: $type:ty = $default:expr, $valid:literal, $reload:ident, $check:expr;
                $meaning:literal
            )*
        }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $(#[doc = $meaning] pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $name {
            /// The table's name.
            pub const TABLE: &'static str = $table;
            /// The legal keys.
            pub const KEYS: &'static [&'static str] = &[$($key),*];

            pub(crate) fn read(table: &$crate::reader::Table<'_>) -> Self {
                let default = Self::default();
                Self {
                    $($field: $crate::settings::checked(table, $key, default.$field, $check),)*
                }
            }

            /// The table as a file has it.
            pub(crate) fn written(&self) -> String {
                use $crate::settings::Value;
                let mut text = concat!("\n[", $table, "]\n").to_owned();
                $(if let Some(value) = self.$field.written() {
                    text = text + $key + " = " + &value + "\n";
                })*
                text
            }

            /// Takes from `wanted` what a running daemon can take.
            #[allow(unused_variables)] // a table may have no such setting
            pub(crate) fn take_live(&mut self, wanted: &Self) {
                $(if $crate::settings::Reload::$reload == $crate::settings::Reload::Live {
                    self.$field.clone_from(&wanted.$field);
                })*
            }

            /// The settings, in the order of the reference page.
            pub fn settings() -> Vec<$crate::settings::Setting> {
                use $crate::settings::Value;
                let default = Self::default();
                vec![$($crate::settings::Setting {
                    key: $key,
                    default: default.$field.written().unwrap_or_else(|| "unset".to_owned()),
                    valid: $valid,
                    meaning: $meaning,
                    reload: $crate::settings::Reload::$reload,
                }),*]
            }
        }
    };
}
pub(crate) use settings;

/// A whole number, or a word.
impl Value for crate::daemon::Workers {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        Some(match self {
            Self::Count(count) => count.to_string(),
            Self::Auto => quoted("auto"),
        })
    }
}
