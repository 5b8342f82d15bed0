//! Representation of the usual types in files.

use std::path::PathBuf;

use weir_core::{BitRate, Bytes, Duration, MacAddress, PartsPerMillion, Priority, Quanta};

use super::{quoted, Value};
use crate::reader::{FromItem, Table};
use crate::units::{format_duration, format_probability, format_rate, format_size};

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
    const EXAMPLE: &'static str = <Self as FromItem>::EXAMPLE;

    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        let texts: Vec<String> = self.iter().map(|text| quoted(text)).collect();
        Some(format!("[{}]", texts.join(", ")))
    }
}

/// Text, converted by functions.
macro_rules! texts {
    ($($type:ty: $format:expr;)*) => {$(
        impl Value for $type {
            const EXAMPLE: &'static str = <Self as FromItem>::EXAMPLE;

            fn read(table: &Table<'_>, key: &str) -> Option<Self> {
                table.get(key)
            }

            fn written(&self) -> Option<String> {
                Some(quoted(&$format(*self)))
            }
        }
    )*};
}

texts! {
    Bytes: format_size;
    Duration: format_duration;
    BitRate: format_rate;
    PartsPerMillion: format_probability;
    MacAddress: |address: MacAddress| address.to_string();
}

impl Value for Priority {
    const EXAMPLE: &'static str = <Self as FromItem>::EXAMPLE;

    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for Vec<Priority> {
    const EXAMPLE: &'static str = <Self as FromItem>::EXAMPLE;

    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        let numbers: Vec<String> = self.iter().map(Priority::to_string).collect();
        Some(format!("[{}]", numbers.join(", ")))
    }
}

impl Value for Vec<Bytes> {
    const EXAMPLE: &'static str = <Self as FromItem>::EXAMPLE;

    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        let sizes: Vec<String> = self
            .iter()
            .map(|size| quoted(&format_size(*size)))
            .collect();
        Some(format!("[{}]", sizes.join(", ")))
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

whole_numbers!(u8, u16, u32, u64, usize);

impl Value for Quanta {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        u16::read(table, key).map(Self)
    }

    fn written(&self) -> Option<String> {
        self.0.written()
    }
}

/// `None` is not written.
impl<T: Value> Value for Option<T> {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        T::read(table, key).map(Some)
    }

    fn written(&self) -> Option<String> {
        self.as_ref().and_then(Value::written)
    }
}

/// CPUs. An empty list is not written.
impl Value for Vec<usize> {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        let numbers: Vec<u64> = table.get(key)?;
        Some(numbers.into_iter().map(|number| number as usize).collect())
    }

    fn written(&self) -> Option<String> {
        (!self.is_empty()).then(|| format!("{self:?}"))
    }
}
