//! `[[class]]`: its keys, for a daemon's file and a scenario. `read.rs` checks them and makes a [`Class`].

use weir_core::level::LEVEL_MAX;
use weir_core::{
    Algorithm, Alpha, BitRate, Bytes, ClassConfig, ClassMode, CreditConfig, CreditFallback,
    Duration, MarkAt, ModeKind, PartsPerMillion, PfcThresholds, Priority, RedConfig,
    SchedulerConfig, Threshold,
};

use super::pool::{ClassPool, Pool};

use crate::entries::entries;
use crate::reader::Table;
use crate::settings::{valid, words, Form, Value};

/// A class of traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its priorities; at least one.
    pub priorities: Vec<Priority>,
    /// Behaviour when buffers fill.
    pub mode: ClassMode,
    /// True if the headroom at each port follows from the port's cable; `mode` then has the largest one.
    pub headroom_by_cable: bool,
    /// Share of the line relative to other priorities.
    pub weight: u16,
    /// Strict priority, and rates for each of its priorities.
    pub scheduler: SchedulerConfig,
    /// Maximum waiting time of a frame; `None` for unlimited.
    pub age_limit: Option<Duration>,
    /// Thresholds for marking frames Congestion Experienced; `None` for none.
    pub ecn: Option<RedConfig>,
    /// The marking's profile; `None` for its own thresholds, or none.
    pub ecn_profile: Option<String>,
    /// Use of the path around the switch core.
    pub express: Express,
    /// The pool that its buffers use; `None` for separate buffers.
    pub pool: Option<ClassPool>,
    /// Credits that neighbours get for its buffers; `None` for none.
    pub credits: Option<CreditConfig>,
}

/// Use of the express path, on which frames that need not wait bypass the switch core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Express {
    /// Never.
    Off,
    /// Wherever it is known to keep all guarantees.
    #[default]
    Auto,
    /// Explicitly requested: used even where that is not known, and refused where it is impossible.
    On,
}

entries! {
    /// A class as in a file. The valid keys depend on the mode.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    ClassTable in "class" {
        "name" name: String, "", Restart, valid::anything;
            "Its name; `default` is reserved."
        "priority" priority: Option<Priority> = None => "required, or `priorities`", "", Restart, valid::anything;
            "Its priority. A priority belongs to one class."
        "priorities" priorities: Option<Vec<Priority>> = None => "required, or `priority`", "", Restart, valid::anything;
            "The same for several, as an array."
        "mode" mode: ModeKind, "", Restart, valid::anything;
            "`\"lossy\"`, `\"pfc\"`, `\"level\"`: [protocol P](levels.md) between switches, PFC towards hosts; or `\"credit\"`: a neighbour sends only frames for which it has [credits](../internals/design/credits.md)."
        "xoff" xoff: Option<Bytes> = None => "required for `pfc`, `level`", "", Live, valid::anything;
            "Pause the neighbour when the ingress buffer of (port, priority) holds at least this much. In a `level` class: the host at an edge port."
        "xon" xon: Option<Bytes> = None => "required for `pfc`, `level`", "", Live, valid::anything;
            "Resume it at this much or less. Below `xoff`."
        "headroom" headroom: Option<Bytes> = None => "by each port's `cable`; without cables required for `pfc`, `level`", "", Live, valid::anything;
            "Room above `xoff` for frames that arrive until the pause takes effect: rate × (round trip + reaction time) + two full frames. It holds at every port, also at those with a [`cable`](../concepts/thresholds.md#headroom-by-cable); less than a cable requires is refused. A change between this key and the headroom of the cables requires a restart."
        "credit-limit" credit_limit: Option<Bytes> = None => "required for `credit`", "", Restart, valid::anything;
            "`credit` only: the ingress buffer of (port, priority) for which credits are given. Full rate needs 4/3 × (bytes sent in a round trip + one frame), in whole credits. `headroom` of it, half by default, is the headroom towards neighbours without credits; a release lends as much beyond it."
        "credit-size" credit_size: Option<Bytes> = None => "`\"2KiB\"`", "", Restart, valid::anything;
            "`credit` only: bytes per credit. A whole number of `cell`s."
        "packet-overhead" packet_overhead: Option<u64> = None => "0", "", Restart, valid::given(valid::within(0, 127));
            "`credit` only: bytes needed to store a frame in addition to its length."
        "credit-fallback" credit_fallback: Option<CreditFallback> = None => "`\"pfc\"`", "", Restart, valid::anything;
            "`credit` only: treatment of a neighbour that does not use credits. `\"pfc\"`: PFC. `\"closed\"`: the class neither sends nor receives there."
        "buffer" buffer: Option<Bytes> = None => "`\"256KiB\"` for `lossy`; the minimum + `xoff` for `level`", "", Live, valid::anything;
            "The ingress buffer of (port, priority); in a `level` class that of a fabric port. Its minimum is `max-hops` × (γmax + the largest rT of all fabric ports)."
        "pool" pool: Option<String> = None => "none: separate buffers", "", Restart, valid::anything;
            "The [`[[pool]]`](#pool) that its buffers share, for `pfc` and `lossy`. Instead of `xoff`, `xon` and `buffer` the class has the next keys then; see [shared buffers](../concepts/shared-buffers.md)."
        "reserved" reserved: Option<Bytes> = None => "0", "", Restart, valid::anything;
            "With `pool`: exclusive part of each of its buffers, in addition to the pool."
        "alpha" alpha: Option<Alpha> = None => "required with `pool`, or `static-threshold`", "", Live, valid::anything;
            "With `pool`: a buffer takes up to α times the free part of the pool; then it pauses its neighbour, or drops frames if the class is lossy. A power of two: `\"1/8\"`, `0.125`, `1`, `2`; from 1/256 to 256."
        "static-threshold" static_threshold: Option<Bytes> = None => "none", "", Live, valid::anything;
            "With `pool`, instead of `alpha`: this amount, regardless of the free part. At most the pool's `size`."
        "xon-offset" xon_offset: Option<Bytes> = None => "0", "", Live, valid::anything;
            "With `pool`: a paused neighbour resumes when the buffer is this much below its current threshold, or uses nothing of the pool."
        "max-hops" max_hops: Option<u64> = None => "required for `level` without `budgets`", "", Restart, valid::given(valid::within(1, LEVEL_MAX as u64));
            "D: links between switches on the longest route, 1 to 31. The budgets are derived: b_i = γmax + rT for i > 1, the rest of `buffer` in b_1."
        "budgets" budgets: Option<Vec<Bytes>> = None => "derived", "", Restart, valid::anything;
            "`level` only: b_1 to b_D of each fabric port, `[\"1MiB\", \"64KiB\"]`, instead of `max-hops` and `buffer`. Each at least γmax + rT."
        "min-level" min_level: Option<u64> = None => "0", "", Restart, valid::given(valid::within(0, LEVEL_MAX as u64 - 1));
            "`level` only: the class's frames have at least this Level, in every switch. D is then `max-hops` + `min-level`, at most 31."
        "ignore-feedback" ignore_feedback: Option<bool> = None => "`false`", "", Restart, valid::anything;
            "`level` only: the class sends regardless of the neighbours' Feedback, and sends none. For a class whose separate buffers are large enough; frames that do not fit are dropped as `headroom_exceeded`. Pauses are still obeyed."
        "age-limit" age_limit: Option<Duration> as OffOrTime = None => "`\"off\"`", "", Restart, valid::anything;
            "A frame that has waited in this switch for longer is dropped and counted as `aged`."
        "ecn" ecn: Option<String> = None => "none", "", Live, valid::anything;
            "The [`[[ecn]]`](#ecn) profile that determines the marking of frames as Congestion Experienced, in any mode. Instead of the next four keys."
        "ecn-kmin" ecn_kmin: Option<Bytes> = None => "none", "", Live, valid::anything;
            "Mark frames Congestion Experienced by the backlog of their egress: none while (egress port, priority) has this much or less. In any mode, with `ecn-kmax`."
        "ecn-kmax" ecn_kmax: Option<Bytes> = None => "none", "", Live, valid::anything;
            "All frames from this much on. At least `ecn-kmin`; equal to it for a single threshold."
        "ecn-pmax" ecn_pmax: Option<PartsPerMillion> = None => "`\"1%\"`", "", Live, valid::anything;
            "The probability just below `ecn-kmax`; it rises linearly from `ecn-kmin`. Above 0."
        "ecn-mark-at" ecn_mark_at: Option<MarkAt> = None => "`\"arrival\"`", "", Live, valid::anything;
            "`\"arrival\"`: by the backlog found when the frame is admitted. `\"departure\"`: by the backlog left behind when it is sent; receivers are notified of congestion one queue earlier, as in many RoCE simulators. `\"never\"`: not at all."
        "express" express: Express = Express::Auto, "", Restart, valid::anything;
            "Whether its frames may use the [express path](../internals/express.md) between ports that do: `\"auto\"`: if the class is lossy, marks no frames and limits neither age nor rate. `\"on\"`: so do those of a lossless class, [where there is certainly room for them](../guide/express.md#lossless-classes); refused if the class cannot use the path. `\"off\"`: no."
        "weight" weight: Option<u64> = None => "1", "", Live, valid::given(valid::within(1, 1000));
            "Share of the line relative to other priorities that take turns, 1 to 1000. A class that sets it has `scheduler = \"ets\"`."
        "scheduler" scheduler: Option<Algorithm> = None => "`\"ports\"`; `\"ets\"` with `weight` or a rate", "", Live, valid::anything;
            "`\"ports\"`: all such classes together take turns with others like one of weight 1, and within that [ingress ports take turns first](../operations/scheduling.md#shares-by-port), so a host gets no more by using several priorities; a `level` class nevertheless takes turns with weight 1. `\"ets\"`: its priorities take turns with others by `weight`. `\"strict\"`: they go [before those](../operations/scheduling.md), the highest number first, with `strict-share` of the line at most while others could send."
        "min-rate" min_rate: Option<BitRate> = None => "none", "", Live, valid::anything;
            "Guaranteed rate of each of its priorities on every line: below this it also precedes strict ones. Frames are counted with preamble and gap, as in `rate`."
        "max-rate" max_rate: Option<BitRate> = None => "none", "", Live, valid::anything;
            "Maximum rate of each of its priorities on every line. Waiting frames are held as by a pause: lossless classes pause their senders."
    }
}

words! {
    Express: [("off", Express::Off), ("auto", Express::Auto), ("on", Express::On)];
    ModeKind: ModeKind::NAMED;
    CreditFallback: CreditFallback::NAMED;
    MarkAt: MarkAt::NAMED;
    Algorithm: Algorithm::NAMED;
}

/// Keys that are valid in some modes, or with a pool.
pub(super) const MODE_KEYS: [&str; 17] = [
    "credit-limit",
    "credit-size",
    "packet-overhead",
    "credit-fallback",
    "pool",
    "reserved",
    "alpha",
    "static-threshold",
    "xon-offset",
    "xoff",
    "xon",
    "headroom",
    "max-hops",
    "buffer",
    "budgets",
    "min-level",
    "ignore-feedback",
];

/// The keys valid in `mode`.
pub(super) fn keys_of(mode: ModeKind) -> &'static [&'static str] {
    match mode {
        ModeKind::Lossy => &["buffer", "pool"],
        ModeKind::Pfc => &["xoff", "xon", "headroom", "pool"],
        ModeKind::Level => MODE_KEYS.split_at(9).1,
        ModeKind::Credit => &[
            "credit-limit",
            "credit-size",
            "packet-overhead",
            "credit-fallback",
            "headroom",
        ],
    }
}

/// `off`, or a time.
pub(crate) struct OffOrTime;

impl Form<Option<Duration>> for OffOrTime {
    fn read(table: &Table<'_>, key: &str) -> Option<Option<Duration>> {
        match table.is_text(key, "off") {
            true => Some(None),
            false => Duration::read(table, key).map(Some),
        }
    }

    fn written(limit: &Option<Duration>) -> Option<String> {
        limit.written()
    }
}

impl Class {
    /// The reason why its frames cannot use the express path, even if requested; `None` if the class has none. For a
    /// class with Levels, a port may prevent it as well.
    pub fn express_obstacle(&self) -> Option<&'static str> {
        let obstacles = [
            (self.ecn.is_some(), "it marks frames"),
            (self.age_limit.is_some(), "it limits their age"),
            (self.scheduler.rate_max.is_some(), "it limits their rate"),
        ];
        obstacles
            .into_iter()
            .find_map(|(is_there, what)| is_there.then_some(what))
    }

    /// Returns true if its frames may use the express path. A lossless class must request it.
    pub fn may_pass(&self) -> bool {
        let is_asked = match self.express {
            Express::Off => false,
            Express::Auto => !self.mode.is_lossless(),
            Express::On => true,
        };
        is_asked && self.express_obstacle().is_none()
    }

    /// Returns true if its frames may use the path only at devices that certainly have room for them.
    pub fn needs_room(&self) -> bool {
        self.mode.is_lossless() && self.may_pass()
    }

    /// Updates the thresholds of a buffer alone in its pool.
    pub(crate) fn settle_alone(&mut self, pools: &[Pool]) {
        let Some(share) = self.pool.as_ref().map(|pool| pool.share) else {
            return;
        };
        let Some(pool) = pools.get(usize::from(share.pool)).map(Pool::core) else {
            return;
        };
        self.mode = match self.mode {
            ClassMode::Pfc(thresholds) => {
                ClassMode::Pfc(pool.thresholds_alone(&share, thresholds.headroom()))
            }
            _ => ClassMode::Lossy {
                buffer: pool.alone(&share),
            },
        };
    }

    /// Its kind.
    pub const fn kind(&self) -> ModeKind {
        match self.credits {
            Some(_) => ModeKind::Credit,
            None => self.mode.kind(),
        }
    }

    /// The core's configuration of each of its priorities.
    pub(super) fn core(&self) -> ClassConfig {
        ClassConfig {
            mode: self.mode,
            headroom_by_cable: self.headroom_by_cable,
            weight: self.weight,
            scheduler: self.scheduler,
            age_limit: self.age_limit,
            ecn: self.ecn,
            pool: self.pool.as_ref().map(|pool| pool.share),
            credits: self.credits,
        }
    }
}

impl ClassTable {
    fn set_pool(&mut self, pool: &ClassPool, mode: ClassMode) {
        let share = &pool.share;
        self.pool = Some(pool.name.clone());
        self.reserved = Some(share.reserved);
        match share.threshold {
            Threshold::Static(threshold) => self.static_threshold = Some(threshold),
            Threshold::Dynamic(alpha) => self.alpha = Some(alpha),
        }
        if let ClassMode::Pfc(thresholds) = mode {
            self.xon_offset = Some(share.xon_offset);
            self.headroom = Some(thresholds.headroom());
        }
    }
}

/// As in a file that yields the same class, with explicit budgets.
impl From<&Class> for ClassTable {
    fn from(class: &Class) -> Self {
        let own_marking = class.ecn.filter(|_| class.ecn_profile.is_none());
        let mut table = Self {
            name: class.name.clone(),
            priorities: Some(class.priorities.clone()),
            mode: class.kind(),
            age_limit: class.age_limit,
            ecn: class.ecn_profile.clone(),
            ecn_kmin: own_marking.map(|red| red.kmin),
            ecn_kmax: own_marking.map(|red| red.kmax),
            ecn_pmax: own_marking.map(|red| red.pmax),
            ecn_mark_at: own_marking.map(|red| red.at),
            express: class.express,
            // With a weight a class shares by it, without one by port.
            weight: Some(class.weight.into())
                .filter(|weight| *weight != 1 || class.scheduler.algorithm == Algorithm::Ets),
            scheduler: Some(Algorithm::Strict)
                .filter(|strict| *strict == class.scheduler.algorithm),
            min_rate: class.scheduler.rate_min,
            max_rate: class.scheduler.rate_max,
            ..Self::default()
        };
        if let Some(pool) = &class.pool {
            table.set_pool(pool, class.mode);
            table.headroom = table.headroom.filter(|_| !class.headroom_by_cable);
            return table;
        }
        if let (Some(credits), Some(thresholds)) = (class.credits, class.mode.thresholds()) {
            table.credit_limit = Some(thresholds.limit());
            table.credit_size = Some(credits.size);
            table.packet_overhead = Some(credits.overhead.into());
            table.credit_fallback = Some(credits.fallback);
            table.headroom = Some(thresholds.headroom());
            return table;
        }
        match class.mode {
            ClassMode::Lossy { buffer } => table.buffer = Some(buffer),
            ClassMode::Pfc(_) => {}
            ClassMode::Level { budgets, rules, .. } => {
                table.budgets = Some(budgets.as_slice().to_vec());
                table.min_level = Some(rules.level_min.get().into());
                table.ignore_feedback = Some(!rules.obeys_feedback);
            }
        }
        let thresholds = class.mode.thresholds();
        table.xoff = thresholds.map(PfcThresholds::xoff);
        table.xon = thresholds.map(PfcThresholds::xon);
        table.headroom = thresholds
            .map(PfcThresholds::headroom)
            .filter(|_| !class.headroom_by_cable);
        table
    }
}
