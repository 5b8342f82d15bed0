//! Kinds of network devices, and whether each can be a port of a switch.
//!
//! [`KINDS`] has one row for each kind, [`MASTERS`] one for each kind of device that has other devices as ports. The
//! daemon's refusals, the doctor's findings and the book's tables are made from these rows.

mod table;

pub use table::{KINDS, MASTERS};

use crate::daemon::XdpMode;

/// `ARPHRD_ETHER` and `ARPHRD_LOOPBACK` of linux/if_arp.h.
const ETHERNET: u16 = 1;
const LOOPBACK: u16 = 772;

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The kernel's name for it (`ip -d link`).
    pub name: &'static str,
    /// The kind's own mode that the row applies to, as numbered by the kernel; `None` for all modes without a row.
    pub mode: Option<u32>,
    /// Description of a device of this kind, as part of a sentence.
    pub what: &'static str,
    /// Support of native XDP, for the book.
    pub native: &'static str,
    /// Support of generic XDP, for the book.
    pub generic: &'static str,
    /// Support of PFC and PAUSE, for the book.
    pub pauses: &'static str,
    /// Its use as a port.
    pub takes: Takes,
    /// Source of these facts.
    pub source: &'static str,
}

/// The use of a kind of device as a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Any.
    All,
    /// Any, in generic mode only.
    Generic {
        /// The problem with native mode.
        because: &'static str,
    },
    /// Lossy classes only.
    Lossy {
        /// The problem with lossless classes.
        because: &'static str,
        /// The remedy.
        remedy: Remedy,
        /// The problem with native mode, if it has one as well.
        not_native: Option<&'static str>,
    },
    /// None.
    Nothing {
        /// The problem.
        because: &'static str,
        /// The remedy.
        remedy: Remedy,
    },
}

/// Remedy for a refusal. `{device}`, `{lower}` and `{master}` are replaced by names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A shell command.
    Command(&'static str),
    /// A description.
    Words(&'static str),
}

/// A kind of device that has other devices as ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Master {
    /// The kernel's name for it.
    pub name: &'static str,
    /// Description of a port of such a device, as part of a sentence. `{master}` is replaced by the device's
    /// name.
    pub what: &'static str,
    /// The problem with such a port as a port of the switch.
    pub because: &'static str,
    /// The remedy.
    pub remedy: Remedy,
}

/// A device as the kernel reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nature<'a> {
    /// Its name.
    pub device: &'a str,
    /// Its kind; `None` for hardware and for the loopback device.
    pub kind: Option<&'a str>,
    /// The device's own mode, as a number.
    pub mode: Option<u32>,
    /// Its type of hardware (`ARPHRD_*`).
    pub hardware: u16,
    /// Name and kind of the device of which it is a port.
    pub master: Option<(&'a str, Option<&'a str>)>,
    /// The device on which it is stacked, if that is in this namespace.
    pub lower: Option<&'a str>,
}

/// Modes in which a device can be a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Any.
    Any,
    /// Generic only.
    GenericOnly {
        /// The problem with native mode.
        because: &'static str,
    },
    /// Unknown: its kind has no row.
    NotKnown,
}

/// The reason why a device cannot be a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is {what}: {because}; {cure}")]
pub struct Refusal {
    /// The device.
    pub what: String,
    /// The problem.
    pub because: &'static str,
    /// The remedy.
    pub cure: Cure,
}

/// The remedy for a refusal, with all names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cure {
    /// A shell command.
    Command(String),
    /// A description.
    Words(String),
}

impl std::fmt::Display for Cure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command(command) => write!(f, "run `{command}`"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

impl Nature<'_> {
    /// Checks that the device can be a port of a switch with this `xdp-mode`, with or without lossless classes.
    ///
    /// # Errors
    ///
    /// The reason why it cannot.
    pub fn fit(&self, mode: XdpMode, has_lossless: bool) -> Result<Fit, Refusal> {
        if let Some(refusal) = self.refused_by_master() {
            return Err(refusal);
        }
        let Some(kind) = self.row() else {
            return self.fit_without_row();
        };
        let refuse = |because, remedy| self.refusal(kind.what, because, remedy);
        let not_native = match kind.takes {
            Takes::Nothing { because, remedy } => return Err(refuse(because, remedy)),
            Takes::Lossy {
                because, remedy, ..
            } if has_lossless => return Err(refuse(because, remedy)),
            Takes::Lossy { not_native, .. } => not_native,
            Takes::Generic { because } => Some(because),
            Takes::All => None,
        };
        match not_native {
            Some(because) if mode == XdpMode::Native => Err(refuse(because, AUTO)),
            Some(because) => Ok(Fit::GenericOnly { because }),
            None => Ok(Fit::Any),
        }
    }

    /// The device's description.
    pub fn what(&self) -> String {
        match (self.row(), self.kind) {
            (Some(kind), _) => kind.what.to_owned(),
            (None, Some(kind)) => format!("a device of kind `{kind}`"),
            (None, None) => "hardware".to_owned(),
        }
    }

    fn row(&self) -> Option<&'static Kind> {
        let name = match (self.kind, self.hardware) {
            (None, LOOPBACK) => "loopback",
            (kind, _) => kind?,
        };
        let of_kind = || KINDS.iter().filter(move |kind| kind.name == name);
        let exact = of_kind().find(|kind| kind.mode.is_some() && kind.mode == self.mode);
        let row = exact.or_else(|| of_kind().find(|kind| kind.mode.is_none()))?;
        // A tun device for IP packets has the same kind as one for frames.
        (self.hardware == ETHERNET || row.takes.is_nothing()).then_some(row)
    }

    fn fit_without_row(&self) -> Result<Fit, Refusal> {
        if self.hardware != ETHERNET {
            let what = format!("a device without Ethernet frames (type {})", self.hardware);
            let remedy = Remedy::Words("name a device that carries Ethernet frames");
            return Err(self.refusal(&what, "a switch forwards Ethernet frames", remedy));
        }
        Ok(match self.kind {
            None => Fit::Any,
            Some(_) => Fit::NotKnown,
        })
    }

    fn refused_by_master(&self) -> Option<Refusal> {
        let (_, kind) = self.master?;
        let master = MASTERS.iter().find(|master| Some(master.name) == kind)?;
        Some(self.refusal(master.what, master.because, master.remedy))
    }

    fn refusal(&self, what: &str, because: &'static str, remedy: Remedy) -> Refusal {
        Refusal {
            what: self.named(what),
            because,
            cure: match remedy {
                Remedy::Command(command) => Cure::Command(self.named(command)),
                Remedy::Words(words) => Cure::Words(self.named(words)),
            },
        }
    }

    /// Inserts the names of devices into the text.
    fn named(&self, text: &str) -> String {
        let master = self.master.map_or("?", |(name, _)| name);
        text.replace("{device}", self.device)
            .replace("{lower}", self.lower.unwrap_or("the device below it"))
            .replace("{master}", master)
    }
}

/// The remedy for `xdp-mode = "native"`.
const AUTO: Remedy =
    Remedy::Words("set dataplane.xdp-mode = \"auto\", which takes generic XDP there");

impl Takes {
    const fn is_nothing(self) -> bool {
        matches!(self, Self::Nothing { .. })
    }

    /// Word in the book.
    const fn word(self) -> &'static str {
        match self {
            Self::All => "yes",
            Self::Generic { .. } => "in generic mode",
            Self::Lossy {
                not_native: None, ..
            } => "without lossless classes",
            Self::Lossy {
                not_native: Some(_),
                ..
            } => "in generic mode, without lossless classes",
            Self::Nothing { .. } => "**refused**",
        }
    }

    const fn because(self) -> &'static str {
        match self {
            Self::All => "–",
            Self::Generic { because }
            | Self::Lossy { because, .. }
            | Self::Nothing { because, .. } => because,
        }
    }
}

/// The book's table of kinds, in Markdown.
pub fn rows() -> String {
    let row = |kind: &Kind| {
        format!(
            "| `{}`: {} | {} | {} | {} | {} | {} | {} |\n",
            kind.name,
            kind.what,
            kind.native,
            kind.generic,
            kind.pauses,
            kind.takes.word(),
            kind.takes.because(),
            kind.source
        )
    };
    KINDS.iter().map(row).collect()
}

/// The book's table of devices that have other devices as ports, in Markdown.
pub fn master_rows() -> String {
    let row = |master: &Master| {
        let what = master.what.replace(" `{master}`", "");
        format!("| {what} | {} |\n", master.because)
    };
    MASTERS.iter().map(row).collect()
}

#[cfg(test)]
mod tests;
