//! Generic netlink: families of messages, found by name.

use std::io;

use crate::message::{attribute, body, find, u16_at, HEADER};
use crate::socket::{ask, bad_answer, dump, order, Protocol};

// linux/genetlink.h
const GENL_HEADER: usize = 4;
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

/// The number of a family in this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family(u16);

impl Family {
    /// Finds the family with this name.
    ///
    /// # Errors
    ///
    /// The kernel's error; `NotFound` if it lacks the family.
    pub fn find(name: &str) -> io::Result<Self> {
        let name = attribute(CTRL_ATTR_FAMILY_NAME, &[name.as_bytes(), &[0]].concat());
        let answer = Self(GENL_ID_CTRL).ask(CTRL_CMD_GETFAMILY, &name)?;
        let number = find(&answer, CTRL_ATTR_FAMILY_ID).and_then(|value| u16_at(value, 0));
        number.map(Self).ok_or_else(bad_answer)
    }

    /// Sends a request with these attributes, and returns those of the answer.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn ask(self, command: u8, attributes: &[u8]) -> io::Result<Vec<u8>> {
        let answer = ask(
            Protocol::NetlinkGeneric,
            self.0,
            &with_command(command, attributes),
        )?;
        let attributes = body(&answer, self.0, HEADER + GENL_HEADER);
        attributes.map(<[u8]>::to_vec).ok_or_else(bad_answer)
    }

    /// Requests a list; `each` gets the attributes of every entry.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn dump(
        self,
        command: u8,
        attributes: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        let question = with_command(command, attributes);
        dump(Protocol::NetlinkGeneric, self.0, &question, |body| {
            each(body.get(GENL_HEADER..).unwrap_or_default());
        })
    }

    /// Sends a command.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn order(self, command: u8, attributes: &[u8]) -> io::Result<()> {
        let body = with_command(command, attributes);
        order(Protocol::NetlinkGeneric, self.0, 0, &body)
    }
}

fn with_command(command: u8, attributes: &[u8]) -> Vec<u8> {
    let header = [command, 1, 0, 0]; // command, version, reserved
    [&header, attributes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_family_has_its_number_and_an_unknown_one_is_missing() {
        assert_eq!(Family::find("nlctrl").unwrap(), Family(GENL_ID_CTRL));
        let error = Family::find("weir-none").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
    }
}
