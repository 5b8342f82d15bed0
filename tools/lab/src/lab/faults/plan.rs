//! Converts a scenario's faults into timed steps, or explains why the lab cannot.

use weir_api::daemon::{
    Impair, ImpairRequest, DELAY_SECONDS_MAX, DUTY_SECONDS_MIN, IMPAIRMENTS_MAX, IMPAIR_SECONDS_MAX,
};
use weir_config::scenario::{Fault, FaultTime, HostKind, Impairing, Scenario};
use weir_config::Fraction;
use weir_core::{Duration, MacAddress, Priority, Quanta};

const STEPS_MAX: usize = 10_000;
/// Minimum duration of faults of processes and devices, which are applied from outside, one step at a time.
const SPAN_MIN: Duration = Duration::from_millis(10);
/// Maximum deviation of N times the probability of a fault from one.
const ONE_IN_TOLERANCE: f64 = 0.01;
const CONTROL: &str = "control";

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    /// Request a switch to impair a port; ends by itself.
    Impair {
        switch: usize,
        request: ImpairRequest,
    },
    /// Set the device at the first end of a link down or up; the other end loses its carrier.
    Link { link: usize, up: bool },
    /// Freeze a switch's process, or resume it.
    Freeze { switch: usize, frozen: bool },
    /// Kill a switch's process.
    Stop { switch: usize },
    /// Start a switch's process.
    Start { switch: usize },
    /// Change a route of a switch.
    Route {
        switch: usize,
        destination: MacAddress,
        ports: Vec<String>,
    },
    /// Make a host obey PFC, or not.
    Obey { host: usize, obeys: bool },
    /// Make a host keep its switch paused, or not.
    Storm { host: usize, storms: bool },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    /// Time after the beginning of traffic.
    pub(super) at: Duration,
    pub(super) fault: String,
    pub(super) act: Act,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// Steps in order of time.
    pub(super) steps: Vec<Step>,
    /// A switch, its neighbour at a port, and T in its configuration.
    pub(super) round_trips: Vec<(usize, usize, Duration)>,
    pub(super) lossless: Vec<Priority>,
}

impl Act {
    pub(super) fn is_end(&self) -> bool {
        match self {
            Self::Impair { .. } | Self::Stop { .. } | Self::Route { .. } => false,
            Self::Start { .. } => true,
            Self::Link { up, .. } => *up,
            Self::Freeze { frozen, .. } => !frozen,
            Self::Obey { obeys, .. } => *obeys,
            Self::Storm { storms, .. } => !storms,
        }
    }

    pub(super) fn describe(&self, scenario: &Scenario) -> String {
        let switch = |index: &usize| scenario.switches[*index].as_str();
        let host = |index: &usize| scenario.hosts[*index].name.as_str();
        match self {
            Self::Impair {
                switch: at,
                request,
            } => format!(
                "{}: impair {} {} for {} s",
                switch(at),
                request.what.name(),
                request.port,
                request.seconds
            ),
            Self::Link { link, up } => {
                let [a, b] = &scenario.links[*link].ends;
                let word = if *up { "up" } else { "down" };
                format!("link {}-{} {word}", switch(a), switch(b))
            }
            Self::Freeze { switch: at, frozen } => {
                let word = if *frozen { "stands still" } else { "goes on" };
                format!("{} {word}", switch(at))
            }
            Self::Stop { switch: at } => format!("{} is killed", switch(at)),
            Self::Start { switch: at } => format!("{} is started again", switch(at)),
            Self::Route {
                switch: at,
                destination,
                ports,
            } => format!(
                "{}: route {destination} by {}",
                switch(at),
                ports.join(", ")
            ),
            Self::Obey { host: at, obeys } => {
                let word = if *obeys { "obeys" } else { "ignores" };
                format!("{} {word} PFC", host(at))
            }
            Self::Storm { host: at, storms } => {
                let word = if *storms {
                    "keeps pausing"
                } else {
                    "no longer pauses"
                };
                format!("{} {word} its switch", host(at))
            }
        }
    }
}

/// Converts the faults of `scenario` to the lab's steps.
pub(super) fn plan(scenario: &Scenario) -> Result<Plan, Vec<String>> {
    let mut plan = Plan::default();
    let lossless = scenario.classes.iter();
    let lossless = lossless.filter(|class| class.mode.is_lossless());
    plan.lossless = lossless
        .flat_map(|class| class.priorities.iter().copied())
        .collect();
    let mut gaps = Vec::new();
    for (index, fault) in scenario.faults.iter().enumerate() {
        let line = scenario.fault_lines.get(index).copied().flatten();
        let line = line.map_or(String::new(), |line| format!(" (line {line})"));
        let name = format!("[[fault]] {}{line}, `{}`", index + 1, fault.kind());
        let mut planner = Planner {
            scenario,
            plan: &mut plan,
            name: &name,
        };
        if let Err(gap) = planner.add(fault) {
            gaps.push(format!("{name}: {gap}"));
        }
    }
    plan.steps.sort_by_key(|step| step.at);
    gaps.extend(too_many_at_a_time(scenario, &plan));
    match gaps.is_empty() {
        true => Ok(plan),
        false => Err(gaps),
    }
}

/// Returns the interval at which a storming host repeats its pauses: half of their duration on the fastest line.
pub(super) fn storm_interval(scenario: &Scenario) -> Duration {
    let rates = scenario.hosts.iter().map(|host| host.line.rate);
    let fastest = rates.max().unwrap_or(scenario.link_defaults.rate);
    Quanta::MAX.at(fastest).divided_by(2)
}

struct Planner<'a> {
    scenario: &'a Scenario,
    plan: &'a mut Plan,
    name: &'a str,
}

impl Planner<'_> {
    fn add(&mut self, fault: &Fault) -> Result<(), String> {
        match fault {
            Fault::ControlLoss {
                links,
                probability,
                time,
            } => {
                let one_in = one_in(*probability)?;
                self.control(links, *time, |request| request.one_in = Some(one_in))
            }
            Fault::ControlDelay {
                links,
                probability,
                by,
                time,
            } => {
                let (one_in, by) = (one_in(*probability)?, delay(*by)?);
                self.control(links, *time, |request| {
                    request.what = Impair::Delay;
                    request.one_in = Some(one_in);
                    request.delay_seconds = Some(by);
                })
            }
            Fault::ControlCorruption { .. } | Fault::ControlDuplication { .. } => Err(
                "the lab's switches neither damage frames nor send them twice; use `control-loss` or `drop`, or the simulator (weir-sim run)".to_owned(),
            ),
            Fault::SlowControl { .. } => Err(
                "the lab's control plane runs in real time; use `switch-freeze`, or the simulator (weir-sim run)".to_owned(),
            ),
            Fault::LinkDown { link, time } => {
                let link = *link;
                self.span(*time, Act::Link { link, up: false }, Act::Link { link, up: true })
            }
            Fault::SwitchRestart { switch, time } => {
                let switch = *switch;
                self.spans(*time, Duration::ZERO, Act::Stop { switch }, Act::Start { switch })
            }
            Fault::SwitchFreeze { switch, time } => {
                let of = |frozen| Act::Freeze {
                    switch: *switch,
                    frozen,
                };
                self.span(*time, of(true), of(false))
            }
            Fault::RoundTrip { links, round_trip } => {
                for link in links {
                    let [a, b] = self.scenario.links[*link].ends;
                    let both = [(a, b, *round_trip), (b, a, *round_trip)];
                    self.plan.round_trips.extend(both);
                }
                Ok(())
            }
            Fault::RouteChange {
                switch,
                host,
                members,
                at,
            } => {
                let names = members.iter().map(|to| self.scenario.switches[*to].clone());
                let act = Act::Route {
                    switch: *switch,
                    destination: self.scenario.hosts[*host].address,
                    ports: names.collect(),
                };
                self.push(*at, act)
            }
            Fault::HostIgnoresPfc { host, time } => {
                self.endpoint()?;
                let of = |obeys| Act::Obey { host: *host, obeys };
                self.span(*time, of(false), of(true))
            }
            Fault::HostStorm { host, time } => {
                self.endpoint()?;
                let of = |storms| Act::Storm {
                    host: *host,
                    storms,
                };
                self.span(*time, of(true), of(false))
            }
            Fault::Impair {
                switch,
                port,
                what,
                time,
            } => {
                let request = request(what, self.scenario.peer_name(*port))?;
                self.impair(*switch, *time, &request)
            }
        }
    }

    fn endpoint(&self) -> Result<(), String> {
        match self.scenario.host_kind {
            HostKind::Endpoint => Ok(()),
            HostKind::Kernel => Err(
                "a host with the kernel's own protocols does not misbehave on request; set hosts = \"endpoint\", or use `pause`".to_owned(),
            ),
        }
    }

    fn push(&mut self, at: Duration, act: Act) -> Result<(), String> {
        if self.plan.steps.len() >= STEPS_MAX {
            return Err(format!(
                "the lab performs at most {STEPS_MAX} actions in a run; use a longer `every`"
            ));
        }
        self.plan.steps.push(Step {
            at,
            fault: self.name.to_owned(),
            act,
        });
        Ok(())
    }

    fn span(&mut self, time: FaultTime, begin: Act, end: Act) -> Result<(), String> {
        self.spans(time, SPAN_MIN, begin, end)
    }

    /// Refuses spans shorter than `least`.
    fn spans(
        &mut self,
        time: FaultTime,
        least: Duration,
        begin: Act,
        end: Act,
    ) -> Result<(), String> {
        let asked = match time {
            FaultTime::From(_) => None,
            FaultTime::Once { length, .. } | FaultTime::Every { length, .. } => Some(length),
        };
        if asked.is_some_and(|asked| asked < least) {
            let least = least.as_nanos() as f64 / 1e6;
            return Err(format!(
                "`for`: the lab's shortest action takes {least} ms; make it longer, or use the simulator (weir-sim run)"
            ));
        }
        for (from, to) in time.spans(self.scenario.duration) {
            self.push(from, begin.clone())?;
            self.push(to, end.clone())?;
        }
        Ok(())
    }

    /// Adds steps for control frames received at both ends of links.
    fn control(
        &mut self,
        links: &[usize],
        time: FaultTime,
        change: impl Fn(&mut ImpairRequest),
    ) -> Result<(), String> {
        for link in links {
            let [a, b] = self.scenario.links[*link].ends;
            for (at, from) in [(a, b), (b, a)] {
                let mut request = ImpairRequest {
                    what: Impair::Drop,
                    port: self.scenario.switches[from].clone(),
                    filter: CONTROL.to_owned(),
                    ..ImpairRequest::default()
                };
                change(&mut request);
                self.impair(at, time, &request)?;
            }
        }
        Ok(())
    }

    fn impair(
        &mut self,
        switch: usize,
        time: FaultTime,
        request: &ImpairRequest,
    ) -> Result<(), String> {
        for (from, to) in time.spans(self.scenario.duration) {
            let seconds = minus(to, from).as_secs_f64();
            if !(DUTY_SECONDS_MIN..=IMPAIR_SECONDS_MAX).contains(&seconds) {
                return Err(format!(
                    "lasts {seconds} s; a switch is impaired for {DUTY_SECONDS_MIN} s to {IMPAIR_SECONDS_MAX} s at a time: set `for`, or use the simulator (weir-sim run)"
                ));
            }
            let request = ImpairRequest {
                seconds,
                ..request.clone()
            };
            self.push(from, Act::Impair { switch, request })?;
        }
        Ok(())
    }
}

/// Converts everything except the time.
fn request(what: &Impairing, port: &str) -> Result<ImpairRequest, String> {
    let mut request = ImpairRequest {
        port: port.to_owned(),
        ..ImpairRequest::default()
    };
    if let Some(frames) = what.frames() {
        request.filter.clone_from(&frames.filter);
        request.one_in = Some(frames.one_in);
    }
    let mut duty = |on: &Duration, period: &Duration| {
        let [on, off] = [*on, minus(*period, *on)].map(Duration::as_secs_f64);
        if on < DUTY_SECONDS_MIN || off < DUTY_SECONDS_MIN {
            return Err(format!(
                "`on` and the rest of `every` are {on} s and {off} s; the lab's switches need {DUTY_SECONDS_MIN} s for each: make them longer, or use the simulator (weir-sim run)"
            ));
        }
        request.on_seconds = Some(on);
        request.period_seconds = Some(period.as_secs_f64());
        Ok(())
    };
    match what {
        Impairing::Drop(_) => request.what = Impair::Drop,
        Impairing::Mark(_) => request.what = Impair::Mark,
        Impairing::Delay { by, .. } => {
            request.what = Impair::Delay;
            request.delay_seconds = Some(delay(*by)?);
        }
        Impairing::Pause {
            priority,
            on,
            period,
        } => {
            duty(on, period)?;
            request.what = Impair::Pause;
            request.priority = Some(priority.get());
        }
        Impairing::Flap { on, period } => {
            duty(on, period)?;
            request.what = Impair::Flap;
        }
    }
    Ok(request)
}

fn minus(span: Duration, part: Duration) -> Duration {
    Duration::from_nanos(span.as_nanos().saturating_sub(part.as_nanos()))
}

fn delay(by: Duration) -> Result<f64, String> {
    const LEAST: f64 = 1e-6;
    let seconds = by.as_secs_f64();
    match (LEAST..=DELAY_SECONDS_MAX).contains(&seconds) {
        true => Ok(seconds),
        false => Err(format!(
            "`by`: the lab's switches delay frames by 1 us to {DELAY_SECONDS_MAX} s"
        )),
    }
}

/// The lab's switches affect every Nth frame, the same frames in every run.
fn one_in(probability: Fraction) -> Result<u64, String> {
    let probability = probability.as_f64();
    let count = (1.0 / probability).round();
    if (count * probability - 1.0).abs() <= ONE_IN_TOLERANCE {
        return Ok(count as u64);
    }
    let next = 1.0 / count;
    Err(format!(
        "`probability`: the lab's switches affect every Nth frame; set it to 1/N, such as {next:.4}, or use the simulator (weir-sim run)"
    ))
}

/// Returns requests that a switch would refuse because of others in force.
fn too_many_at_a_time(scenario: &Scenario, plan: &Plan) -> Vec<String> {
    let mut gaps: Vec<String> = Vec::new();
    let mut in_force: Vec<(usize, Duration, &ImpairRequest)> = Vec::new();
    for step in &plan.steps {
        let Act::Impair { switch, request } = &step.act else {
            continue;
        };
        in_force.retain(|(_, until, _)| *until > step.at);
        let here = || in_force.iter().filter(|(at, ..)| at == switch);
        let is_twice = |(_, _, known): &&(usize, Duration, &ImpairRequest)| {
            !request.what.is_of_frames()
                && (known.what, &known.port, known.priority)
                    == (request.what, &request.port, request.priority)
        };
        let gap = if here().any(|known| is_twice(&known)) {
            format!(
                "{}: another fault does that to port {} of {} at the same time; keep one of them",
                step.fault, request.port, scenario.switches[*switch]
            )
        } else if here().count() >= IMPAIRMENTS_MAX {
            format!(
                "{}: {} would have more than {IMPAIRMENTS_MAX} impairments at a time; name fewer links, or use the simulator (weir-sim run)",
                step.fault, scenario.switches[*switch]
            )
        } else {
            let length = Duration::from_nanos((request.seconds * 1e9) as u64);
            in_force.push((*switch, step.at + length, request));
            continue;
        };
        if !gaps.contains(&gap) {
            gaps.push(gap);
        }
    }
    gaps
}
