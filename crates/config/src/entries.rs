//! Arrays of tables, such as `[[port]]`: what an entry has is declared once, as the settings of one table are.

use crate::reader::Table;
use crate::settings::Form;

/// The value of `key`, which has to be there, if `check` has nothing against it.
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

/// Reads what has a default, and what has none.
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

/// A default as the page has it.
macro_rules! default_text {
    ($form:ty, $type:ty;) => {
        "required".to_owned()
    };
    ($form:ty, $type:ty; $default:expr) => {
        $crate::settings::shown(<$form as $crate::settings::Form<$type>>::written(&$default))
    };
}
pub(crate) use default_text;

/// Declares the struct of an entry. A setting is as in [`settings`](crate::settings), but that one without a default is
/// required, and that it may end in `if`, a condition without which it is not written.
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

        #[allow(dead_code)] // not every entry needs all
        impl $name {
            /// The array's name.
            pub const TABLE: &'static str = $table;
            /// The legal keys.
            pub const KEYS: &'static [&'static str] = &[$($key),*];

            /// One entry; `None` without what it requires.
            pub(crate) fn read(table: &$crate::reader::Table<'_>) -> Option<Self> {
                use $crate::entries::entry;
                use $crate::settings::form;
                $(let $field: Option<$type> = entry!(table, $key, form!($($form)?), $check; $($default)?);)*
                Some(Self { $($field: $field?,)* })
            }

            /// Keys and values as a file has them.
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

            /// The entry as a file has it.
            pub(crate) fn written(&self) -> String {
                let lines = self.pairs().into_iter();
                let lines = lines.map(|(key, value)| format!("{key} = {value}\n"));
                format!("\n[[{}]]\n{}", Self::TABLE, lines.collect::<String>())
            }

            /// Takes from `wanted` what a running daemon can take.
            pub(crate) fn take_live(&mut self, wanted: &Self) {
                $(if $crate::settings::Reload::$reload == $crate::settings::Reload::Live {
                    self.$field.clone_from(&wanted.$field);
                })*
            }

            /// The settings, in the order of the reference page.
            pub fn settings() -> Vec<$crate::settings::Setting> {
                use $crate::entries::default_text;
                #[allow(unused_imports)] // not every entry has defaults
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
