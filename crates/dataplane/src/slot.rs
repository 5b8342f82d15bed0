//! A port's slot: its kernel side while it has a device, and the counts of earlier devices.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use weir_ebpf::{EbpfError, FrameClass, Verdict};

use crate::start::attach::AttachedProgram;

type Counts = Vec<(&'static str, u64)>;

#[derive(Debug, Default)]
pub(super) struct Slot {
    /// `None` while the port has no device.
    pub(super) attached: Option<AttachedProgram>,
    frames_before: Counts,
    verdicts_before: Counts,
}

impl Slot {
    pub(super) fn new(attached: Option<AttachedProgram>) -> Self {
        Self {
            attached,
            ..Self::default()
        }
    }

    /// Returns the frames by class, over all devices that the port has had.
    pub(super) fn frames(&self) -> Counts {
        let program = self.attached.as_ref().map(|it| &it.program);
        let counters = program.and_then(|program| program.class_counters().ok());
        let now = counters.map_or_else(Vec::new, |counters| {
            FrameClass::ALL
                .into_iter()
                .map(|class| (class.name(), counters.of_class(class).frames))
                .collect()
        });
        both(now, &self.frames_before)
    }

    /// Returns the verdicts, over all devices that the port has had.
    pub(super) fn verdicts(&self) -> Counts {
        let program = self.attached.as_ref().map(|it| &it.program);
        let counters = program.and_then(|program| program.verdict_counters().ok());
        let now = counters.map_or_else(Vec::new, |counters| {
            let counted = |verdict: Verdict| (verdict.name(), counters.get(verdict));
            Verdict::ALL.into_iter().map(counted).collect()
        });
        both(now, &self.verdicts_before)
    }

    /// Returns the duplicates of the port's sockets, which keep the sockets open.
    pub(super) fn take_sockets(&mut self) -> Vec<OwnedFd> {
        let attached = self.attached.as_mut();
        attached.map_or_else(Vec::new, |it| std::mem::take(&mut it.sockets))
    }

    pub(super) fn socket(&self) -> Option<BorrowedFd<'_>> {
        let socket = self.attached.as_ref()?.sockets.first()?;
        Some(socket.as_fd())
    }

    /// Detaches the port from the kernel.
    ///
    /// # Errors
    ///
    /// Those of [`PortProgram::detach`](weir_ebpf::PortProgram::detach).
    pub(super) fn detach(&mut self) -> Result<(), EbpfError> {
        (self.frames_before, self.verdicts_before) = (self.frames(), self.verdicts());
        match self.attached.take() {
            Some(attached) => attached.detach(),
            None => Ok(()),
        }
    }
}

fn both(now: Counts, before: &Counts) -> Counts {
    if now.is_empty() {
        return before.clone();
    }
    let earlier = |name| before.iter().find(|(known, _)| *known == name);
    now.into_iter()
        .map(|(name, count)| (name, count + earlier(name).map_or(0, |(_, before)| *before)))
        .collect()
}
