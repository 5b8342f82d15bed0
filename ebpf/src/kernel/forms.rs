//! Every form of the program, loaded once to check that this kernel accepts it.

use crate::express::{ExpressMaps, RedirectLosses, SPARE};
use crate::program::{Extras, PortProgram};
use crate::settings::PortSettings;
use crate::EbpfError;

/// A set of programs that a switch loads together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The XDP program of a port without the express path.
    Plain,
    /// The XDP program with the express path, and the programs that count its losses.
    Express,
    /// Like `Express`, for lossless classes: the program checks for room in a veth's ring.
    ExpressWithRoom,
    /// The XDP program that reserves slots of the RX ring for frames with a credit.
    Slots,
    /// All of these at once.
    Whole,
}

impl Form {
    /// All forms, smallest first.
    pub const ALL: [Self; 5] = [
        Self::Plain,
        Self::Express,
        Self::ExpressWithRoom,
        Self::Slots,
        Self::Whole,
    ];

    /// Returns the name in JSON and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Express => "express",
            Self::ExpressWithRoom => "express_with_room",
            Self::Slots => "slots",
            Self::Whole => "whole",
        }
    }

    /// Loads the form and unloads it again.
    ///
    /// # Errors
    ///
    /// Those of [`PortProgram::load_with`] and [`RedirectLosses::new`].
    pub fn try_load(self) -> Result<(), EbpfError> {
        let settings = PortSettings::default();
        let extras = Extras {
            keeps_slots: matches!(self, Self::Slots | Self::Whole),
            ..Extras::default()
        };
        if matches!(self, Self::Plain | Self::Slots) {
            return PortProgram::load_with(&settings, &extras).map(drop);
        }
        let mut maps = ExpressMaps::new()?;
        if self != Self::Express {
            maps.look_for_room(SPARE);
        }
        let extras = Extras {
            express: Some(&maps),
            ..extras
        };
        PortProgram::load_with(&settings, &extras)?;
        RedirectLosses::new(&maps).map(drop)
    }
}
