//! Probes of the last two rounds of each port, with which a returned one is compared.

use crate::units::PortId;
use crate::wire::loop_probe::{LoopProbe, ProbeSender};

/// Reason why a probe proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worthless {
    /// It was sent before the last two rounds.
    Old,
    /// It was never sent.
    Forged,
}

/// A returned frame costs no computation, only a comparison: a flood of forged ones is as cheap as any other.
#[derive(Clone, Debug)]
pub(super) struct Nonces {
    secret: u64,
    id: u32,
    /// By port; the newest comes first.
    last: Vec<[Option<LoopProbe>; 2]>,
}

impl Nonces {
    pub(super) fn new(secret: u64, id: u32, ports: usize) -> Self {
        Self {
            secret,
            id,
            last: vec![[None; 2]; ports],
        }
    }

    /// The probe that `port` sends in this round.
    pub(super) fn probe(&mut self, port: PortId, round: u64) -> Option<LoopProbe> {
        let last = self.last.get_mut(port.index())?;
        let round = round as u32;
        if let Some(probe) = last[0].filter(|it| it.round == round) {
            return Some(probe);
        }
        let sender = ProbeSender { id: self.id, port };
        let probe = sender.probe(self.secret, round)?;
        *last = [Some(probe), last[0]];
        Some(probe)
    }

    pub(super) fn check(&self, round: u64, probe: LoopProbe) -> Result<(), Worthless> {
        let since = (round as u32).wrapping_sub(probe.round);
        let last = self.last.get(probe.sender.port.index());
        let is_sent = last.is_some_and(|last| last.contains(&Some(probe)));
        match (is_sent, since) {
            (true, 0..=1) => Ok(()),
            // A probe of a future round was not sent by this switch.
            (true, _) | (false, 2..=0x7fff_ffff) => Err(Worthless::Old),
            (false, _) => Err(Worthless::Forged),
        }
    }
}
