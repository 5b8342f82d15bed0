//! One port of the LLDP agent: its neighbours, and its times of sending.

use super::judge::{judge, our_coding, speaks_levels, Findings};
use super::AnnouncedPort;
use crate::config::{FeedbackCoding, Neighbour};
use crate::control::counters::LldpCounters;
use crate::credit::CreditHints;
use crate::units::{Duration, Instant};
use crate::wire::lldp::basic::{ChassisId, PortIdentifier};
use crate::wire::lldp::weir::Weir;
use crate::wire::lldp::{Announcement, Content, Lldp, Skipped};

/// Maximum number of neighbours kept for one port. A link has one, or two if the system's LLDP agent sends in
/// addition to its switch.
pub const ENTRIES_MAX: usize = 4;
/// Frames a second apart when a port comes up or a new neighbour is heard (txFastInit).
pub const FAST_FRAMES: u8 = 4;

/// msgFastTx, and the minimum time between two frames.
const FAST_INTERVAL: Duration = Duration::from_secs(1);

/// One neighbour, as it last announced itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its system.
    pub chassis: ChassisId,
    /// Its port.
    pub port: PortIdentifier,
    /// Contents of the announcement.
    pub announcement: Announcement,
    /// Parts of the announcement that were not understood.
    pub skipped: Skipped,
    /// Time of the first announcement.
    pub heard_at: Instant,
    /// Time of the last announcement.
    pub last_at: Instant,
    /// End of its time to live.
    pub expires_at: Instant,
}

crate::named! {
    /// Reason why a neighbour is no longer known.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Lost {
        /// Its time to live expired.
        Expired => "expired",
        /// It sent a shutdown LLDPDU, with a time to live of zero.
        Goodbye => "goodbye",
        /// The link went down.
        LinkDown => "link_down",
    }
}

#[allow(clippy::large_enum_variant)] // briefly on the stack
pub(super) enum Change {
    Nothing,
    Refreshed,
    Found(Entry),
    Lost(Entry),
}

#[derive(Debug)]
pub(super) struct PortState {
    pub(super) config: AnnouncedPort,
    pub(super) counters: LldpCounters,
    pub(super) findings: Findings,
    /// At most [`ENTRIES_MAX`].
    entries: Vec<Entry>,
    /// Start of the time without a neighbour with our TLV.
    alone_since: Instant,
    /// The absence has lasted: a neighbour that announces without the TLV is not one of our switches.
    absent: bool,
    up: bool,
    send_at: Instant,
    sent_at: Option<Instant>,
    fast_left: u8,
}

impl PortState {
    pub(super) fn new(config: AnnouncedPort, now: Instant) -> Self {
        Self {
            findings: judge(&config, &[], false),
            config,
            counters: LldpCounters::default(),
            entries: Vec::with_capacity(ENTRIES_MAX),
            alone_since: now,
            absent: false,
            up: true,
            send_at: now,
            sent_at: None,
            fast_left: FAST_FRAMES,
        }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns true if the dataplane is notified of findings.
    pub(super) fn learns(&self) -> bool {
        self.config.is_fabric && self.config.configured != Neighbour::Regular
    }

    pub(super) fn learnt_coding(&self) -> Option<FeedbackCoding> {
        let grants = our_coding(&self.config) == FeedbackCoding::Grants;
        (self.learns() && grants).then_some(self.findings.coding)
    }

    /// Returns the neighbours' announcements about credits; `None` if the port announces none itself.
    pub(super) fn credit_hints(&self) -> Option<CreditHints> {
        let announces = self.config.announcement.credits.is_some();
        announces.then_some(self.findings.credit_hints)
    }

    pub(super) fn neighbour(&self) -> Neighbour {
        self.findings.neighbour
    }

    /// Derives the findings from the neighbours heard now and returns the previous findings. Any
    /// neighbour that appeared or disappeared is announced soon.
    pub(super) fn judge(&mut self, now: Instant) -> Findings {
        if self.entries.iter().any(Entry::is_weir) {
            (self.alone_since, self.absent) = (now, false);
        }
        let findings = judge(&self.config, &self.entries, self.absent);
        let before = core::mem::replace(&mut self.findings, findings);
        if self.learns() && findings.hears != before.hears {
            self.start_fast(now);
        }
        before
    }

    /// Returns when a neighbour without our TLV will have been alone for our own time to live: by then it has missed
    /// several announcements, so none of our switches is there.
    fn absent_at(&self) -> Option<Instant> {
        let waits = self.learns()
            && !self.absent
            && !self.entries.is_empty()
            && !self.entries.iter().any(Entry::is_weir)
            && speaks_levels(&self.config);
        waits.then(|| self.alone_since + self.config.announcement.ttl.as_duration())
    }

    /// Returns true once when that time has come.
    pub(super) fn note_absence(&mut self, now: Instant) -> bool {
        let lasted = self.absent_at().is_some_and(|at| at <= now);
        self.absent |= lasted;
        lasted
    }

    pub(super) fn announcement(&self) -> Announcement {
        let mut announcement = self.config.announcement;
        if let Some(Weir::V1(weir)) = &mut announcement.weir {
            weir.hears = self.learns() && self.findings.hears;
        }
        announcement
    }

    pub(super) fn announce(&mut self, now: Instant, announcement: Announcement) {
        if self.config.announcement != announcement {
            self.config.announcement = announcement;
            self.start_fast(now);
        }
    }

    pub(super) fn receive(&mut self, now: Instant, frame: &[u8]) -> Change {
        let Ok(received) = Lldp::parse(frame) else {
            self.counters.malformed += 1;
            return Change::Nothing;
        };
        self.counters.rx_frames += 1;
        self.counters.malformed_tlvs += u64::from(received.skipped.malformed);
        let Lldp {
            chassis,
            port,
            content,
        } = received.lldp;
        let known = self
            .entries
            .iter()
            .position(|entry| (entry.chassis, entry.port) == (chassis, port));
        let (announcement, known) = match (content, known) {
            (Content::Shutdown, None) => return Change::Nothing,
            (Content::Shutdown, Some(index)) => return Change::Lost(self.entries.remove(index)),
            (Content::Announcement(announcement), known) => (announcement, known),
        };
        let expires_at = now + announcement.ttl.as_duration();
        if let Some(entry) = known.and_then(|index| self.entries.get_mut(index)) {
            entry.announcement = announcement;
            entry.skipped = received.skipped;
            entry.last_at = now;
            entry.expires_at = expires_at;
            return Change::Refreshed;
        }
        if self.entries.len() >= ENTRIES_MAX {
            self.counters.table_full += 1;
            return Change::Nothing;
        }
        let entry = Entry {
            chassis,
            port,
            announcement,
            skipped: received.skipped,
            heard_at: now,
            last_at: now,
            expires_at,
        };
        self.entries.push(entry);
        self.start_fast(now);
        Change::Found(entry)
    }

    pub(super) fn set_link(&mut self, now: Instant, up: bool) -> Vec<Entry> {
        if core::mem::replace(&mut self.up, up) == up {
            return Vec::new();
        }
        (self.alone_since, self.absent) = (now, false);
        if up {
            self.start_fast(now);
            return Vec::new();
        }
        core::mem::take(&mut self.entries)
    }

    pub(super) fn take_expired(&mut self, now: Instant) -> Option<Entry> {
        let index = self
            .entries
            .iter()
            .position(|entry| entry.expires_at <= now)?;
        self.counters.expired += 1;
        Some(self.entries.remove(index))
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let sends = self.up.then_some(self.send_at);
        let expires = self.entries.iter().map(|entry| entry.expires_at).min();
        [sends, expires, self.absent_at()]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.up && self.send_at <= now
    }

    pub(super) fn note_sent(&mut self, now: Instant, interval: Duration) {
        self.counters.tx_frames += 1;
        self.sent_at = Some(now);
        self.fast_left = self.fast_left.saturating_sub(1);
        self.send_at = now
            + if self.fast_left > 0 {
                interval.min(FAST_INTERVAL)
            } else {
                interval
            };
    }

    /// Returns true if there is a neighbour to notify of the shutdown; nothing more is sent afterwards.
    pub(super) fn take_goodbye(&mut self) -> bool {
        let up = self.up;
        self.up = false;
        self.counters.tx_frames += u64::from(up);
        up
    }

    fn start_fast(&mut self, now: Instant) {
        self.fast_left = FAST_FRAMES;
        let earliest = self.sent_at.map_or(now, |sent| sent + FAST_INTERVAL);
        self.send_at = now.max(earliest).min(self.send_at.max(now));
    }
}
