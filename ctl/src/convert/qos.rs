//! PORT_QOS_MAP and the maps it names: from DSCP and PCP to priorities.
//!
//! SONiC has four numbers for one priority of Weir: traffic class, queue, priority group and PFC priority. The
//! priority of a traffic class is its queue, or the PFC priority that pauses this queue.

use std::collections::BTreeSet;

use weir_config::daemon::Trust;

use super::database::{Database, Row};
use super::notes::Kind;
use super::ports::watchdog_rows;
use super::queues::QUEUE_MAX;

/// Classification of a port.
#[derive(Clone, Debug)]
pub struct PortQos {
    /// Priorities with PFC.
    pub lossless: BTreeSet<u8>,
    /// Priority by DSCP; `None` if the port ignores it.
    pub dscp: Option<[u8; 64]>,
    /// Priority by PCP.
    pub pcp: Option<[u8; 8]>,
    /// Source of `dscp`, for comments.
    pub dscp_source: String,
    pub pcp_source: String,
    /// SONiC's priority group of each priority.
    pub group_of: [usize; 8],
    /// SONiC's queue of each priority.
    pub queue_of: [usize; 8],
}

impl PortQos {
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
/// SONiC has traffic classes 0 to 15; a switch with two uplinks to one rack uses those above 7 for tunnelled frames.
const TC_COUNT: usize = 16;

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
    let of_tc = |field, table, to| numbers::<TC_COUNT>(holder.reference(field, table).as_ref(), to);
    let of_pfc = |field, table| numbers::<8>(holder.reference(field, table).as_ref(), 7);
    let queue_of_tc = of_tc("tc_to_queue_map", "TC_TO_QUEUE_MAP", QUEUE_MAX as u64);
    let group_of_tc = of_tc("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", 7);
    let queue_of_pfc = of_pfc("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE");
    let has_group_of_pfc = holder.has("pfc_to_pg_map");
    let group_of_pfc = of_pfc("pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP");

    let mut classes = Classes {
        priority_of: [None; TC_COUNT],
        queue_of: queue_of_tc,
    };
    let (mut group_of, mut queue_of) = (IDENTITY, IDENTITY);
    // Backwards, so that the lowest traffic class of a priority determines its group.
    for tc in (0..TC_COUNT).rev() {
        let queue = queue_of_tc[tc];
        let pausing = lossless
            .iter()
            .map(|pfc| usize::from(*pfc))
            .find(|pfc| queue_of_pfc[*pfc] == queue);
        let Some(priority) = pausing.or_else(|| (queue < 8).then_some(queue)) else {
            continue;
        };
        classes.priority_of[tc] = Some(priority as u8);
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
        dscp: dscp_row.map(|row| classes.priorities(&row)),
        pcp: pcp_row.map(|row| classes.priorities(&row)),
        dscp_source: dscp_row.map_or(String::new(), |row| row.path()),
        pcp_source: pcp_row.map_or(String::new(), |row| row.path()),
        group_of,
        queue_of,
    }
}

/// Reads a map of numbers up to `to`; missing numbers are mapped to themselves.
fn numbers<const COUNT: usize>(row: Option<&Row<'_>>, to: u64) -> [usize; COUNT] {
    let mut map = std::array::from_fn(|number| number);
    for (from, to) in row.map_or(Vec::new(), |row| row.map(COUNT as u64 - 1, to)) {
        map[from] = usize::from(to);
    }
    map
}

struct Classes {
    /// `None` if the queue is above 7 and no priority pauses it.
    priority_of: [Option<u8>; TC_COUNT],
    queue_of: [usize; TC_COUNT],
}

impl Classes {
    /// Returns the priority of each DSCP or PCP of a map; missing values have traffic class 0.
    fn priorities<const COUNT: usize>(&self, row: &Row<'_>) -> [u8; COUNT] {
        let mut map = [self.priority_of[0].unwrap_or(0); COUNT];
        for (from, tc) in row.map(COUNT as u64 - 1, TC_COUNT as u64 - 1) {
            let tc = usize::from(tc);
            map[from] = self.priority_of[tc].unwrap_or_else(|| {
                let queue = self.queue_of[tc];
                let message = format!("traffic class {tc} has queue {queue}; there are queues 0 to 7, and priority 0 is written");
                let path = row.path_of(&from.to_string());
                row.report().note(Kind::Changed, path, message);
                0
            });
        }
        map
    }
}

/// Parses `3,4`.
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

/// Returns the watched priorities; here a port's watchdog covers all of its lossless priorities.
fn watched_priorities(database: Database<'_>, name: &str, row: &Row<'_>, lossless: &BTreeSet<u8>) {
    if !row.has("pfcwd_sw_enable") {
        return;
    }
    let watched = priorities(row, "pfcwd_sw_enable");
    let is_watched =
        watchdog_rows(database).any(|row| row.key.split(',').any(|port| port.trim() == name));
    if !is_watched {
        let message = "the port has no row in PFC_WD; watched by default at edge ports, elsewhere set pfcwd.enabled";
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
