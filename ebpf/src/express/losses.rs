//! Losses of redirected frames in the kernel.

use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapHandle, OpenObject};

use super::ExpressMaps;
use crate::error::EbpfError;
use crate::kernel::refusal::VerifierLog;
use crate::watched::Watched;

/// Name of the programs in messages.
const NAME: &str = "the programs that count losses of the express path";

#[allow(missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/redirect_losses.skel.rs"));
}

/// Two programs at kernel tracepoints that count such frames and close their egress, for as long as this value lives.
#[derive(Debug)]
pub struct RedirectLosses {
    watched: Watched,
    _links: [Link; 2],
}

impl RedirectLosses {
    /// Counts losses on the way to [watched](Self::watch) devices, in the words of `maps`.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Refused`] or [`EbpfError::Load`]; it requires CAP_PERFMON and a kernel with
    /// BTF.
    pub fn new(maps: &ExpressMaps) -> Result<Self, EbpfError> {
        let failed = |error| EbpfError::load(NAME, &error);
        let mut storage = MaybeUninit::<OpenObject>::uninit();
        let mut open = skeleton::RedirectLossesSkelBuilder::default()
            .open(&mut storage)
            .map_err(failed)?;
        let devices = maps.devices.info().map_err(failed)?;
        if let Some(constants) = &mut open.maps.rodata_data {
            constants.weir_devices_id = devices.info.id;
            constants.weir_counts_given = maps.spare.is_some().into();
        }
        let lines = &mut open.maps.weir_lines;
        lines.reuse_fd(maps.lines.as_fd()).map_err(failed)?;
        let logs = [
            VerifierLog::of(NAME, &open.progs.weir_given),
            VerifierLog::of(NAME, &open.progs.weir_refused),
        ];
        let loaded = open.load().map_err(|error| {
            // The program loaded first has no log if it was accepted.
            let explained = logs.iter().map(|log| log.explain(&error));
            explained
                .max_by_key(|error| matches!(error, EbpfError::Refused { .. }))
                .unwrap_or_else(|| failed(error))
        })?;
        let links = [&loaded.progs.weir_given, &loaded.progs.weir_refused];
        let [given, refused] = links.map(|program| program.attach_trace());
        let watched = MapHandle::try_from(&loaded.maps.weir_watched).map_err(failed)?;
        Ok(Self {
            watched: Watched::new(watched).map_err(failed)?,
            _links: [given.map_err(failed)?, refused.map_err(failed)?],
        })
    }

    /// Counts frames lost on the way to this device of the thread's network namespace for `port`.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn watch(&self, ifindex: u32, port: u8) -> Result<(), EbpfError> {
        self.watched.add(ifindex, port)
    }
}
