//! Devices that keep polling for frames for a while before they enable interrupts.

use std::io;

use weir_config::daemon::DataplaneConfig;
use weir_config::kernels::NAPI_DEFER;
use weir_core::Duration;
use weir_netlink::napi::{self, Deferral, Napi};

use super::devices::Device;

/// Interval with preferred busy polling: longer than the threads sleep, so that they do the polling.
const WITH_BUSY_POLL: Duration = Duration::from_micros(200);
/// Number of consecutive empty polls.
const LOOKS: u32 = 2;
/// Added to the interval to mark it as Weir's: a killed switch leaves its interval behind.
const OURS_NANOS: u64 = 57;
const MICROSECOND_NANOS: u64 = 1_000;

#[derive(Debug)]
pub(crate) struct Deferred {
    device: String,
    before: Vec<Napi>,
}

impl Deferred {
    /// Applies the file's settings; does nothing if it has none.
    pub(crate) fn see_to(config: &DataplaneConfig, name: &str, device: &Device) -> Option<Self> {
        let wanted = wanted(config)?;
        let mut deferred = Self {
            device: name.to_owned(),
            before: Vec::new(),
        };
        // An interval set by hand for busy polling is better than a default.
        let is_kept = |napi: &Napi| {
            config.napi_defer.is_none() && napi.deferral.looks > 0 && !is_ours(napi.deferral)
        };
        let seen_to = napi::of_device(device.index).and_then(|all| {
            for napi in all.into_iter().filter(|napi| !is_kept(napi)) {
                napi::set(napi.id, wanted)?;
                deferred.before.push(napi);
            }
            Ok(())
        });
        if let Err(error) = seen_to {
            tracing::warn!(
                device = name,
                error = %reason(&error),
                "interrupts of this device are unchanged: `napi-defer` needs {} or newer; on older kernels, write to napi_defer_hard_irqs and gro_flush_timeout in /sys/class/net/{name}",
                NAPI_DEFER.since
            );
        }
        Some(deferred)
    }

    /// Restores the setting. The device may be gone, or was down, which resets it.
    pub(crate) fn put_back(&self) {
        for napi in &self.before {
            let before = match is_ours(napi.deferral) {
                true => Deferral::default(),
                false => napi.deferral,
            };
            if let Err(error) = napi::set(napi.id, before) {
                let device = &self.device;
                tracing::debug!(device, %error, "cannot restore a NAPI's settings; it may have disappeared with its device");
            }
        }
    }
}

/// Returns the setting for a device; `None` to leave it unchanged.
fn wanted(config: &DataplaneConfig) -> Option<Deferral> {
    let by_default = match config.busy_poll.is_zero() {
        true => Duration::ZERO,
        false => WITH_BUSY_POLL,
    };
    let interval = config.napi_defer.unwrap_or(by_default);
    (!interval.is_zero()).then(|| Deferral {
        looks: LOOKS,
        interval_nanos: interval.as_nanos() + OURS_NANOS,
    })
}

fn is_ours(deferral: Deferral) -> bool {
    deferral.looks == LOOKS && deferral.interval_nanos % MICROSECOND_NANOS == OURS_NANOS
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::Unsupported | io::ErrorKind::NotFound => "the kernel cannot".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(napi_defer: Option<Duration>, busy_poll: Duration) -> Option<u64> {
        let config = DataplaneConfig {
            napi_defer,
            busy_poll,
            ..DataplaneConfig::default()
        };
        Some(wanted(&config)?.interval_nanos)
    }

    #[test]
    fn busy_polling_brings_a_deferral_unless_the_file_says_otherwise() {
        let micros = Duration::from_micros;
        assert_eq!(nanos(None, Duration::ZERO), None);
        assert_eq!(nanos(None, micros(20)), Some(200_057));
        assert_eq!(nanos(Some(Duration::ZERO), micros(20)), None);
        assert_eq!(nanos(Some(micros(50)), micros(20)), Some(50_057));
        assert_eq!(nanos(Some(micros(50)), Duration::ZERO), Some(50_057));
    }

    #[test]
    fn only_what_a_switch_has_left_is_ours() {
        let of = |looks, interval_nanos| {
            is_ours(Deferral {
                looks,
                interval_nanos,
            })
        };
        assert!(of(2, 200_057));
        assert!(!of(2, 200_000) && !of(1, 200_057) && !of(0, 0));
    }
}
