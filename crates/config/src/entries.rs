//! Arrays of tables, such as `[[port]]`: the settings of an entry are declared once, like those of a table.

use crate::reader::Table;
use crate::settings::Form;

/// The value of `key`, which is required and must pass `check`.
pub(crate) fn required<T, F: Form<T>>(
    table: &Table<'_>,
    key: &str,
    check: impl Fn(&T) -> Result<(), String>,
) -> Option<T> {
    table.miss(key, F::EXAMPLE);
    let value = F::read(table, key)?;
    match check(&value) {
        Ok(()) => Some(value),
        Err(message) => {
            table.complain(key, message);
            None
        }
    }
}

/// Reads a setting with or without a default.
macro_rules! entry {
    ($table:ident, $key:literal, $form:ty, $check:expr;) => {
        $crate::entries::required::<_, $form>($table, $key, $check)
    };
    ($table:ident, $key:literal, $form:ty, $check:expr; $default:expr) => {
        Some($crate::settings::checked::<_, $form>(
            $table, $key, $default, $check,
        ))
    };
}
pub(crate) use entry;

/// A default as in the reference page.
macro_rules! default_text {
    ($form:ty, $type:ty;) => {
        "required".to_owned()
    };
    ($form:ty, $type:ty; $default:expr) => {
        $crate::settings::shown(<$form as $crate::settings::Form<$type>>::written(&$default))
    };
}
pub(crate) use default_text;

/// Declares the struct of an entry. A setting is as in [`settings`](crate::settings), except that one without a default
/// is required, and that it may end in `if` with a condition for writing it.
macro_rules! entries {
    (
        $(#[$attribute:meta])*
        $name:ident in $table:literal {
            $(
                $key:literal $field:ident: $type:ty $(as $form:ty)? $(= $default:expr)? $(=> $shown:literal)?,
                $valid:literal, $reload:ident, $check:expr $(, if $condition:expr)?;
                $meaning:literal
            )*
        }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $(#[doc = $meaning] pub $field: $type,)*
        }

        #[allow(dead_code)] // not used by every entry
        impl $name {
            /// The array's name.
            pub const TABLE: &'static str = $table;
            /// The legal keys.
            pub const KEYS: &'static [&'static str] = &[$($key),*];

            /// Reads one entry; `None` if a required setting is missing.
            pub(crate) fn read(table: &$crate::reader::Table<'_>) -> Option<Self> {
                use $crate::entries::entry;
                use $crate::settings::form;
                $(let $field: Option<$type> = entry!(table, $key, form!($($form)?), $check; $($default)?);)*
                Some(Self { $($field: $field?,)* })
            }

            /// Keys and values as in a file.
            pub fn pairs(&self) -> Vec<(&'static str, String)> {
                use $crate::settings::{form, Form};
                let mut pairs = Vec::new();
                $({
                    #[allow(unused_mut, unused_assignments)]
                    let mut applies = true;
                    $(applies = ($condition)(self);)?
                    let value = <form!($($form)?) as Form<$type>>::written(&self.$field);
                    pairs.extend(value.filter(|_| applies).map(|value| ($key, value)));
                })*
                pairs
            }

            /// The entry as in a file.
            pub(crate) fn written(&self) -> String {
                let lines = self.pairs().into_iter();
                let lines = lines.map(|(key, value)| format!("{key} = {value}\n"));
                format!("\n[[{}]]\n{}", Self::TABLE, lines.collect::<String>())
            }

            /// Takes the settings of `wanted` that a running daemon can apply.
            pub(crate) fn take_live(&mut self, wanted: &Self) {
                $(if $crate::settings::Reload::$reload == $crate::settings::Reload::Live {
                    self.$field.clone_from(&wanted.$field);
                })*
            }

            /// The settings, in the order of the reference page.
            pub fn settings() -> Vec<$crate::settings::Setting> {
                use $crate::entries::default_text;
                #[allow(unused_imports)] // not used by every entry
                use $crate::settings::form;
                vec![$($crate::settings::Setting {
                    key: $key,
                    default: [
                        $($shown.to_owned(),)?
                        default_text!(form!($($form)?), $type; $($default)?),
                    ][0].clone(),
                    valid: $valid,
                    meaning: $meaning,
                    reload: $crate::settings::Reload::$reload,
                }),*]
            }
        }
    };
}
pub(crate) use entries;
