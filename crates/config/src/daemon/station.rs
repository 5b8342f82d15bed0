//! `[[station]]`: network addresses behind a MAC address.

use std::collections::BTreeMap;
use std::net::IpAddr;

use weir_core::MacAddress;

use crate::document::{Item, Value as Content};
use crate::entries::entries;
use crate::reader::{FromItem, Names, Table};
use crate::settings::{quoted, valid, Value};
use crate::switch::STATIONS_MAX;

/// Maximum number of network addresses of one station.
pub const STATION_ADDRESSES_MAX: usize = 16;

entries! {
    /// A station as in a file.
    #[derive(Clone, Debug, PartialEq, Eq)]
    Station in "station" {
        "mac" mac: MacAddress, "", Live, individual;
            "The station's MAC address. No two stations have the same one; at most 4096 stations."
        "addresses" addresses: Vec<IpAddr>, "", Live, addresses;
            "Its IPv4 and IPv6 addresses, 1 to 16, each of one station only. Hosts also look for each other's IPv6 link-local addresses (`fe80::…`): requests for addresses that are not listed are flooded."
    }
}

fn individual(mac: &MacAddress) -> Result<(), String> {
    match mac.is_group() || *mac == MacAddress::default() {
        true => Err(format!(
            "{mac} is not the address of a single station: write the one that `ip link` shows on the host"
        )),
        false => Ok(()),
    }
}

#[allow(clippy::ptr_arg)] // a check gets the setting's type
fn addresses(addresses: &Vec<IpAddr>) -> Result<(), String> {
    valid::count(1, STATION_ADDRESSES_MAX)(&addresses.len())
        .map_err(|message| format!("number of addresses: {message}"))?;
    let is_nobodys = |address: &&IpAddr| match address {
        IpAddr::V4(v4) => v4.is_unspecified() || v4.is_multicast() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unspecified() || v6.is_multicast(),
    };
    match addresses.iter().find(is_nobodys) {
        Some(address) => Err(format!(
            "{address} is not the address of a single station: write those that `ip address` shows on the host"
        )),
        None => Ok(()),
    }
}

/// Reads all stations. Refuses a second one with the same MAC address, or with an address of another one.
pub(super) fn stations(root: &Table<'_>) -> Vec<Station> {
    let macs = Names::default();
    let mut holders: BTreeMap<IpAddr, (MacAddress, Option<usize>)> = BTreeMap::new();
    let tables = root.tables(Station::TABLE, Station::KEYS);
    if let Some(first) = tables.get(STATIONS_MAX) {
        first.complain(
            "mac",
            format!("too many stations: write at most {STATIONS_MAX}"),
        );
    }
    let mut stations = Vec::new();
    for table in tables.iter().take(STATIONS_MAX) {
        let Some(station) = Station::read(table) else {
            continue;
        };
        macs.note(table, "mac", &station.mac.to_string());
        for address in &station.addresses {
            let own = (station.mac, table.line_of("addresses"));
            let Some((mac, line)) = holders.insert(*address, own) else {
                continue;
            };
            let place = line.map_or(String::new(), |line| format!(" in line {line}"));
            table.complain(
                "addresses",
                format!("{address} is already an address of {mac}{place}: give it to one station"),
            );
        }
        stations.push(station);
    }
    stations
}

impl FromItem for IpAddr {
    const EXAMPLE: &'static str = "text such as \"10.0.0.1\"";
    fn from_item(item: &Item) -> Result<Self, String> {
        match &item.value {
            Content::Text(text) => text.parse().map_err(|_| {
                format!("`{text}` is not an IP address; write \"10.0.0.1\" or \"fd00::1\", without a prefix length")
            }),
            other => Err(format!("expected text such as \"10.0.0.1\", found {}", other.kind())),
        }
    }
}

impl Value for Vec<IpAddr> {
    const EXAMPLE: &'static str = "[\"10.0.0.1\", \"fd00::1\"]";

    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        let texts: Vec<String> = self
            .iter()
            .map(|address| quoted(&address.to_string()))
            .collect();
        Some(format!("[{}]", texts.join(", ")))
    }
}
