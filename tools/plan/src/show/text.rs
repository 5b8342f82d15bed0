//! Formats a plan as text.

use weir_output::{bytes, seconds, table, NONE};

use crate::result::{EgressPlan, IngressPlan, Plan, PoolPlan};

/// Formats tables of buffers and queues, followed by the advice.
pub fn text(plan: &Plan) -> String {
    let mut out = String::new();
    let pfc = grouped(
        plan.ingress.iter().filter(|row| row.budgets.is_none()),
        same_ingress,
    );
    if !pfc.is_empty() {
        out += &table(
            &[
                "buffer",
                "class",
                ">peak",
                ">xoff after",
                ">pauses",
                ">first",
                ">longest",
                ">period",
                ">paused",
                ">headroom",
                ">needed",
                ">any frames",
            ],
            pfc.iter().map(ingress_cells),
        );
    }
    let levels = grouped(
        plan.ingress.iter().filter(|row| row.budgets.is_some()),
        same_ingress,
    );
    if !levels.is_empty() {
        out += "\n";
        out += &table(
            &[
                "link", "class", ">peak", ">D", ">least b", ">γmax", ">rT", ">spare",
            ],
            levels.iter().map(budget_cells),
        );
    }
    out += "\n";
    out += &table(
        &[
            "queue",
            "class",
            ">senders",
            ">offered",
            ">rate",
            ">peak",
            ">waits",
            ">K_min after",
            ">K_max after",
            ">known after",
            ">xoff after",
            "ECN",
        ],
        grouped(plan.egress.iter(), same_egress)
            .iter()
            .map(egress_cells),
    );
    out += &pools(plan);
    for note in &plan.notes {
        out += &format!("\nnote: {note}");
    }
    if !plan.notes.is_empty() {
        out += "\n";
    }
    out += "\n";
    out += &advice_text(plan);
    out
}

fn pools(plan: &Plan) -> String {
    if plan.pools.is_empty() {
        return String::new();
    }
    let row = |pool: &PoolPlan| {
        vec![
            format!("{}:{}", pool.switch, pool.pool),
            bytes(pool.size_bytes),
            pool.buffers.to_string(),
            bytes(pool.alone_bytes),
            bytes(pool.two_bytes),
            bytes(pool.all_bytes),
            bytes(pool.headroom_bytes),
            bytes(pool.headroom_wanted_bytes),
            bytes(pool.memory_bytes),
            bytes(pool.own_memory_bytes),
        ]
    };
    let headings = [
        "pool",
        ">size",
        ">buffers",
        ">one has",
        ">two each",
        ">all each",
        ">headroom",
        ">needed",
        ">memory",
        ">if not shared",
    ];
    "\n".to_owned() + &table(&headings, plan.pools.iter().map(row))
}

fn advice_text(plan: &Plan) -> String {
    if plan.advice.is_empty() {
        return "nothing to change\n".to_owned();
    }
    let mut out = String::from("to change:\n");
    for advice in &plan.advice {
        let line = if plan.kind == "scenario" {
            advice.as_override()
        } else {
            let (table, name) = advice.place();
            format!("{}    # {table} {name}", advice.as_line())
        };
        out += &format!("  {line}\n      {}: {}\n", advice.about, advice.why);
    }
    out
}

/// Groups neighbouring rows that differ only in their ports' names: the first one, and their number.
pub fn grouped<'a, T>(
    rows: impl Iterator<Item = &'a T>,
    same: impl Fn(&T, &T) -> bool,
) -> Vec<(&'a T, usize)> {
    let mut groups: Vec<(&T, usize)> = Vec::new();
    for row in rows {
        match groups.last_mut() {
            Some((first, count)) if same(first, row) => *count += 1,
            _ => groups.push((row, 1)),
        }
    }
    groups
}

/// Returns true if both have the same text.
pub fn same_ingress(left: &IngressPlan, right: &IngressPlan) -> bool {
    left.switch == right.switch && {
        let cells = [left, right].map(|row| {
            let row = (row, 1);
            let cells = if row.0.budgets.is_some() {
                budget_cells(&row)
            } else {
                ingress_cells(&row)
            };
            cells[1..].to_vec()
        });
        cells[0] == cells[1]
    }
}

fn same_egress(left: &EgressPlan, right: &EgressPlan) -> bool {
    left.switch == right.switch && egress_cells(&(left, 1))[1..] == egress_cells(&(right, 1))[1..]
}

/// Formats a port, and the number of others like it.
pub fn place(switch: &str, port: &str, count: usize) -> String {
    match count {
        1 => format!("{switch}:{port}"),
        _ => format!("{switch}:{port} and {} alike", count - 1),
    }
}

fn time(micros: Option<f64>) -> String {
    micros.map_or_else(|| NONE.to_owned(), |micros| seconds(micros / 1e6))
}

fn ingress_cells((row, count): &(&IngressPlan, usize)) -> Vec<String> {
    let pauses = row.pauses.as_ref();
    let none = || NONE.to_owned();
    let room = |value: fn(&crate::result::Headroom) -> u64| {
        row.headroom
            .as_ref()
            .map_or_else(none, |room| bytes(value(room)))
    };
    vec![
        place(&row.switch, &row.port, *count),
        row.class.clone(),
        bytes(row.peak_bytes),
        time(row.xoff_at_us),
        pauses.map_or_else(none, |pauses| pauses.count.to_string()),
        time(pauses.map(|pauses| pauses.first_us)),
        time(pauses.and_then(|pauses| pauses.longest_us)),
        time(pauses.and_then(|pauses| pauses.period_us)),
        pauses.map_or_else(none, |pauses| format!("{:.1} %", pauses.duty * 100.0)),
        room(|room| room.configured_bytes),
        room(|room| room.needed_bytes),
        room(|room| room.needed_any_frame_bytes),
    ]
}

fn budget_cells((row, count): &(&IngressPlan, usize)) -> Vec<String> {
    let mut cells = vec![
        place(&row.switch, &row.port, *count),
        row.class.clone(),
        bytes(row.peak_bytes),
    ];
    if let Some(plan) = &row.budgets {
        let spare = bytes(plan.spare_bytes.unsigned_abs());
        cells.extend([
            plan.depth.to_string(),
            bytes(plan.least_bytes),
            bytes(plan.gamma_max_bytes),
            bytes(plan.reserve_bytes),
            if plan.spare_bytes < 0 {
                format!("-{spare}")
            } else {
                spare
            },
        ]);
    }
    cells
}

fn egress_cells((row, count): &(&EgressPlan, usize)) -> Vec<String> {
    let ecn = row.ecn.as_ref();
    let rate = |gigabits: f64| weir_output::rate((gigabits * 1e6).round() as u64 * 1000);
    vec![
        place(&row.switch, &row.port, *count),
        row.class.clone(),
        row.senders.to_string(),
        rate(row.offered_gbps),
        rate(row.rate_gbps),
        bytes(row.peak_bytes),
        seconds(row.delay_us / 1e6),
        time(ecn.and_then(|ecn| ecn.kmin_at_us)),
        time(ecn.and_then(|ecn| ecn.kmax_at_us)),
        time(ecn.and_then(|ecn| ecn.told_at_us)),
        time(ecn.and_then(|ecn| ecn.xoff_at_us)),
        ecn.map_or(NONE, |ecn| ecn.verdict).to_owned(),
    ]
}
