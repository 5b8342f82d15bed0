//! Limits wrong tokens per client address.

use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Maximum number of wrong tokens from a client within [`WINDOW`].
const WRONG_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// Maximum number of addresses kept. A new one replaces the address whose window began first.
const CLIENTS_MAX: usize = 256;
/// Leading bits of an IPv6 address that its host does not choose.
const NETWORK_BITS: u32 = 64;

/// Clients that recently sent wrong tokens.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    clients: Vec<Client>,
    /// Wrong tokens since the last report.
    unreported: u64,
    reported: Option<Instant>,
}

#[derive(Debug)]
struct Client {
    /// `None` means all clients without an address.
    network: Option<IpAddr>,
    since: Instant,
    wrong: u32,
}

impl Guesses {
    /// Returns the waiting time as an error once a client has sent too many wrong tokens.
    pub(super) fn may_try(&mut self, host: Option<IpAddr>, now: Instant) -> Result<(), Duration> {
        let expired = |client: &Client| now.saturating_duration_since(client.since) >= WINDOW;
        self.clients.retain(|client| !expired(client));
        let network = host.map(network);
        match self.clients.iter().find(|client| client.network == network) {
            Some(client) if client.wrong >= WRONG_MAX => {
                Err(WINDOW.saturating_sub(now.saturating_duration_since(client.since)))
            }
            _ => Ok(()),
        }
    }

    /// Counts a wrong token. When a client reaches its limit, returns the number of wrong tokens to report, at most once a
    /// minute.
    pub(super) fn note_wrong(&mut self, host: Option<IpAddr>, now: Instant) -> Option<u64> {
        self.unreported += 1;
        let network = host.map(network);
        let known = self
            .clients
            .iter()
            .position(|client| client.network == network);
        let at = known.unwrap_or_else(|| {
            if self.clients.len() >= CLIENTS_MAX {
                // Clients are ordered by the start of their windows.
                self.clients.remove(0);
            }
            self.clients.push(Client {
                network,
                since: now,
                wrong: 0,
            });
            self.clients.len() - 1
        });
        let client = self.clients.get_mut(at)?;
        client.wrong += 1;
        let is_due = self
            .reported
            .is_none_or(|then| now.saturating_duration_since(then) >= WINDOW);
        if client.wrong < WRONG_MAX || !is_due {
            return None;
        }
        self.reported = Some(now);
        Some(std::mem::take(&mut self.unreported))
    }
}

/// Returns the part of an address that a single host cannot vary.
fn network(host: IpAddr) -> IpAddr {
    match host.to_canonical() {
        IpAddr::V6(address) => {
            let mask = u128::MAX << (128 - NETWORK_BITS);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn a_client_that_guesses_is_not_heard_until_its_window_ends_and_others_are() {
        let mut guesses = Guesses::default();
        let began = Instant::now();
        let (guesser, other) = (host("192.0.2.1"), host("192.0.2.2"));
        let mut reports = Vec::new();
        let mut tried = 0;
        while guesses.may_try(guesser, began).is_ok() {
            tried += 1;
            reports.extend(guesses.note_wrong(guesser, began));
        }
        assert_eq!(tried, WRONG_MAX);
        assert_eq!(reports, [u64::from(WRONG_MAX)]);
        let soon = began + WINDOW / 4;
        assert_eq!(guesses.may_try(guesser, soon), Err(WINDOW * 3 / 4));
        assert_eq!(guesses.may_try(other, soon), Ok(()));
        assert_eq!(guesses.may_try(guesser, began + WINDOW), Ok(()));
    }

    #[test]
    fn an_address_of_ipv6_is_no_new_client_within_its_network() {
        let mut guesses = Guesses::default();
        let now = Instant::now();
        for number in 0..WRONG_MAX {
            guesses.note_wrong(host(&format!("2001:db8::{number:x}")), now);
        }
        assert!(guesses.may_try(host("2001:db8::ffff"), now).is_err());
        assert!(guesses.may_try(host("2001:db8:0:1::1"), now).is_ok());
        assert!(guesses.may_try(host("::ffff:192.0.2.1"), now).is_ok());
    }

    #[test]
    fn many_clients_take_a_bounded_table_and_one_report_a_minute() {
        let mut guesses = Guesses::default();
        let now = Instant::now();
        let mut reports = 0;
        for number in 0..4 * CLIENTS_MAX as u32 {
            let host = Some(IpAddr::from(number.to_be_bytes()));
            for _ in 0..WRONG_MAX {
                reports += u32::from(guesses.note_wrong(host, now).is_some());
            }
        }
        assert_eq!(guesses.clients.len(), CLIENTS_MAX);
        assert_eq!(reports, 1);
    }
}
