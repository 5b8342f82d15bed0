//! Advice on thresholds: those to change, and their new values.

use weir_config::daemon::Class;
use weir_config::units::{format_size, parse_size};
use weir_core::{Alpha, Bytes, ClassMode, Threshold};

use crate::result::{Advice, EgressPlan, IngressPlan, PoolPlan};

const STEP: Bytes = Bytes::new(1024);

fn rounded_up(bytes: u64) -> Bytes {
    Bytes::new(bytes).round_up_to(STEP)
}

/// Returns advice for each class, from all of its buffers and queues; losses come first. Each key occurs once.
pub fn advice(
    classes: &[Class],
    ingress: &[IngressPlan],
    egress: &[EgressPlan],
    pools: &[PoolPlan],
) -> Vec<Advice> {
    let mut all = Vec::new();
    for class in classes {
        let of_class = |name: &str| name == class.name;
        let ingress: Vec<_> = ingress.iter().filter(|row| of_class(&row.class)).collect();
        let egress: Vec<_> = egress.iter().filter(|row| of_class(&row.class)).collect();
        all.extend(headroom(class, &ingress));
        all.extend(budgets(class, &ingress));
        all.extend(xon(class, &egress));
        for one in ecn(class, &egress, pools) {
            let is_known = |known: &Advice| known.place() == one.place() && known.key == one.key;
            if !all.iter().any(is_known) {
                all.push(one);
            }
        }
    }
    let of_pools = pool_headrooms(classes, pools, &all);
    all.extend(of_pools);
    all
}

/// Advises pools that set `headroom`: as much as their classes need after the advice.
fn pool_headrooms(classes: &[Class], pools: &[PoolPlan], all: &[Advice]) -> Vec<Advice> {
    let more = |class: &Class, pool: &PoolPlan| -> Option<u64> {
        let is_of_class =
            |one: &&Advice| one.place() == ("class", &class.name) && one.key == "headroom";
        let advised = parse_size(&all.iter().find(is_of_class)?.value).ok()?;
        let now = class.mode.thresholds()?.headroom();
        let buffers = (pool.ports * class.priorities.len()) as u64;
        Some((advised - now).get() * buffers)
    };
    let mut advice: Vec<Advice> = Vec::new();
    for pool in pools.iter().filter(|pool| pool.headroom_is_set) {
        let is_of_pool = |class: &&Class| {
            let share = class.pool.as_ref();
            share.is_some_and(|share| share.name == pool.pool)
        };
        let of_pool = || classes.iter().filter(is_of_pool);
        let growing = of_pool().find(|class| more(class, pool).is_some());
        let more: u64 = of_pool().filter_map(|class| more(class, pool)).sum();
        let together = pool.headroom_wanted_bytes + more;
        let needed = together.div_ceil(u64::from(pool.oversubscription.max(1)));
        let (Some(class), true) = (growing, needed > pool.headroom_bytes) else {
            continue;
        };
        let one = Advice {
            about: "loss",
            class: class.name.clone(),
            ecn_profile: None,
            pool: Some(pool.pool.clone()),
            key: "headroom",
            value: format_size(rounded_up(needed)),
            why: format!(
                "the headrooms of its classes at {} ports are {together} B together then, and it has {} B",
                pool.ports, pool.headroom_bytes
            ),
        };
        match advice.iter_mut().find(|known| known.pool == one.pool) {
            // Of different switches, the one with the most ports counts.
            Some(known) if size(known) < needed => *known = one,
            Some(_) => {}
            None => advice.push(one),
        }
    }
    advice
}

fn size(advice: &Advice) -> u64 {
    parse_size(&advice.value).map_or(0, Bytes::get)
}

/// Returns the setting that makes a class pause at twice the amount, and its new value, which is valid for a pool as well.
fn later_pause(class: &Class, pools: &[PoolPlan]) -> Option<Setting> {
    let of_class = |key, value| Setting {
        pool: None,
        key,
        value,
    };
    let twice = |bytes: Bytes| rounded_up(2 * bytes.get());
    let Some(of_pool) = &class.pool else {
        let xoff = class.mode.thresholds()?.xoff();
        return Some(of_class("xoff", format_size(twice(xoff))));
    };
    let pool = pools.iter().find(|pool| pool.pool == of_pool.name)?;
    let size = Bytes::new(pool.size_bytes);
    match of_pool.share.threshold {
        Threshold::Static(threshold) if twice(threshold) <= size => {
            Some(of_class("static-threshold", format_size(twice(threshold))))
        }
        // Beyond 1 there is little more of the pool to gain.
        Threshold::Dynamic(alpha) if alpha.exponent() < 0 => {
            let alpha = Alpha::new(alpha.exponent() + 1)?;
            Some(of_class("alpha", alpha.to_string()))
        }
        _ => Some(Setting {
            pool: Some(of_pool.name.clone()),
            key: "size",
            value: format_size(twice(size)),
        }),
    }
}

/// A key of a class, or of its pool, and a value.
struct Setting {
    pool: Option<String>,
    key: &'static str,
    value: String,
}

fn headroom(class: &Class, ingress: &[&IngressPlan]) -> Option<Advice> {
    let rooms = ingress
        .iter()
        .filter_map(|row| Some((row, row.headroom.as_ref()?)));
    let (row, worst) = rooms.max_by_key(|(_, room)| room.needed_bytes)?;
    (worst.needed_bytes > worst.configured_bytes).then(|| Advice {
        about: "loss",
        class: class.name.clone(),
        ecn_profile: None,
        pool: None,
        key: "headroom",
        value: format_size(rounded_up(worst.needed_bytes)),
        why: format!(
            "behind {}:{} {} B may come after XOFF, and there is room for {} B",
            row.switch, row.port, worst.needed_bytes, worst.configured_bytes
        ),
    })
}

fn budgets(class: &Class, ingress: &[&IngressPlan]) -> Option<Advice> {
    let plans = ingress
        .iter()
        .filter_map(|row| Some((row, row.budgets.as_ref()?)));
    let (row, worst) = plans.min_by_key(|(_, plan)| plan.spare_bytes)?;
    let ClassMode::Level { budgets, .. } = class.mode else {
        return None;
    };
    (worst.spare_bytes < 0).then(|| {
        let needed = rounded_up(worst.gamma_max_bytes + worst.reserve_bytes);
        let each = budgets.as_slice().iter();
        let list: Vec<String> = each
            .map(|budget| format!("\"{}\"", format_size((*budget).max(needed))))
            .collect();
        Advice {
            about: "deadlock",
            class: class.name.clone(),
            ecn_profile: None,
            pool: None,
            key: "budgets",
            value: format!("[{}]", list.join(", ")),
            why: format!(
                "behind {}:{} the least budget is {} B short of γmax + rT",
                row.switch, row.port, -worst.spare_bytes
            ),
        }
    })
}

fn xon(class: &Class, egress: &[&EgressPlan]) -> Vec<Advice> {
    // Shares of a pool have no such keys.
    let own = class.mode.thresholds().filter(|_| class.pool.is_none());
    let Some(thresholds) = own else {
        return Vec::new();
    };
    let (xoff, xon) = (thresholds.xoff(), thresholds.xon());
    let rows = egress
        .iter()
        .filter_map(|row| Some((row, row.xon_needed_bytes?)));
    let Some((row, needed)) = rows.max_by_key(|(_, needed)| *needed) else {
        return Vec::new();
    };
    if needed <= xon.get() {
        return Vec::new();
    }
    let one = |key, value: Bytes, why: String| Advice {
        about: "throughput",
        class: class.name.clone(),
        ecn_profile: None,
        pool: None,
        key,
        value: format_size(value),
        why,
    };
    let value = rounded_up(needed);
    let mut advice = Vec::new();
    if value >= xoff {
        let above = value + (xoff - xon).round_up_to(STEP);
        advice.push(one("xoff", above, "above xon, as far as now".to_owned()));
    }
    advice.push(one(
        "xon",
        value,
        format!(
            "{}:{} sends {needed} B of each of {} buffers before frames arrive again after a pause, and X_on leaves {} B: the port runs dry",
            row.switch, row.port, row.senders, xon.get()
        ),
    ));
    advice
}

fn ecn(class: &Class, egress: &[&EgressPlan], pools: &[PoolPlan]) -> Vec<Advice> {
    let Some(red) = class.ecn else {
        return Vec::new();
    };
    let plans = egress
        .iter()
        .filter_map(|row| Some((row, row.ecn.as_ref()?)));
    let late = plans.filter(|(_, plan)| matches!(plan.verdict, "too late" | "after"));
    let Some((row, plan)) = late.min_by_key(|(_, plan)| plan.kmax_advised_bytes.unwrap_or(0))
    else {
        return Vec::new();
    };
    // A profile's thresholds are in its table, and apply to all classes that use it.
    let [kmin_key, kmax_key] = match &class.ecn_profile {
        None => ["ecn-kmin", "ecn-kmax"],
        Some(_) => ["kmin", "kmax"],
    };
    let one = |key: &'static str, value: Bytes, why: String| Advice {
        about: "ecn",
        class: class.name.clone(),
        ecn_profile: class.ecn_profile.clone(),
        pool: None,
        key,
        value: format_size(value),
        why,
    };
    let place = format!("{}:{}", row.switch, row.port);
    match plan.kmax_advised_bytes.map(Bytes::new) {
        Some(kmax) => {
            let mut advice = vec![one(
                kmax_key,
                kmax,
                format!("at {place} senders are to know of congestion before PFC pauses them"),
            )];
            if red.kmin > kmax {
                let kmin = rounded_up(kmax.get() / 4);
                advice.push(one(kmin_key, kmin, format!("not above {kmax_key}")));
            }
            advice
        }
        None => {
            let Some(Setting { pool, key, value }) = later_pause(class, pools) else {
                return Vec::new();
            };
            vec![Advice {
                about: "ecn",
                class: class.name.clone(),
                ecn_profile: None,
                pool,
                key,
                value,
                why: format!(
                    "at {place} buffers reach xoff before any mark can reach a sender, with any K_max; this is a first step"
                ),
            }]
        }
    }
}
