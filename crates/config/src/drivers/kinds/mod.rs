//! Kinds of network devices, and whether each can be a port of a switch.
//!
//! [`KINDS`] has one row for each kind, [`MASTERS`] one for each kind of device that another device can be a port of. The
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
    /// The kind's own mode that the row applies to, as the kernel numbers it; `None` for all that have no row.
    pub mode: Option<u32>,
    /// A device of this kind, in a sentence.
    pub what: &'static str,
    /// Frames with native XDP, for the book.
    pub native: &'static str,
    /// Frames with generic XDP, for the book.
    pub generic: &'static str,
    /// PFC and PAUSE, for the book.
    pub pauses: &'static str,
    /// Its use as a port.
    pub takes: Takes,
    /// Origin of these facts.
    pub source: &'static str,
}

/// The use of a kind of device as a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Any.
    All,
    /// Any, in generic mode only.
    Generic {
        /// The fault of native mode.
        because: &'static str,
    },
    /// Lossy classes only.
    Lossy {
        /// The fault of lossless classes.
        because: &'static str,
        /// The way to mend it.
        remedy: Remedy,
        /// The fault of native mode, where there is one as well.
        not_native: Option<&'static str>,
    },
    /// None.
    Nothing {
        /// The fault.
        because: &'static str,
        /// The way to mend it.
        remedy: Remedy,
    },
}

/// The way to mend a refusal. `{device}`, `{lower}` and `{master}` stand for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A command for a shell.
    Command(&'static str),
    /// Words.
    Words(&'static str),
}

/// A kind of device that others can be ports of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Master {
    /// The kernel's name for it.
    pub name: &'static str,
    /// A port of such a device, in a sentence. `{master}` stands for the device's name.
    pub what: &'static str,
    /// The fault of such a port as a port of the switch.
    pub because: &'static str,
    /// The way to mend it.
    pub remedy: Remedy,
}

/// A device as the kernel reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nature<'a> {
    /// Its name.
    pub device: &'a str,
    /// Its kind; `None` for hardware and for the loopback device.
    pub kind: Option<&'a str>,
    /// The mode that devices of its kind have, as a number.
    pub mode: Option<u32>,
    /// Its type of hardware (`ARPHRD_*`).
    pub hardware: u16,
    /// Name and kind of the device that it is a port of.
    pub master: Option<(&'a str, Option<&'a str>)>,
    /// The device that it is on top of, where this namespace has that.
    pub lower: Option<&'a str>,
}

/// The modes in which a device can be a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// In any mode.
    Any,
    /// In generic mode only.
    GenericOnly {
        /// The fault of native mode.
        because: &'static str,
    },
    /// Its kind has no row.
    NotKnown,
}

/// The reason why a device cannot be a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is {what}: {because}; {cure}")]
pub struct Refusal {
    /// The device.
    pub what: String,
    /// The fault.
    pub because: &'static str,
    /// The way to mend it.
    pub cure: Cure,
}

/// The way to mend a refusal, with all names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cure {
    /// A command for a shell.
    Command(String),
    /// Words.
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
    /// Decides whether the device can be a port of a switch with this `xdp-mode`, with or without lossless classes.
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

    /// The device in a sentence.
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
        // A tun device that carries IP packets has the same kind as one that carries frames.
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

    /// The text with the names of devices in it.
    fn named(&self, text: &str) -> String {
        let master = self.master.map_or("?", |(name, _)| name);
        text.replace("{device}", self.device)
            .replace("{lower}", self.lower.unwrap_or("the device below it"))
            .replace("{master}", master)
    }
}

/// The way to mend `xdp-mode = "native"`.
const AUTO: Remedy =
    Remedy::Words("set dataplane.xdp-mode = \"auto\", which takes generic XDP there");

impl Takes {
    const fn is_nothing(self) -> bool {
        matches!(self, Self::Nothing { .. })
    }

    /// In the book.
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

/// The book's table of devices that others are ports of, in Markdown.
pub fn master_rows() -> String {
    let row = |master: &Master| {
        let what = master.what.replace(" `{master}`", "");
        format!("| {what} | {} |\n", master.because)
    };
    MASTERS.iter().map(row).collect()
}

#[cfg(test)]
mod tests;
