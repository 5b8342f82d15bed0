//! Settings are declared once: the field, its key, its default, legal values, whether a running daemon can apply a
//! change, and the row of the reference page. Legal keys, reader, writer and differences are derived.

mod values;

use std::fmt::Write as _;

use crate::reader::{FromItem, Table};

/// Way in which a change takes effect: in the running daemon, or by a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// Applied while it forwards.
    Live,
    /// Applied at its start.
    Restart,
}

/// A setting on the reference page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key in the table.
    pub key: &'static str,
    /// Its default, in Markdown.
    pub default: String,
    /// Legal values, beyond their type.
    pub valid: &'static str,
    /// Its meaning, in Markdown.
    pub meaning: &'static str,
    /// Way in which a change takes effect: in the running daemon, or by a restart.
    pub reload: Reload,
}

impl Setting {
    /// The rows of a table of the page. Legal values are a column if at least one setting has them.
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

/// A default on the page: as in a file, and as code unless it is a number.
pub(crate) fn shown(written: Option<String>) -> String {
    match written {
        None => "unset".to_owned(),
        Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => number,
        Some(other) => format!("`{other}`"),
    }
}

/// A type of values.
pub(crate) trait Value: Sized {
    /// For "missing; write …".
    const EXAMPLE: &'static str = <String as FromItem>::EXAMPLE;
    /// The value of `key`; `None` if it is missing, or invalid (which is reported).
    fn read(table: &Table<'_>, key: &str) -> Option<Self>;
    /// As in a file; `None` for nothing.
    fn written(&self) -> Option<String>;
}

/// Representation of a `T` in files.
pub(crate) trait Form<T> {
    /// As [`Value::EXAMPLE`].
    const EXAMPLE: &'static str = <String as FromItem>::EXAMPLE;
    /// As [`Value::read`].
    fn read(table: &Table<'_>, key: &str) -> Option<T>;
    /// As [`Value::written`].
    fn written(value: &T) -> Option<String>;
}

/// That of [`Value`].
pub(crate) struct Plain;

impl<T: Value> Form<T> for Plain {
    const EXAMPLE: &'static str = T::EXAMPLE;

    fn read(table: &Table<'_>, key: &str) -> Option<T> {
        T::read(table, key)
    }

    fn written(value: &T) -> Option<String> {
        value.written()
    }
}

/// The value of `key` if it passes `check`.
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

/// One of several words.
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

    /// Checks that a value is between two numbers.
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

    /// Checks a length or a number of objects in memory.
    pub(crate) fn count(least: usize, most: usize) -> impl Fn(&usize) -> Result<(), String> {
        move |value| match (least..=most).contains(value) {
            true => Ok(()),
            false => Err(format!("{value} is not between {least} and {most}")),
        }
    }

    /// Checks that a value is between two times.
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

    /// Checks an optional value.
    pub(crate) fn given<T>(
        check: impl Fn(&T) -> Result<(), String>,
    ) -> impl Fn(&Option<T>) -> Result<(), String> {
        move |value| value.as_ref().map_or(Ok(()), &check)
    }

    #[allow(clippy::ptr_arg)] // a check gets the setting's type
    pub(crate) fn not_empty(text: &String) -> Result<(), String> {
        match text.is_empty() {
            true => Err("must not be empty".to_owned()),
            false => Ok(()),
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

    /// Accepts all combinations of a table's settings.
    pub(crate) fn together<T>(_: &Table<'_>, _: &T) {}
}

/// The form of a setting: [`Plain`] by default.
macro_rules! form {
    () => {
        $crate::settings::Plain
    };
    ($form:ty) => {
        $form
    };
}
pub(crate) use form;

/// Declares the struct of one table. A setting is one entry: `"key" field: Type as Form = default => "the default on
/// the page", "legal values", Live or Restart, check; "meaning"`. Without `as Form`, the file has the type's usual
/// form, and the page shows the default as in a file.
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

            /// The table under `root`; missing settings are taken from `default`. `check` reports settings that exclude
            /// each other.
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

            /// Keys and values as in a file.
            pub fn pairs(&self) -> Vec<(&'static str, String)> {
                use $crate::settings::{form, Form};
                let pairs = [$(($key, <form!($($form)?)>::written(&self.$field))),*];
                let pairs = pairs.into_iter();
                pairs.filter_map(|(key, value)| Some((key, value?))).collect()
            }

            /// The table as in a file.
            pub(crate) fn written(&self) -> String {
                let pairs = self.pairs().into_iter();
                let lines = pairs.map(|(key, value)| format!("{key} = {value}\n"));
                format!("\n[{}]\n{}", Self::TABLE, lines.collect::<String>())
            }

            /// Takes the settings of `wanted` that a running daemon can apply.
            #[allow(unused_variables, dead_code)] // unused if a table has no such setting
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
