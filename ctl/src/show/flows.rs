//! `switchctl flows`.

use anyhow::Result;
use weir_api::daemon::Flows;

use crate::target::Target;
use weir_output::{bytes, seconds, table, Output};

/// Prints recent flows, the fastest first, optionally restricted to an ingress and an egress port.
pub fn flows(
    target: &Target,
    output: &Output,
    ingress: Option<&str>,
    egress: Option<&str>,
) -> Result<()> {
    let mut answer: Flows = target.get("/v1/flows")?;
    let is_wanted = |wanted: Option<&str>, port: &str| wanted.is_none_or(|wanted| wanted == port);
    answer
        .flows
        .retain(|flow| is_wanted(ingress, &flow.ingress) && is_wanted(egress, &flow.egress));
    answer
        .flows
        .sort_by(|a, b| b.bits_per_second.total_cmp(&a.bits_per_second));
    output.print(&answer, text)
}

fn text(answer: &Flows) -> String {
    if answer.flows.is_empty() {
        return "no recent flows\n".to_owned();
    }
    let mut text = table(
        &[
            "ingress",
            "egress",
            ">priority",
            "destination",
            "flow hash",
            ">rate",
            ">bytes",
            ">frames",
            ">age",
            ">idle",
        ],
        answer.flows.iter().map(|flow| {
            vec![
                flow.ingress.clone(),
                flow.egress.clone(),
                flow.priority.to_string(),
                flow.destination.clone(),
                flow.flow_hash.clone(),
                mean_rate(flow.bits_per_second),
                bytes(flow.bytes),
                flow.frames.to_string(),
                seconds(flow.age_seconds),
                seconds(flow.idle_seconds),
            ]
        }),
    );
    if answer.left_out > 0 {
        text += &format!("{} more flows are not shown\n", answer.left_out);
    }
    if answer.evictions_total > 0 {
        text += &format!(
            "{} flows were evicted: the table was full; raise flows.capacity\n",
            answer.evictions_total
        );
    }
    text
}

fn mean_rate(bits_per_second: f64) -> String {
    const UNITS: [&str; 5] = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
    let mut value = bits_per_second;
    let mut unit = 0;
    // 999.95 would be printed as 1000.0.
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_the_unit_that_suits_them() {
        assert_eq!(mean_rate(0.0), "0.0 bit/s");
        assert_eq!(mean_rate(999.9), "999.9 bit/s");
        assert_eq!(mean_rate(999.96), "1.0 kbit/s");
        assert_eq!(mean_rate(97_512_345.6), "97.5 Mbit/s");
        assert_eq!(mean_rate(100_400_000_000.0), "100.4 Gbit/s");
    }
}
