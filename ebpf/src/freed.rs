//! Frames that the kernel's network stack drops at the ports' devices, by its reason.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;

use libbpf_rs::btf::types::Enum;
use libbpf_rs::btf::Btf;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, OpenObject};

use crate::error::{map_error, EbpfError};
use crate::kernel::refusal::VerifierLog;
use crate::maps::word;
use crate::watched::Watched;

/// Name of the program in messages.
const NAME: &str = "the program that counts the kernel's drops by reason";
const REASONS: &str = "skb_drop_reason";
const PREFIX: &str = "SKB_DROP_REASON_";
/// The reason by which frames for the switch may be lost as well. Each port has it from zero on, so that the first loss is an
/// increase.
const BEFORE_THE_SWITCH: &str = "cpu_backlog";

#[allow(missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/freed.skel.rs"));
}

/// A program at the kernel's tracepoint `kfree_skb`, for as long as this value lives.
#[derive(Debug)]
pub struct FreedFrames {
    watched: Watched,
    counts: MapHandle,
    /// Reasons of the running kernel; their numbers differ between kernels.
    names: BTreeMap<u32, String>,
    _link: Link,
}

impl FreedFrames {
    /// Counts drops at [watched](Self::watch) devices from now on.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Refused`] or [`EbpfError::Load`]; it requires CAP_PERFMON and Linux 5.17 with BTF.
    pub fn new() -> Result<Self, EbpfError> {
        let failed = |error| EbpfError::load(NAME, &error);
        let mut storage = MaybeUninit::<OpenObject>::uninit();
        let open = skeleton::FreedSkelBuilder::default()
            .open(&mut storage)
            .map_err(failed)?;
        let log = VerifierLog::of(NAME, &open.progs.weir_freed_frame);
        let loaded = open.load().map_err(|error| log.explain(&error))?;
        let watched = MapHandle::try_from(&loaded.maps.weir_watched).map_err(failed)?;
        Ok(Self {
            watched: Watched::new(watched).map_err(failed)?,
            counts: MapHandle::try_from(&loaded.maps.weir_freed).map_err(failed)?,
            names: names().map_err(failed)?,
            _link: loaded
                .progs
                .weir_freed_frame
                .attach_trace()
                .map_err(failed)?,
        })
    }

    /// Counts drops at this device of the thread's network namespace for `port`. One lookup if it does so already.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn watch(&self, ifindex: u32, port: u8) -> Result<(), EbpfError> {
        if self.watched.has(ifindex, port)? {
            return Ok(());
        }
        let before_the_switch = self
            .names
            .iter()
            .filter(|(_, name)| *name == BEFORE_THE_SWITCH);
        let from_zero = before_the_switch
            .map(|(reason, _)| *reason)
            .chain([weir_abi::WEIR_UNLISTED]);
        for reason in from_zero {
            let key = [u32::from(port), reason].map(u32::to_ne_bytes);
            // A port that was watched before keeps its counts.
            match self
                .counts
                .update(key.as_flattened(), &[0; 8], MapFlags::NO_EXIST)
            {
                Err(error) if error.kind() != libbpf_rs::ErrorKind::AlreadyExists => {
                    return Err(map_error("weir_freed")(error));
                }
                _ => {}
            }
        }
        self.watched.add(ifindex, port)
    }

    /// Returns ports, reasons in lower case such as `no_socket`, and frames dropped since the start.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn counts(&self) -> Result<Vec<(u8, String, u64)>, EbpfError> {
        let mut counts = Vec::new();
        for key in self.counts.keys() {
            let count = self.counts.lookup(&key, MapFlags::ANY);
            let count = count.map_err(map_error("weir_freed"))?;
            if let (Some((port, reason)), Some(count)) = (split(&key), count) {
                counts.push((port, self.name(reason), word(&count, 0)));
            }
        }
        Ok(counts)
    }

    fn name(&self, reason: u32) -> String {
        match self.names.get(&reason) {
            Some(name) => name.clone(),
            None if reason == weir_abi::WEIR_UNLISTED => "unlisted".to_owned(),
            None => format!("reason_{reason}"),
        }
    }
}

/// Divides a `struct weir_freed`.
fn split(key: &[u8]) -> Option<(u8, u32)> {
    let (port, reason) = key.split_first_chunk()?;
    let port = u8::try_from(u32::from_ne_bytes(*port)).ok()?;
    Some((port, u32::from_ne_bytes(reason.try_into().ok()?)))
}

/// Reads the running kernel's reasons.
fn names() -> Result<BTreeMap<u32, String>, libbpf_rs::Error> {
    let btf = Btf::from_vmlinux()?;
    let Some(reasons) = btf.type_by_name::<Enum<'_>>(REASONS) else {
        return Ok(BTreeMap::new());
    };
    let named = reasons.iter().filter_map(|member| {
        let name = member.name?.to_str()?.strip_prefix(PREFIX)?;
        Some((u32::try_from(member.value).ok()?, name.to_lowercase()))
    });
    Ok(named.collect())
}
