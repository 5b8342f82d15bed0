//! The XDP programs of the hosts around a switch, and of the bare forwarder.
//!
//! Layouts are those of `bpf/probe.h`; a unit test compares them with the lengths of the maps.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use std::time::Duration;

use anyhow::{bail, Context, Result};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{libbpf_sys, Link, MapCore, MapFlags, MapHandle};

use crate::histogram::{Histogram, BUCKETS};

#[allow(missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]
mod hosts {
    include!(concat!(env!("OUT_DIR"), "/hosts.skel.rs"));
}
#[allow(missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]
mod redirect {
    include!(concat!(env!("OUT_DIR"), "/redirect.skel.rs"));
}

const PRIORITIES: usize = 8;
const KEY: [u8; 4] = 0u32.to_ne_bytes();

/// Instructions to the hosts for a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orders {
    /// The trial; probes of others are stale.
    pub trial: u32,
    /// Device for live frames.
    pub ifindex: u32,
    /// Number of flows, a power of two.
    pub flows: u32,
    /// 512 bit times of the line, in picoseconds.
    pub quantum_picos: u64,
    /// Interval of live frames.
    pub gap_picos: u64,
    /// Duration of sending live frames.
    pub live_for: Duration,
    /// Priority whose pauses apply to live frames.
    pub priority: u8,
}

/// Arrivals in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Probes of this trial.
    pub frames: u64,
    /// Their bytes, without FCS.
    pub bytes: u64,
    /// Probes that arrived after one with a higher number.
    pub reordered: u64,
    /// Probes of earlier trials.
    pub stale: u64,
    /// Frames that are neither probes nor PFC.
    pub foreign: u64,
}

/// The measuring program, attached to the devices of both hosts.
#[derive(Debug)]
pub struct HostPrograms {
    send: OwnedFd,
    orders: MapHandle,
    tally: MapHandle,
    latency: MapHandle,
    pauses: MapHandle,
    _links: Vec<Link>,
}

impl HostPrograms {
    /// Loads the programs and attaches the receiving one to devices of this thread's network namespace.
    ///
    /// # Errors
    ///
    /// The kernel refuses one, or a device already has a program.
    pub fn attach(devices: &[u32]) -> Result<Self> {
        let mut storage = MaybeUninit::uninit();
        let open = hosts::HostsSkelBuilder::default().open(&mut storage)?;
        let loaded = open.load().context("loading the hosts' XDP programs")?;
        let attach = |ifindex: &u32| loaded.progs.hosts_receive.attach_xdp(*ifindex as i32);
        let links = devices
            .iter()
            .map(attach)
            .collect::<Result<_, _>>()
            .context("attaching the hosts' XDP program")?;
        Ok(Self {
            send: loaded.progs.hosts_send.as_fd().try_clone_to_owned()?,
            orders: MapHandle::try_from(&loaded.maps.hosts_orders)?,
            tally: MapHandle::try_from(&loaded.maps.hosts_tally)?,
            latency: MapHandle::try_from(&loaded.maps.hosts_latency)?,
            pauses: MapHandle::try_from(&loaded.maps.hosts_pauses)?,
            _links: links,
        })
    }

    /// Resets the counters, and begins a trial.
    ///
    /// # Errors
    ///
    /// A map cannot be written.
    pub fn begin(&self, orders: Orders) -> Result<()> {
        let cpus = libbpf_rs::num_possible_cpus()?;
        let zeros = |length: usize| vec![vec![0u8; length]; cpus];
        self.tally.update_percpu(
            &KEY,
            &zeros(self.tally.value_size() as usize),
            MapFlags::ANY,
        )?;
        let none = zeros(size_of::<u64>());
        for bucket in 0..BUCKETS as u32 {
            self.latency
                .update_percpu(&bucket.to_ne_bytes(), &none, MapFlags::ANY)?;
        }
        self.orders
            .update(&KEY, &orders.to_map_value(), MapFlags::ANY)?;
        Ok(())
    }

    /// Returns the arrivals.
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn tally(&self) -> Result<Tally> {
        let mut sum = Tally::default();
        for value in self
            .tally
            .lookup_percpu(&KEY, MapFlags::ANY)?
            .unwrap_or_default()
        {
            sum.frames += word(&value, 0);
            sum.bytes += word(&value, 1);
            sum.reordered += word(&value, 2);
            sum.stale += word(&value, 3);
            sum.foreign += word(&value, 4);
        }
        Ok(sum)
    }

    /// Returns the latency of probes.
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn latency(&self) -> Result<Histogram> {
        let mut histogram = Histogram::default();
        for bucket in 0..BUCKETS {
            let values = self
                .latency
                .lookup_percpu(&(bucket as u32).to_ne_bytes(), MapFlags::ANY)?;
            let count = values
                .unwrap_or_default()
                .iter()
                .map(|value| word(value, 0))
                .sum();
            histogram.add(bucket, count);
        }
        Ok(histogram)
    }

    /// Returns the end of the switch's pause of `priority` (CLOCK_MONOTONIC, in nanoseconds).
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn paused_until(&self, priority: u8) -> Result<u64> {
        let value = self.pauses.lookup(&KEY, MapFlags::ANY)?.unwrap_or_default();
        Ok(word(&value, usize::from(priority)))
    }

    /// Returns the number of PFC frames sent by the switch since the programs were attached.
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn pfc_frames(&self) -> Result<u64> {
        let value = self.pauses.lookup(&KEY, MapFlags::ANY)?.unwrap_or_default();
        Ok(word(&value, PRIORITIES))
    }

    /// Lets the kernel send up to `count` live frames of `template` (bpf_prog_test_run with BPF_F_TEST_XDP_LIVE_FRAMES) at
    /// the rate and for the time of the trial: the fastest possible sender. Returns the number of frames that have left (or
    /// were dropped on the way out), and the time from the first to the last.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn send_live(&self, template: &[u8], count: u32) -> Result<(u64, Duration)> {
        /// Small, so that frames wait only briefly for the rest of their batch.
        const BATCH: u32 = 32;
        let mut options = libbpf_sys::bpf_test_run_opts {
            sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
            data_in: template.as_ptr().cast(),
            data_size_in: template.len() as u32,
            repeat: count as i32,
            batch_size: BATCH,
            flags: libbpf_sys::BPF_F_TEST_XDP_LIVE_FRAMES,
            ..Default::default()
        };
        // SAFETY: the data outlives the call and the length is its own; no output is asked for.
        let result =
            unsafe { libbpf_sys::bpf_prog_test_run_opts(self.send.as_raw_fd(), &mut options) };
        if result < 0 {
            bail!(
                "sending live frames: {}",
                std::io::Error::from_raw_os_error(-result)
            );
        }
        let value = self.orders.lookup(&KEY, MapFlags::ANY)?.unwrap_or_default();
        let sent = value.get(12..).and_then(|rest| rest.first_chunk());
        let sent = sent.map_or(0, |bytes| u64::from(u32::from_ne_bytes(*bytes)));
        let nanos = word(&value, 6).saturating_sub(word(&value, 5));
        Ok((sent, Duration::from_nanos(nanos)))
    }
}

/// Loads every program once without attaching it.
///
/// # Errors
///
/// The kernel refuses one.
pub fn try_load() -> Result<()> {
    let mut storage = MaybeUninit::uninit();
    let open = hosts::HostsSkelBuilder::default().open(&mut storage)?;
    open.load().context("loading the hosts' XDP programs")?;
    let mut storage = MaybeUninit::uninit();
    let open = redirect::RedirectSkelBuilder::default().open(&mut storage)?;
    open.load().context("loading the forwarder's XDP program")?;
    Ok(())
}

impl Orders {
    fn to_map_value(self) -> Vec<u8> {
        let mut value = Vec::with_capacity(72);
        for field in [self.trial, self.ifindex, self.flows - 1, 0] {
            value.extend(field.to_ne_bytes());
        }
        let for_nanos = self.live_for.as_nanos() as u64;
        for field in [self.quantum_picos, self.gap_picos, for_nanos, 0, 0, 0] {
            value.extend(field.to_ne_bytes());
        }
        value.extend(u32::from(self.priority).to_ne_bytes());
        value.extend(0u32.to_ne_bytes());
        value
    }
}

/// The bare forwarder's program on one device; detached when dropped.
#[derive(Debug)]
pub struct Redirect(#[allow(dead_code)] Link);

impl Redirect {
    /// Redirects all frames of the device's queue 0 to `socket`.
    ///
    /// # Errors
    ///
    /// The kernel refuses the program, or the device already has one.
    pub fn attach(ifindex: u32, socket: BorrowedFd<'_>) -> Result<Self> {
        let mut storage = MaybeUninit::uninit();
        let open = redirect::RedirectSkelBuilder::default().open(&mut storage)?;
        let loaded = open.load().context("loading the forwarder's XDP program")?;
        loaded.maps.redirect_sockets.update(
            &KEY,
            &socket.as_raw_fd().to_ne_bytes(),
            MapFlags::ANY,
        )?;
        let link = loaded.progs.redirect.attach_xdp(ifindex as i32);
        Ok(Self(link.context("attaching the forwarder's XDP program")?))
    }
}

/// Returns the 64-bit word at `index` of a map value, or zero past its end.
fn word(value: &[u8], index: usize) -> u64 {
    value
        .get(8 * index..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}
