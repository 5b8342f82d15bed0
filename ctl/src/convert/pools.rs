//! BUFFER_POOL: pools that classes share in SONiC and here.

use weir_core::{Alpha, Bytes, PoolConfig, PoolShare, Threshold};

use super::classes::{Buffers, Class};
use super::database::{Database, Row};
use super::notes::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Index of the pool among the rows of BUFFER_POOL.
    pub pool: usize,
    /// Reserved bytes.
    pub reserved: u64,
    /// Threshold in the pool.
    pub threshold: Threshold,
    /// Bytes.
    pub xon_offset: u64,
    /// Bytes; `None` in a lossy group.
    pub headroom: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Pool {
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Bytes; `None` for the sum that the classes need.
    pub headroom: Option<u64>,
    /// Ratio of oversubscription.
    pub oversubscription: u64,
}

/// Returns a profile's share of its pool; `None` if the pool has no size, or is invalid here.
pub fn share(profile: &Row<'_>, reserved: u64, headroom: Option<u64>) -> Option<Share> {
    let pool = profile.reference("pool", "BUFFER_POOL")?;
    let size = pool.number("size").filter(|size| *size > 0)?;
    let database = profile.database();
    let index = (database.rows("BUFFER_POOL").iter()).position(|row| row.key == pool.key)?;
    let threshold = match profile.number("static_th") {
        Some(threshold) => Threshold::Static(Bytes::new(threshold.min(size))),
        None => Threshold::Dynamic(Alpha::new(profile.text("dynamic_th")?.parse().ok()?)?),
    };
    Some(Share {
        pool: index,
        reserved,
        threshold,
        xon_offset: xon_offset(profile, reserved, threshold, size),
        headroom,
    })
}

/// SONiC resumes at the larger of `xon` and the threshold less `xon_offset`; here a buffer resumes within its reserve in any case.
fn xon_offset(profile: &Row<'_>, reserved: u64, threshold: Threshold, size: u64) -> u64 {
    let (xon, offset) = (profile.number("xon"), profile.number("xon_offset"));
    if let (Threshold::Static(threshold), Some(xon)) = (threshold, xon) {
        let below = (reserved + threshold.get()).saturating_sub(xon);
        return offset.map_or(below, |offset| offset.min(below));
    }
    let report = profile.report();
    match (xon, offset) {
        (Some(xon), None) => {
            if xon > reserved {
                let message = format!("without xon_offset a neighbour resumes at {xon} B; here it does within the reserve of {reserved} B: set xon-offset to resume sooner");
                report.note(Kind::Changed, profile.path_of("xon"), message);
            }
            size
        }
        (_, offset) => offset.unwrap_or(0),
    }
}

impl Share {
    /// Returns the larger value of each field; fields that cannot be compared are those of `self`.
    pub fn merged(self, other: Self) -> Self {
        Self {
            reserved: self.reserved.max(other.reserved),
            xon_offset: self.xon_offset.max(other.xon_offset),
            headroom: self.headroom.max(other.headroom),
            ..self
        }
    }

    /// Returns true if only the threshold differs, which a port may set separately.
    pub fn differs_by_threshold(self, other: Self) -> bool {
        let threshold = other.threshold;
        Self { threshold, ..self } == other
    }

    /// Returns true if a frame fits while all other buffers are empty.
    pub fn fits(&self, size: u64, frame: u64) -> bool {
        let share = PoolShare {
            pool: 0,
            reserved: Bytes::new(self.reserved),
            threshold: self.threshold,
            xon_offset: Bytes::ZERO,
        };
        let pool = PoolConfig::new(Bytes::new(size), Bytes::ZERO);
        pool.alone(&share).get() >= frame
    }
}

pub fn size(database: Database<'_>, pool: usize) -> u64 {
    let rows = database.rows("BUFFER_POOL");
    rows.get(pool)
        .and_then(|row| row.number("size"))
        .unwrap_or(0)
}

/// Returns the pools of these classes, each with its index among the rows. `cables` has the headroom for each port's cable.
pub fn pools(
    database: Database<'_>,
    classes: &[Class],
    ports: usize,
    cables: &[u64],
) -> Vec<(usize, Pool)> {
    let shares = |index: usize| {
        classes
            .iter()
            .filter_map(move |class| match class.buffers.0 {
                Buffers::Pooled(share) if share.pool == index => {
                    Some((share, class.headroom_by_cable, class.priorities.len()))
                }
                _ => None,
            })
    };
    let rows = database.rows("BUFFER_POOL");
    let used = (0..rows.len()).filter(|index| shares(*index).next().is_some());
    let pool = |index: usize| {
        let row = &rows[index];
        let each = |(share, by_cable, priorities): (Share, bool, usize)| {
            let of_ports = match by_cable {
                true => cables.iter().sum(),
                false => share.headroom.unwrap_or(0) * ports as u64,
            };
            of_ports * priorities as u64
        };
        let wanted = shares(index).map(each).sum::<u64>();
        let headroom = row.number("xoff").filter(|xoff| *xoff > 0);
        let by_cables = shares(index).any(|(_, by_cable, _)| by_cable);
        let (headroom, oversubscription) = match headroom.filter(|of_pool| *of_pool < wanted) {
            Some(of_pool) if by_cables => {
                let message = format!("{of_pool} B are for the headrooms of ASICs; those of the cables are {wanted} B at {ports} ports together, and the pool gets them");
                row.report()
                    .note(Kind::Changed, row.path_of("xoff"), message);
                (None, 1)
            }
            _ => fit(row, headroom, wanted, ports),
        };
        let pool = Pool {
            name: row.key.to_owned(),
            size: row.number("size").unwrap_or(0),
            headroom,
            oversubscription,
        };
        (index, pool)
    };
    used.map(pool).collect()
}

/// Keeps a shared headroom that is smaller than the sum, and notes the effect.
fn fit(row: &Row<'_>, headroom: Option<u64>, wanted: u64, ports: usize) -> (Option<u64>, u64) {
    const TIMES_MAX: u64 = 64;
    let times = headroom.map_or(1, |headroom| wanted.div_ceil(headroom).max(1));
    let report = row.report();
    if times > TIMES_MAX {
        let message = format!("its lossless groups have headrooms of {wanted} B at {ports} ports together, more than {TIMES_MAX} times as much: the pool gets their sum");
        report.note(Kind::Changed, row.path_of("xoff"), message);
        return (None, 1);
    }
    if times > 1 {
        let message = format!("its lossless groups have headrooms of {wanted} B at {ports} ports together: headroom-oversubscription = {times}, with which frames can be lost; take both lines out for a headroom of {wanted} B");
        report.note(Kind::Changed, row.path_of("xoff"), message);
    }
    (headroom, times)
}
