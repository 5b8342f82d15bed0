//! Settings are declared once: the field, its key, its default, what is valid, whether a running daemon takes a change, and
//! the row of the reference page. Legal keys, reader, writer and differences follow from that.

use std::fmt::Write as _;
use std::path::PathBuf;

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
    /// What holds where the file does not say, in Markdown.
    pub default: String,
    /// What is valid, beyond the kind of value.
    pub valid: &'static str,
    /// Its meaning, in Markdown.
    pub meaning: &'static str,
    /// Whether a running daemon takes another value.
    pub reload: Reload,
}

impl Setting {
    /// The rows of a table of the page. What is valid is a column where at least one setting says it.
    pub fn rows(settings: &[Self]) -> String {
        let has_valid = settings.iter().any(|setting| !setting.valid.is_empty());
        let row = |setting: &Self| {
            let (key, default, meaning) = (setting.key, &setting.default, setting.meaning);
            let valid = match (has_valid, setting.valid) {
                (false, _) => String::new(),
                (true, "") => " |".to_owned(),
                (true, valid) => format!(" {valid} |"),
            };
            format!("| `{key}` | {default} |{valid} {meaning} |\n")
        };
        settings.iter().map(row).collect()
    }
}

/// A default as the page has it: what a file writes, as code unless it is a number.
pub(crate) fn shown(written: Option<String>) -> String {
    match written {
        None => "unset".to_owned(),
        Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => number,
        Some(other) => format!("`{other}`"),
    }
}

/// What a setting may hold.
pub(crate) trait Value: Sized {
    /// The value of `key`; `None` when it is not there, or wrong (which is then noted).
    fn read(table: &Table<'_>, key: &str) -> Option<Self>;
    /// As a file writes it; `None` for nothing.
    fn written(&self) -> Option<String>;
}

/// How a file writes a `T`.
pub(crate) trait Form<T> {
    /// As [`Value::read`].
    fn read(table: &Table<'_>, key: &str) -> Option<T>;
    /// As [`Value::written`].
    fn written(value: &T) -> Option<String>;
}

/// As [`Value`] says.
pub(crate) struct Plain;

impl<T: Value> Form<T> for Plain {
    fn read(table: &Table<'_>, key: &str) -> Option<T> {
        T::read(table, key)
    }

    fn written(value: &T) -> Option<String> {
        value.written()
    }
}

/// The value of `key` if `check` has nothing against it.
pub(crate) fn checked<T, F: Form<T>>(
    table: &Table<'_>,
    key: &str,
    default: T,
    check: impl Fn(&T) -> Result<(), String>,
) -> T {
    let Some(value) = F::read(table, key) else {
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

impl Value for String {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        Some(quoted(self))
    }
}

impl Value for PathBuf {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get::<String>(key).map(Self::from)
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&self.to_string_lossy()))
    }
}

impl Value for Vec<String> {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        let texts: Vec<String> = self.iter().map(|text| quoted(text)).collect();
        Some(format!("[{}]", texts.join(", ")))
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

    use crate::reader::Table;
    use crate::units::format_duration;

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

    /// Between two times.
    pub(crate) fn between(
        (least, most): (Duration, Duration),
    ) -> impl Fn(&Duration) -> Result<(), String> {
        move |value| match (least..=most).contains(value) {
            true => Ok(()),
            false => Err(format!(
                "must be between \"{}\" and \"{}\"",
                format_duration(least),
                format_duration(most)
            )),
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

    /// Settings of a table, each of which goes with all others.
    pub(crate) fn together<T>(_: &Table<'_>, _: &T) {}
}

/// The form of a setting: [`Plain`] where none is named.
macro_rules! form {
    () => {
        $crate::settings::Plain
    };
    ($form:ty) => {
        $form
    };
}
pub(crate) use form;

/// Declares the struct of one table. A setting is one entry:
/// `"key" field: Type as Form = default => "the default on the page", "what is valid", Live or Restart, check; "meaning"`.
/// Where `as Form` is left out, the file has the type's usual form; the page has the default as a file writes it.
macro_rules! settings {
    (
        $(#[$attribute:meta])*
        $name:ident in $table:literal {
            $(
                $key:literal $field:ident: $type:ty $(as $form:ty)? = $default:expr $(=> $shown:literal)?,
                $valid:literal, $reload:ident, $check:expr;
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

            /// The table under `root`; what it does not say is as in `default`. `check` complains of settings that do not
            /// go together.
            pub(crate) fn read(
                root: &$crate::reader::Table<'_>,
                default: Self,
                check: impl FnOnce(&$crate::reader::Table<'_>, &Self),
            ) -> Self {
                use $crate::settings::{checked, form};
                let Some(table) = root.table(Self::TABLE, Self::KEYS) else {
                    return default;
                };
                let config = Self {
                    $($field: checked::<_, form!($($form)?)>(&table, $key, default.$field, $check),)*
                };
                check(&table, &config);
                config
            }

            /// Keys and values as a file has them.
            pub fn pairs(&self) -> Vec<(&'static str, String)> {
                use $crate::settings::{form, Form};
                let pairs = [$(($key, <form!($($form)?)>::written(&self.$field))),*];
                let pairs = pairs.into_iter();
                pairs.filter_map(|(key, value)| Some((key, value?))).collect()
            }

            /// The table as a file has it.
            pub(crate) fn written(&self) -> String {
                let pairs = self.pairs().into_iter();
                let lines = pairs.map(|(key, value)| format!("{key} = {value}\n"));
                format!("\n[{}]\n{}", Self::TABLE, lines.collect::<String>())
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
                use $crate::settings::{form, shown, Form};
                let default = Self::default();
                vec![$($crate::settings::Setting {
                    key: $key,
                    default: [
                        $($shown.to_owned(),)?
                        shown(<form!($($form)?)>::written(&default.$field)),
                    ][0].clone(),
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
