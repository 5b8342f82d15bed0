//! Metrics of credits at one port.

use weir_core::{CreditState, Priority};
use weir_dataplane::messages::PortSnapshot;
use weir_monitoring::definitions as define;

use super::families::Families;

/// Adds the credits of `port`, if any class has them.
pub(super) fn collect(families: &mut Families, port: &str, state: &PortSnapshot) {
    let Some(any) = state.credits.iter().flatten().next() else {
        return;
    };
    families.add(
        &define::CREDIT_SLOTS,
        &[port],
        f64::from(state.credit_slots),
    );
    let [cc_sent, cf_received, cf_ignored, cf_implausible] = any.sender_updates;
    let [cf_sent, cc_received, cc_ignored, cc_implausible] = any.receiver_updates;
    for (message, direction, count) in [
        ("cf_update", "tx", cf_sent),
        ("cf_update", "rx", cf_received),
        ("cc_update", "tx", cc_sent),
        ("cc_update", "rx", cc_received),
    ] {
        let labels = [port, message, direction];
        families.add(&define::CREDIT_UPDATES, &labels, count as f64);
    }
    for (reason, count) in [
        ("epoch", cf_ignored + cc_ignored),
        ("implausible", cf_implausible + cc_implausible),
    ] {
        let labels = [port, reason];
        families.add(&define::CREDIT_UPDATES_IGNORED, &labels, count as f64);
    }
    for (priority, gauges) in Priority::ALL.into_iter().zip(&state.credits) {
        let Some(gauges) = gauges else { continue };
        let number = priority.to_string();
        let (sending, receiving) = (&gauges.sending, &gauges.receiving);
        for (direction, now, limit) in [
            ("tx", sending.state, sending.limit),
            ("rx", receiving.state, receiving.limit),
        ] {
            let labels = [port, &number, direction];
            families.add(&define::CREDIT_LIMIT, &labels, f64::from(limit));
            for (name, state) in CreditState::NAMED {
                let labels = [port, &number, direction, name];
                families.add(
                    &define::CREDIT_STATE,
                    &labels,
                    f64::from(u8::from(now == state)),
                );
            }
        }
        let place = [port, number.as_str()];
        for (metric, value) in [
            (&define::CREDITS_USED, sending.used),
            (&define::CREDITS_USED_MAX, sending.watermark),
            (&define::CREDITS_OUTSTANDING, receiving.outstanding),
        ] {
            families.add(metric, &place, f64::from(value));
        }
        let returned = receiving.returned as f64;
        families.add(&define::CREDITS_RETURNED, &place, returned);
    }
}
