//! Settings of a port for single classes: a table by class name.

use std::collections::BTreeMap;

use weir_core::{Bytes, Threshold};

use crate::daemon::Port;
use crate::reader::{line_of, unknown, FromItem, Table};
use crate::settings::{Form, Value};
use crate::switch::{Class, Pool};

/// By class name.
pub type PerClass<T> = BTreeMap<String, T>;

pub(super) struct ByClass;

impl<T: FromItem + Value> Form<PerClass<T>> for ByClass {
    fn read(table: &Table<'_>, key: &str) -> Option<PerClass<T>> {
        let mut values = PerClass::new();
        for (class, item) in table.free_table(key) {
            match T::from_item(item) {
                Ok(value) => {
                    values.insert(class.to_owned(), value);
                }
                Err(message) => {
                    let path = table.key_path(&format!("{key}.{class}"));
                    table.problems().add(line_of(item), path, message);
                }
            }
        }
        Some(values)
    }

    fn written(values: &PerClass<T>) -> Option<String> {
        let pairs: Vec<String> = values
            .iter()
            .filter_map(|(class, value)| Some(format!("{class} = {}", value.written()?)))
            .collect();
        (!pairs.is_empty()).then(|| format!("{{ {} }}", pairs.join(", ")))
    }
}

impl Port {
    /// This port's limit on the class's use of its pool, if it differs from the class's.
    pub fn pool_threshold(&self, class: &Class) -> Option<Threshold> {
        let alpha = self.alpha.get(&class.name).copied();
        let fixed = self.static_threshold.get(&class.name).copied();
        alpha
            .map(Threshold::Dynamic)
            .or(fixed.map(Threshold::Static))
    }

    /// Refuses thresholds for classes that do not exist or use no pool.
    pub(super) fn check_pool_thresholds(
        &self,
        table: &Table<'_>,
        classes: &[Class],
        pools: &[Pool],
    ) {
        let known: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
        let keys = [
            ("alpha", self.alpha.keys().collect::<Vec<_>>()),
            ("static-threshold", self.static_threshold.keys().collect()),
        ];
        for (key, names) in keys {
            for name in names {
                let Some(class) = classes.iter().find(|class| class.name == *name) else {
                    table.complain(key, unknown("class", name, &known));
                    continue;
                };
                let Some(pool) = &class.pool else {
                    let message =
                        format!("class `{name}` has separate buffers and no share of a pool");
                    table.complain(key, message);
                    continue;
                };
                let pool = pools.iter().find(|known| known.name == pool.name);
                let most = pool.map_or(Bytes::ZERO, |pool| pool.size);
                let own = self.static_threshold.get(name).filter(|own| **own > most);
                if let Some(own) = own.filter(|_| key == "static-threshold") {
                    let message =
                        format!("{own} is more than the pool of class `{name}` has, {most}");
                    table.complain(key, message);
                }
            }
        }
        let both = self
            .alpha
            .keys()
            .find(|name| self.static_threshold.contains_key(*name));
        if let Some(name) = both {
            let message = format!("set alpha or static-threshold of class `{name}`, not both");
            table.complain("static-threshold", message);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::daemon::DaemonConfig;
    use weir_core::{Alpha, Priority};

    const FILE: &str = r#"
name = "s1"
[[pool]]
name = "lossless"
size = "1MiB"
[[class]]
name = "storage"
priorities = [3, 4]
mode = "pfc"
pool = "lossless"
alpha = "1/8"
headroom = "64KiB"
[[class]]
name = "own"
priority = 5
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"
[[port]]
device = "a"
role = "edge"
rate = "1Gbit"
PORT
[[port]]
device = "b"
role = "edge"
rate = "1Gbit"
"#;

    fn read(port: &str) -> Result<DaemonConfig, String> {
        let file = FILE.replace("PORT", port);
        DaemonConfig::parse(&file, Path::new("s1.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_port_has_thresholds_of_its_own() {
        for (text, threshold) in [
            (
                "alpha = { storage = 2 }",
                Threshold::Dynamic(Alpha::new(1).unwrap()),
            ),
            (
                "static-threshold = { storage = \"40KiB\" }",
                Threshold::Static(Bytes::new(40 << 10)),
            ),
        ] {
            let config = read(text).unwrap();
            let core = config.core(&[]);
            for priority in [3, 4].map(Priority::from_low_bits) {
                let class = &core.classes[priority.index()];
                let at = |port| class.share_at(&core.ports[port], priority).unwrap();
                assert_eq!(at(0).threshold, threshold);
                assert_eq!(at(1).threshold, Threshold::Dynamic(Alpha::new(-3).unwrap()));
                assert_eq!((at(0).reserved, at(0).pool), (at(1).reserved, at(1).pool));
            }
            let again = DaemonConfig::parse(&config.to_toml(), Path::new("s1.toml")).unwrap();
            assert_eq!(again, config);
        }
    }

    #[test]
    fn wrong_overrides_by_class_are_refused() {
        for (text, told) in [
            ("alpha = { storag = 2 }", "did you mean `storage`?"),
            ("alpha = { own = 2 }", "class `own` has separate buffers"),
            ("alpha = { storage = 3 }", "the nearest is"),
            ("alpha = 3", "expected a table"),
            (
                "static-threshold = { storage = \"2MiB\" }",
                "more than the pool",
            ),
            (
                "alpha = { storage = 2 }\nstatic-threshold = { storage = \"9KiB\" }",
                "not both",
            ),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(told), "{text}: {refused}");
            assert!(refused.contains("port.0."), "{refused}");
        }
    }
}
