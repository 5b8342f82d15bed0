//! PORT_QOS_MAP and the maps it names: from DSCP and PCP to priorities.
//!
//! SONiC has four numbers for what is one here: traffic class, queue, priority group and PFC priority. The priority of a
//! traffic class is its queue, or the PFC priority that pauses this queue.

use std::collections::BTreeSet;

use weir_config::daemon::Trust;

use super::database::{Database, Row};
use super::notes::Kind;
use super::ports::watchdog_rows;

/// How a port classifies.
#[derive(Clone, Debug)]
pub struct PortQos {
    /// Priorities with PFC.
    pub lossless: BTreeSet<u8>,
    /// Priority by DSCP; `None` where the port does not look at it.
    pub dscp: Option<[u8; 64]>,
    /// Priority by PCP.
    pub pcp: Option<[u8; 8]>,
    /// The name of each map, for comments.
    pub dscp_source: String,
    /// The same.
    pub pcp_source: String,
    /// SONiC's priority group of each priority.
    pub group_of: [usize; 8],
    /// SONiC's queue of each priority.
    pub queue_of: [usize; 8],
}

impl PortQos {
    /// Where the priority is looked for.
    pub fn trust(&self) -> Trust {
        match (&self.dscp, &self.pcp) {
            (Some(_), Some(_)) => Trust::PcpDscp,
            (Some(_), None) => Trust::Dscp,
            (None, Some(_)) => Trust::Pcp,
            (None, None) => Trust::Port,
        }
    }
}

const IDENTITY: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Of the port `name`.
pub fn port_qos(database: Database<'_>, name: &str) -> PortQos {
    let report = database.report();
    let row = database
        .rows("PORT_QOS_MAP")
        .into_iter()
        .find(|row| row.key != "global" && row.key.split(',').any(|port| port.trim() == name));
    let global = database.row("PORT_QOS_MAP", "global");
    let lossless = row.map_or_else(BTreeSet::new, |row| priorities(&row, "pfc_enable"));
    let Some(holder) = row.or(global) else {
        let message = "there is no PORT_QOS_MAP for it; all its frames get priority 0";
        report.note(Kind::Assumed, format!("PORT|{name}"), message);
        return PortQos {
            lossless,
            dscp: None,
            pcp: None,
            dscp_source: String::new(),
            pcp_source: String::new(),
            group_of: IDENTITY,
            queue_of: IDENTITY,
        };
    };
    watched_priorities(database, name, &holder, &lossless);
    let table = |field, table| {
        let mut map = IDENTITY;
        if let Some(named) = holder.reference(field, table) {
            named
                .map(7, 7)
                .into_iter()
                .for_each(|(of, to)| map[of] = usize::from(to));
        }
        map
    };
    let queue_of_tc = table("tc_to_queue_map", "TC_TO_QUEUE_MAP");
    let group_of_tc = table("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP");
    let queue_of_pfc = table("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE");
    let has_group_of_pfc = holder.has("pfc_to_pg_map");
    let group_of_pfc = table("pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP");

    let mut priority_of_tc = [0u8; 8];
    let (mut group_of, mut queue_of) = (IDENTITY, IDENTITY);
    // Backwards, so that the lowest traffic class of a priority names its group.
    for tc in (0..8).rev() {
        let queue = queue_of_tc[tc];
        let pausing = lossless
            .iter()
            .map(|pfc| usize::from(*pfc))
            .find(|pfc| queue_of_pfc[*pfc] == queue);
        let priority = pausing.unwrap_or(queue);
        priority_of_tc[tc] = priority as u8;
        if pausing.is_some() || !lossless.contains(&(priority as u8)) {
            queue_of[priority] = queue;
            group_of[priority] = match pausing {
                Some(pfc) if has_group_of_pfc => group_of_pfc[pfc],
                _ => group_of_tc[tc],
            };
        }
        if priority != queue {
            let message = format!(
                "traffic class {tc} has queue {queue}, paused by PFC priority {priority}; here it is priority {priority} throughout"
            );
            report.note(Kind::Changed, holder.path_of("pfc_to_queue_map"), message);
        }
        if pausing.is_none() && lossless.contains(&(queue as u8)) {
            let message = format!(
                "traffic class {tc} is lossy in queue {queue}; here priority {queue} is lossless, and so is the class"
            );
            report.note(Kind::Changed, holder.path_of("tc_to_queue_map"), message);
        }
    }
    let global = global.filter(|_| !holder.has("dscp_to_tc_map"));
    let dscp_row = global
        .unwrap_or(holder)
        .reference("dscp_to_tc_map", "DSCP_TO_TC_MAP");
    let pcp_row = holder.reference("dot1p_to_tc_map", "DOT1P_TO_TC_MAP");
    if dscp_row.is_some() && pcp_row.is_some() {
        let message = "SONiC checks the IP header first; trust = \"pcp-dscp\" checks the VLAN tag first: write \"dscp\" to ignore tags";
        report.note(Kind::Changed, holder.path_of("dot1p_to_tc_map"), message);
    }
    PortQos {
        lossless,
        dscp: dscp_row.map(|row| by_class(&row, 63, priority_of_tc)),
        pcp: pcp_row.map(|row| by_class(&row, 7, priority_of_tc)),
        dscp_source: dscp_row.map_or(String::new(), |row| row.path()),
        pcp_source: pcp_row.map_or(String::new(), |row| row.path()),
        group_of,
        queue_of,
    }
}

/// What a map does not name has traffic class 0.
fn by_class<const COUNT: usize>(row: &Row<'_>, of: u64, priority_of_tc: [u8; 8]) -> [u8; COUNT] {
    let mut map = [priority_of_tc[0]; COUNT];
    for (from, tc) in row.map(of, 7) {
        map[from] = priority_of_tc[usize::from(tc)];
    }
    map
}

/// `3,4`.
fn priorities(row: &Row<'_>, field: &str) -> BTreeSet<u8> {
    let mut priorities = BTreeSet::new();
    for part in row.text(field).iter().flat_map(|text| text.split(',')) {
        match part.trim().parse::<u8>() {
            Ok(priority) if priority < 8 => {
                priorities.insert(priority);
            }
            _ => {
                let message = format!("`{part}` is not a priority from 0 to 7; write them as 3,4");
                row.report().refuse(row.path_of(field), message);
            }
        }
    }
    priorities
}

/// Here a port's watchdog is for all its lossless priorities.
fn watched_priorities(database: Database<'_>, name: &str, row: &Row<'_>, lossless: &BTreeSet<u8>) {
    if !row.has("pfcwd_sw_enable") {
        return;
    }
    let watched = priorities(row, "pfcwd_sw_enable");
    let is_watched =
        watchdog_rows(database).any(|row| row.key.split(',').any(|port| port.trim() == name));
    if !is_watched {
        let message = "the port has no row in PFC_WD and is not watched; set pfcwd.enabled";
        database
            .report()
            .note(Kind::NotCarried, row.path_of("pfcwd_sw_enable"), message);
    } else if watched != *lossless {
        let message = "a port's watchdog is for all its lossless priorities";
        database
            .report()
            .note(Kind::Changed, row.path_of("pfcwd_sw_enable"), message);
    }
}
