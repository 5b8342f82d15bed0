//! Which threshold to change, and to what.

use weir_config::daemon::Class;
use weir_config::units::format_size;
use weir_core::{Bytes, ClassMode};

use crate::result::{Advice, EgressPlan, IngressPlan};

/// Advised sizes are whole numbers of this.
const STEP: Bytes = Bytes::new(1024);

fn rounded_up(bytes: u64) -> Bytes {
    Bytes::new(bytes).round_up_to(STEP)
}

/// For each class, from all of its buffers and queues; what is about losses first. Each key once.
pub fn advice(classes: &[Class], ingress: &[IngressPlan], egress: &[EgressPlan]) -> Vec<Advice> {
    let mut all = Vec::new();
    for class in classes {
        let of_class = |name: &str| name == class.name;
        let ingress: Vec<_> = ingress.iter().filter(|row| of_class(&row.class)).collect();
        let egress: Vec<_> = egress.iter().filter(|row| of_class(&row.class)).collect();
        all.extend(headroom(class, &ingress));
        all.extend(budgets(class, &ingress));
        all.extend(xon(class, &egress));
        for one in ecn(class, &egress) {
            let is_known = |known: &Advice| {
                let same_place = match &one.ecn_profile {
                    None => known.class == one.class,
                    profile => known.ecn_profile == *profile,
                };
                same_place && known.key == one.key
            };
            if !all.iter().any(is_known) {
                all.push(one);
            }
        }
    }
    all
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
    // Those of a share of a pool are no keys.
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

fn ecn(class: &Class, egress: &[&EgressPlan]) -> Vec<Advice> {
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
    // Thresholds of a profile are in its table, and for all classes that have it.
    let [kmin_key, kmax_key] = match &class.ecn_profile {
        None => ["ecn-kmin", "ecn-kmax"],
        Some(_) => ["kmin", "kmax"],
    };
    let one = |key: &'static str, value: Bytes, why: String| Advice {
        about: "ecn",
        class: class.name.clone(),
        ecn_profile: class.ecn_profile.clone().filter(|_| key != "xoff"),
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
            let Some(thresholds) = class.mode.thresholds() else {
                return Vec::new();
            };
            let twice = Bytes::new(2 * thresholds.xoff().get()).round_up_to(STEP);
            let why = format!(
                "at {place} buffers reach xoff before any mark can reach a sender, whatever K_max; this is a first step"
            );
            vec![one("xoff", twice, why)]
        }
    }
}
