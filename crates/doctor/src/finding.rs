//! Findings and their remedies.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// Grade of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// In order.
    Ok,
    /// Informative.
    Note,
    /// It causes lost or changed frames, or prevents the switch from starting.
    Problem,
}

impl Grade {
    /// Word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// Subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // obvious from their names; the book has a table
pub enum Check {
    Device,
    Kind,
    Link,
    Driver,
    Xdp,
    ZeroCopy,
    Buffers,
    Metadata,
    Queues,
    Rss,
    Offloads,
    OtherEnd,
    Pause,
    Ring,
    Mtu,
    Headroom,
    Neighbor,
    Numa,
    Interrupts,
    Iommu,
    Kernel,
    Capabilities,
    Memory,
    MemoryLock,
    BpfFileSystem,
    Btf,
    Programs,
    HugePages,
    Cpus,
    Clock,
    Loop,
    LoopFrames,
    LoopTags,
    LoopOrder,
    LoopPfc,
}

impl Check {
    /// Word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Kind => "kind",
            Self::Link => "link",
            Self::Driver => "driver",
            Self::Xdp => "xdp",
            Self::ZeroCopy => "zero-copy",
            Self::Buffers => "buffers",
            Self::Metadata => "metadata",
            Self::Queues => "queues",
            Self::Rss => "rss",
            Self::Offloads => "offloads",
            Self::OtherEnd => "other-end",
            Self::Pause => "pause",
            Self::Ring => "ring",
            Self::Mtu => "mtu",
            Self::Headroom => "headroom",
            Self::Neighbor => "neighbor",
            Self::Numa => "numa",
            Self::Interrupts => "interrupts",
            Self::Iommu => "iommu",
            Self::Kernel => "kernel",
            Self::Capabilities => "capabilities",
            Self::Memory => "memory",
            Self::MemoryLock => "memory-lock",
            Self::BpfFileSystem => "bpf-file-system",
            Self::Btf => "btf",
            Self::Programs => "programs",
            Self::HugePages => "huge-pages",
            Self::Cpus => "cpus",
            Self::Clock => "clock",
            Self::Loop => "loop",
            Self::LoopFrames => "loop-frames",
            Self::LoopTags => "loop-tags",
            Self::LoopOrder => "loop-order",
            Self::LoopPfc => "loop-pfc",
        }
    }
}

/// Remedy of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// A shell command.
    Command(String),
    /// A setting in the switch's file.
    Setting {
        /// The file; `None` if unknown.
        file: Option<PathBuf>,
        /// Its key, such as `dataplane.mtu` or `port.h1.queues`.
        key: String,
        /// The value in TOML; `None` to remove the key.
        value: Option<String>,
    },
    /// Any other action, as text.
    Other(String),
}

impl std::fmt::Display for Remedy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command(command) => f.write_str(command),
            Self::Setting { file, key, value } => {
                let file = file.as_deref().map(Path::display);
                let file = file.map_or("the switch's file".to_owned(), |file| file.to_string());
                match value {
                    Some(value) => write!(f, "in {file}: {key} = {value}"),
                    None => write!(f, "in {file}: remove {key}"),
                }
            }
            Self::Other(what) => f.write_str(what),
        }
    }
}

/// One line of the doctor's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Grade.
    pub grade: Grade,
    /// The device concerned; `None` for the host.
    pub device: Option<String>,
    /// Subject.
    pub check: Check,
    /// Description, with units.
    pub found: String,
    /// Its remedy. Every problem has one.
    pub remedy: Option<Remedy>,
}

impl Finding {
    pub(crate) fn new(grade: Grade, check: Check, found: impl Into<String>) -> Self {
        Self {
            grade,
            device: None,
            check,
            found: found.into(),
            remedy: None,
        }
    }

    pub(crate) fn ok(check: Check, found: impl Into<String>) -> Self {
        Self::new(Grade::Ok, check, found)
    }

    pub(crate) fn note(check: Check, found: impl Into<String>) -> Self {
        Self::new(Grade::Note, check, found)
    }

    pub(crate) fn problem(check: Check, found: impl Into<String>, remedy: Remedy) -> Self {
        Self::new(Grade::Problem, check, found).mended_by(remedy)
    }

    pub(crate) fn mended_by(self, remedy: Remedy) -> Self {
        Self {
            remedy: Some(remedy),
            ..self
        }
    }
}
