//! Runs `weir-page`: one task keeps the state, one asks each switch, one serves.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{bail, Context, Result};
use time::format_description::well_known::Rfc3339;
use time::OffsetDateTime;
use tokio::net::TcpListener;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::mpsc;
use tokio::time::{interval, MissedTickBehavior};
use weir_http::guard::Names;

use crate::ask::{
    self, found, monotonic, read_token, Asked, Limits, News, Place, Roster, Trust, Turns,
};
use crate::cli::Options;
use crate::model::fabric::{Fabric, Now, SWITCHES_MAX};
use crate::model::state::{Condition, State};
use crate::record;
use crate::serve::{self, Publisher, Targets};

/// Maximum number of waiting news; further ones delay their switch's task and its next request.
const NEWS_MAX: usize = 8;
/// Interval between searches for new switches of this machine.
const SEARCH_INTERVAL: Duration = Duration::from_secs(2);
/// Exit status of `--once` if there is a problem.
const TROUBLED: u8 = 3;

/// Serves the page with these options until a signal arrives.
///
/// # Errors
///
/// When a file cannot be read or the address cannot be bound.
pub fn run(options: &Options) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("starting threads")?;
    if let Some(file) = &options.perfetto {
        return runtime.block_on(record::run(options, file));
    }
    runtime.block_on(async {
        let mut life = Life::begin(options)?;
        match options.once {
            true => life.once().await,
            false => life.serve().await,
        }
    })
}

/// State of a running page.
struct Life<'a> {
    options: &'a Options,
    fabric: Fabric,
    targets: Targets,
    known: BTreeSet<String>,
    left_out: BTreeSet<String>,
    /// Switches that have neither answered nor failed yet.
    silent: BTreeSet<String>,
    turns: Turns,
    sender: mpsc::Sender<(String, News)>,
    news: mpsc::Receiver<(String, News)>,
}

impl<'a> Life<'a> {
    fn begin(options: &'a Options) -> Result<Self> {
        let roster = Roster::load(&options.switch, options.switches.as_deref())?;
        let (sender, news) = mpsc::channel(NEWS_MAX);
        let mut life = Self {
            options,
            fabric: Fabric::default(),
            targets: Targets::default(),
            known: BTreeSet::new(),
            left_out: BTreeSet::new(),
            silent: BTreeSet::new(),
            turns: Turns::default(),
            sender,
            news,
        };
        life.watch_listed(&roster)?;
        Ok(life)
    }

    fn watch_listed(&mut self, roster: &Roster) -> Result<()> {
        let needs_tls =
            |one: &ask::Listed| matches!(&one.place, Place::Listener(listener) if listener.tls);
        let trust = match roster.switches.iter().any(needs_tls) {
            true => Some(Trust::load(self.options.ca.as_deref())?),
            false => None,
        };
        let token = self.options.token_file.as_deref().map(read_token);
        let token = token.transpose()?;
        let wants_shared = |one: &&ask::Listed| needs_tls(one) && one.token_file.is_none();
        let sharing = roster.switches.iter().filter(wants_shared).count();
        if token.is_some() && sharing > 1 {
            bail!("--token-file is for one switch, but {sharing} of the list would receive it, and each could then read the others; set `token-file` of each in --switches");
        }
        for listed in &roster.switches {
            let own = listed.token_file.as_deref().map(read_token).transpose()?;
            let token = own.or_else(|| token.clone());
            if let Some(switch) = self.fabric.switch(&listed.name) {
                switch.page = listed.page.as_ref().map(ToString::to_string);
            }
            self.targets
                .set(&listed.name, listed.metrics.clone(), listed.metrics_tls);
            self.watch(Asked::listed(listed, trust.clone(), token));
        }
        Ok(())
    }

    fn watch(&mut self, asked: Asked) {
        let limits = Limits {
            interval: self.options.interval,
            answer: self.options.timeout,
        };
        self.known.insert(asked.name.clone());
        self.silent.insert(asked.name.clone());
        tokio::spawn(ask::watch(
            asked,
            limits,
            self.turns.clone(),
            self.sender.clone(),
        ));
    }

    /// Adds new switches of this machine.
    fn look_here(&mut self) {
        if !self.options.looks_here() {
            return;
        }
        for (name, socket) in found(&self.options.run_dir) {
            if self.known.contains(&name) {
                continue;
            }
            if self.fabric.switch(&name).is_none() {
                if self.left_out.insert(name.clone()) {
                    tracing::warn!(
                        name,
                        "not shown: one page has at most {SWITCHES_MAX} switches"
                    );
                }
                continue;
            }
            tracing::debug!(name, socket = %socket.display(), "found a switch");
            self.watch(Asked::here(name, socket));
        }
    }

    fn take(&mut self, name: &str, news: News) {
        let Some(switch) = self.fabric.switch(name) else {
            return;
        };
        match news {
            News::Answer(answer) => {
                if switch.trouble.is_some() {
                    tracing::info!(name, "answers again");
                }
                switch.take(*answer);
                self.silent.remove(name);
            }
            News::Trouble(trouble) => {
                if switch.trouble.is_none() {
                    tracing::warn!(name, remedy = trouble.remedy, "{}", trouble.what);
                }
                switch.fail(trouble);
                self.silent.remove(name);
            }
            News::Served(served) => {
                switch.page = served.page.as_ref().map(ToString::to_string);
                self.targets.set(name, served.metrics, served.metrics_tls);
            }
        }
    }

    fn state(&mut self) -> State {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = Now {
            monotonic: monotonic(),
            unix: i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX),
            interval: self.options.interval.as_secs_f64(),
            left_out: self.left_out.len(),
            written,
        };
        self.fabric.state(&now)
    }

    /// Runs one round and prints it.
    async fn once(&mut self) -> Result<ExitCode> {
        self.look_here();
        if self.known.is_empty() {
            bail!(
                "no switch has a socket under {}; name some by --switch or --switches",
                self.options.run_dir.display()
            );
        }
        while !self.silent.is_empty() {
            let Some((name, news)) = self.news.recv().await else {
                break;
            };
            self.take(&name, news);
        }
        self.write_targets()?;
        let state = self.state();
        weir_output::Output::new(true).print(&state, |_| String::new())?;
        Ok(match state.condition {
            Condition::Well => ExitCode::SUCCESS,
            _ => ExitCode::from(TROUBLED),
        })
    }

    /// Serves until a signal arrives.
    async fn serve(&mut self) -> Result<ExitCode> {
        let address = self.options.listen;
        if !address.ip().to_canonical().is_loopback() && !self.options.unprotected {
            bail!("--listen {address}: other hosts can reach that address, and the page has no login; use 127.0.0.1 behind a server that asks for one, or add --unprotected");
        }
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("--listen {address}: is another weir-page running? --listen takes another port")
        })?;
        let local = listener.local_addr().context("the page's own address")?;
        let names = Names::new(&self.options.host_name, "--host-name");
        let publisher = Publisher::default();
        let serving = tokio::spawn(serve::serve(listener, publisher.page(), names));
        tracing::info!("the page is at http://{local}/");
        let mut draw = interval(self.options.interval);
        let mut search = interval(SEARCH_INTERVAL);
        draw.set_missed_tick_behavior(MissedTickBehavior::Delay);
        search.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut could_write = true;
        loop {
            tokio::select! {
                Some((name, news)) = self.news.recv() => self.take(&name, news),
                _ = search.tick() => self.look_here(),
                _ = draw.tick() => {
                    let state = self.state();
                    publisher.publish(&state, &self.targets)?;
                    let written = self.write_targets();
                    if let (Err(error), true) = (&written, could_write) {
                        tracing::error!("{error:#}; the page continues and tries again");
                    }
                    could_write = written.is_ok();
                }
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
            }
        }
        serving.abort();
        Ok(ExitCode::SUCCESS)
    }

    fn write_targets(&mut self) -> Result<()> {
        let Some(file) = self.options.prometheus_sd.as_ref().map(PathBuf::from) else {
            return Ok(());
        };
        // Only once all switches have reported their listeners, since Prometheus would drop the others.
        if self.silent.is_empty() {
            self.targets.write(&file)?;
        }
        Ok(())
    }
}

fn written(unix: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix) / 1_000 * 1_000);
    let text = time.ok().and_then(|time| time.format(&Rfc3339).ok());
    text.unwrap_or_default()
}
