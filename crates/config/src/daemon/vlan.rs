//! VLANs of ports: `tag`, `trunks` and `vlan-mode`, with the names, meanings and defaults of Open vSwitch.

use weir_core::{VlanId, VlanMode, VlanPort, VlanSet};

use super::Port;
use crate::document::{Item, Value as ItemValue};
use crate::reader::{FromItem, Table};
use crate::settings::{quoted, words, Form, Value};

/// Chunks for copies of flooded frames that leave in two forms, tagged and untagged.
pub const VLAN_COPIES: usize = 256;

words! {
    VlanMode: VlanMode::NAMED;
}

/// 1 to 4094.
impl FromItem for VlanId {
    const EXAMPLE: &'static str = "a VLAN from 1 to 4094";

    fn from_item(item: &Item) -> Result<Self, String> {
        let number = u64::from_item(item)?;
        one(number)
            .filter(|vlan| *vlan != Self::UNTAGGED)
            .ok_or_else(|| format!("{number} is not a VLAN; valid are 1 to 4094"))
    }
}

impl Value for VlanId {
    const EXAMPLE: &'static str = <Self as FromItem>::EXAMPLE;

    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        Some(self.to_string())
    }
}

fn one(number: u64) -> Option<VlanId> {
    VlanId::new(u16::try_from(number).ok()?)
}

/// First and last VLAN of a number or of a range in quotes.
struct Range(VlanId, VlanId);

impl FromItem for Range {
    const EXAMPLE: &'static str = "a VLAN, or a range such as \"20-29\"";

    fn from_item(item: &Item) -> Result<Self, String> {
        let (first, last) = match &item.value {
            ItemValue::Text(text) => {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                let number = |text: &str| text.trim().parse::<u64>().ok();
                number(first)
                    .zip(number(last))
                    .ok_or_else(|| format!("expected {}, found `{text}`", Self::EXAMPLE))?
            }
            _ => {
                let number = u64::from_item(item)?;
                (number, number)
            }
        };
        let vlan = |number: u64| {
            one(number).ok_or_else(|| {
                format!("{number} is not a VLAN; valid are 0 (frames without a tag) to 4094")
            })
        };
        let (first, last) = (vlan(first)?, vlan(last)?);
        if first > last {
            return Err(format!(
                "a range must be ascending: write \"{last}-{first}\""
            ));
        }
        Ok(Self(first, last))
    }
}

/// A list of VLANs and ranges.
pub(super) struct VlanList;

impl Form<Option<VlanSet>> for VlanList {
    fn read(table: &Table<'_>, key: &str) -> Option<Option<VlanSet>> {
        let ranges: Vec<Range> = table.get(key)?;
        let numbers = ranges
            .iter()
            .flat_map(|Range(first, last)| first.get()..=last.get());
        let set: VlanSet = numbers.filter_map(VlanId::new).collect();
        // As in Open vSwitch: no list and an empty list are the same.
        Some((!set.is_empty()).then_some(set))
    }

    fn written(set: &Option<VlanSet>) -> Option<String> {
        let ranges = set.as_ref()?.ranges().into_iter();
        let ranges: Vec<String> = ranges
            .map(|(first, last)| match first == last {
                true => first.to_string(),
                false => quoted(&format!("{first}-{last}")),
            })
            .collect();
        Some(format!("[{}]", ranges.join(", ")))
    }
}

impl Port {
    /// Returns true if it sets any of the VLAN keys.
    pub(super) fn has_vlans(&self) -> bool {
        self.tag.is_some() || self.trunks.is_some() || self.vlan_mode.is_some()
    }

    /// Mode in a VLAN-aware switch.
    pub fn vlan_mode(&self) -> VlanMode {
        self.vlan_mode.unwrap_or(match self.tag {
            Some(_) => VlanMode::Access,
            None => VlanMode::Trunk,
        })
    }

    /// Treatment of tags in a VLAN-aware switch.
    pub(super) fn vlans(&self) -> VlanPort {
        let tag = self.tag.unwrap_or_default();
        let trunks = self.trunks.unwrap_or_else(VlanSet::all);
        match self.vlan_mode() {
            VlanMode::Access => VlanPort::access(tag),
            VlanMode::Trunk => VlanPort::trunk(trunks),
            VlanMode::NativeTagged => VlanPort::native_tagged(tag, trunks),
            VlanMode::NativeUntagged => VlanPort::native_untagged(tag, trunks),
        }
    }

    /// Checks the relations between the three keys.
    pub(super) fn check_vlans(&self, table: &Table<'_>) {
        let mode = self.vlan_mode();
        let name = mode.name();
        let is_native = matches!(mode, VlanMode::NativeTagged | VlanMode::NativeUntagged);
        match (mode, self.tag) {
            (VlanMode::Trunk, Some(tag)) => table.complain(
                "tag",
                format!("a port of mode `trunk` has no native VLAN: remove `tag`, add {tag} to `trunks`, or write vlan-mode = \"native-untagged\" for frames without a tag"),
            ),
            (VlanMode::Trunk, None) | (_, Some(_)) => {}
            (_, None) => table.complain(
                "vlan-mode",
                format!("a port of mode `{name}` needs a VLAN of its own: write `tag`, or vlan-mode = \"trunk\""),
            ),
        }
        let Some(trunks) = &self.trunks else { return };
        if mode == VlanMode::Access {
            table.complain(
                "trunks",
                "does not apply to an access port, which has only the VLAN of `tag`: remove it, or write vlan-mode = \"native-untagged\" or \"native-tagged\"",
            );
        } else if is_native && trunks.contains(VlanId::UNTAGGED) {
            table.complain(
                "trunks",
                format!("frames without a tag are in the VLAN of `tag` at a port of mode `{name}`: remove 0"),
            );
        }
    }
}
