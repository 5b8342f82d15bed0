//! `[[pool]]`, and the shares of classes.

use weir_core::{Alpha, Bytes, ModeKind, PoolConfig, PoolShare, SwitchConfig, Threshold};

use super::ClassTable;
use crate::document;
use crate::entries::entries;
use crate::names::check_name;
use crate::reader::{unknown, FromItem, Names, Table};
use crate::settings::{quoted, valid, Value};

entries! {
    /// A pool of packet memory that classes share.
    #[derive(Clone, Debug, PartialEq, Eq)]
    Pool in "pool" {
        "name" name: String, "", Restart, valid::anything;
            "Its name, for the classes' `pool`. A switch has at most 4 pools."
        "size" size: Bytes, "", Restart, valid::anything;
            "Memory that the ingress buffers of its classes share above their `reserved`."
        "headroom" headroom: Option<Bytes> = None => "the `headroom` of its lossless classes at all ports, divided by `headroom-oversubscription`", "", Restart, valid::anything;
            "In addition to `size`: memory that its lossless buffers share for frames that arrive after their pauses. Less than the sum of their needs is refused."
        "headroom-oversubscription" headroom_oversubscription: u64 = 1, "", Restart, valid::within(1, 64);
            "Factor by which the headrooms together may exceed that of the pool, 1 to 64. Above 1 [lossless frames can be lost](../concepts/shared-buffers.md#losing-nothing), and `switchctl config check` reports it."
    }
}

/// A class's share of a pool, with the pool's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassPool {
    /// The pool's name.
    pub name: String,
    /// Share of each of its buffers.
    pub share: PoolShare,
}

impl Pool {
    /// The core's configuration. Without a headroom in the file it has none yet: see [`settle`](Self::settle).
    pub fn core(&self) -> PoolConfig {
        PoolConfig {
            size: self.size,
            headroom: self.headroom.unwrap_or_default(),
            oversubscription: self.headroom_oversubscription as u16,
        }
    }

    /// Gives pools without `headroom` the sum that the classes of `config` need.
    pub(super) fn settle(pools: &[Self], config: &mut SwitchConfig) {
        config.pools = pools.iter().map(Self::core).collect();
        for (index, pool) in pools.iter().enumerate() {
            if pool.headroom.is_none() {
                let times = pool.headroom_oversubscription.max(1);
                let each = config.headroom_wanted(index).get().div_ceil(times);
                config.pools[index].headroom = Bytes::new(each);
            }
        }
    }
}

pub(crate) fn pools(root: &Table<'_>) -> Vec<Pool> {
    let names = Names::default();
    let tables = root.tables(Pool::TABLE, Pool::KEYS);
    if let Some(table) = tables.get(weir_core::config::POOLS_MAX) {
        table.complain("name", "a switch has 4 pools at most");
    }
    let read = |table: &Table<'_>| {
        let pool = Pool::read(table)?;
        names.note(table, "name", &pool.name);
        check_name(table, "name", &pool.name);
        Some(pool)
    };
    tables.iter().filter_map(read).collect()
}

/// A class's share of a pool; `None` if it has none, or if it is invalid, which is reported.
pub(super) fn share(
    table: &Table<'_>,
    entry: &ClassTable,
    pools: &[Pool],
) -> Option<(PoolConfig, ClassPool)> {
    let name = entry.pool.clone()?;
    let index = pools.iter().position(|pool| pool.name == name);
    if index.is_none() {
        let known: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
        table.complain("pool", unknown("pool", &name, &known));
    }
    let threshold = match (entry.alpha, entry.static_threshold) {
        (Some(_), Some(_)) => {
            table.complain(
                "static-threshold",
                "set alpha or static-threshold, not both",
            );
            None
        }
        (Some(alpha), None) => Some(Threshold::Dynamic(alpha)),
        (None, Some(threshold)) => Some(Threshold::Static(threshold)),
        (None, None) => {
            if !table.has("static-threshold") {
                table.miss(
                    "alpha",
                    "a power of two such as \"1/8\", or static-threshold",
                );
            }
            None
        }
    };
    let index = index?;
    let share = PoolShare {
        pool: index as u8,
        reserved: entry.reserved.unwrap_or_default(),
        threshold: threshold?,
        xon_offset: entry.xon_offset.unwrap_or_default(),
    };
    Some((pools[index].core(), ClassPool { name, share }))
}

/// The keys of a class of this mode with a share of a pool.
pub(super) fn keys_with_pool(mode: ModeKind) -> &'static [&'static str] {
    match mode {
        ModeKind::Lossy => &["pool", "reserved", "alpha", "static-threshold"],
        _ => &[
            "headroom",
            "pool",
            "reserved",
            "alpha",
            "static-threshold",
            "xon-offset",
        ],
    }
}

const EXAMPLE: &str = "a power of two from \"1/256\" to \"256\"";

impl FromItem for Alpha {
    const EXAMPLE: &'static str = EXAMPLE;

    fn from_item(item: &document::Item) -> Result<Self, String> {
        let text = match &item.value {
            document::Value::Integer(number) => number.to_string(),
            document::Value::Float(text) | document::Value::Text(text) => text.clone(),
            other => return Err(format!("expected {}, found {}", EXAMPLE, other.kind())),
        };
        let value = match text.split_once('/') {
            Some((over, under)) => {
                let [over, under] = [over, under].map(|number| number.trim().parse::<f64>());
                over.and_then(|over| under.map(|under| over / under))
            }
            None => text.trim().parse(),
        };
        let exponent = value
            .ok()
            .filter(|value| value.is_finite() && *value > 0.0)
            .map(f64::log2)
            .ok_or_else(|| format!("`{text}` is not {EXAMPLE}"))?;
        let (least, most) = (Self::EXPONENT_MIN.into(), Self::EXPONENT_MAX.into());
        let nearest = exponent.round().clamp(least, most);
        let alpha = Self::new(nearest as i8).ok_or("no such α")?;
        if nearest != exponent {
            return Err(format!(
                "`{text}` is not {EXAMPLE}; the nearest is \"{alpha}\""
            ));
        }
        Ok(alpha)
    }
}

impl Value for Alpha {
    const EXAMPLE: &'static str = <Self as FromItem>::EXAMPLE;

    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}
