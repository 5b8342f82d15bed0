//! The TLVs of IEEE 802.1AB itself (clause 8.5).

use core::fmt;
use core::fmt::Write as _;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::num::NonZeroU16;

use crate::units::{Duration, MacAddress};

pub(super) const TTL_LENGTH: usize = 2;
pub(super) const CAPABILITIES_LENGTH: usize = 4;

/// Up to 255 bytes that should be text; a neighbour may send anything. Its display form is safe for terminals and logs:
/// control characters and invalid UTF-8 are escaped. The order, by length first, serves only as a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text {
    length: u8,
    /// Zero from `length` on.
    bytes: [u8; Self::LENGTH_MAX],
}

impl Text {
    /// Maximum length of any string in the standard (clauses 8.5.2 to 8.5.7).
    pub const LENGTH_MAX: usize = 255;

    /// Creates a text; `None` for more than [`LENGTH_MAX`](Self::LENGTH_MAX) bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut text = Self {
            length: u8::try_from(bytes.len()).ok()?,
            bytes: [0; Self::LENGTH_MAX],
        };
        text.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(text)
    }

    /// Truncates `text` to whole characters that fit.
    pub fn truncated(text: &str) -> Self {
        let mut length = text.len().min(Self::LENGTH_MAX);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        let mut bytes = [0; Self::LENGTH_MAX];
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Self {
            length: length as u8,
            bytes,
        }
    }

    /// The bytes as received.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// The text, if it is UTF-8. Not escaped.
    pub fn as_str(&self) -> Option<&str> {
        core::str::from_utf8(self.as_bytes()).ok()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.as_bytes().utf8_chunks() {
            for character in chunk.valid().chars() {
                // Escaping quotation marks is unnecessary.
                match character {
                    '"' | '\'' => formatter.write_char(character)?,
                    _ => character.escape_debug().fmt(formatter)?,
                }
            }
            chunk.invalid().escape_ascii().fmt(formatter)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

/// A name and its name space: [`ChassisId`] or [`PortIdentifier`].
///
/// Both number their name spaces by separate tables (8-2 and 8-3). `MAC` is the number of MAC addresses; network
/// addresses and interface names have the next two numbers in either table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier<const MAC: u8> {
    subtype: u8,
    /// Never empty, and six bytes for a MAC address.
    bytes: Text,
}

/// A system: the Chassis ID TLV (clause 8.5.2).
pub type ChassisId = Identifier<4>;
/// A port of a system: the Port ID TLV (clause 8.5.3).
pub type PortIdentifier = Identifier<3>;

impl<const MAC: u8> Identifier<MAC> {
    /// Subtype of a MAC address.
    pub const MAC_ADDRESS: u8 = MAC;
    /// Subtype of a network address: one byte of IANA address family, and the address.
    pub const NETWORK_ADDRESS: u8 = MAC + 1;
    /// Subtype of an interface name (ifName of RFC 2863).
    pub const INTERFACE_NAME: u8 = MAC + 2;

    /// Creates a name in any name space, including unknown ones. `None` if it has no bytes or more than 255, or is a
    /// MAC address of other than six bytes.
    pub fn new(subtype: u8, bytes: &[u8]) -> Option<Self> {
        let legal = if subtype == Self::MAC_ADDRESS {
            bytes.len() == 6
        } else {
            !bytes.is_empty()
        };
        let bytes = Text::new(bytes).filter(|_| legal)?;
        Some(Self { subtype, bytes })
    }

    /// Creates a name from a MAC address.
    pub fn mac(address: MacAddress) -> Self {
        let mut bytes = [0; Text::LENGTH_MAX];
        bytes[..6].copy_from_slice(&address.0);
        Self {
            subtype: Self::MAC_ADDRESS,
            bytes: Text { length: 6, bytes },
        }
    }

    /// Creates a name from an interface name; `None` if it has no bytes or more than 255.
    pub fn interface_name(name: &str) -> Option<Self> {
        Self::new(Self::INTERFACE_NAME, name.as_bytes())
    }

    /// Number of the name space.
    pub fn subtype(&self) -> u8 {
        self.subtype
    }

    /// The name.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_bytes()
    }

    /// The MAC address, if the name is one.
    pub fn as_mac(&self) -> Option<MacAddress> {
        let bytes = self.as_bytes().try_into().ok()?;
        (self.subtype == Self::MAC_ADDRESS).then_some(MacAddress(bytes))
    }

    /// The interface name, if the name is one and UTF-8.
    pub fn as_interface_name(&self) -> Option<&str> {
        self.bytes
            .as_str()
            .filter(|_| self.subtype == Self::INTERFACE_NAME)
    }

    pub(super) fn from_wire(value: &[u8]) -> Option<Self> {
        let (subtype, bytes) = value.split_first()?;
        Self::new(*subtype, bytes)
    }
}

impl<const MAC: u8> fmt::Display for Identifier<MAC> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(address) = self.as_mac() {
            return address.fmt(formatter);
        }
        match (self.subtype == Self::NETWORK_ADDRESS, self.as_bytes()) {
            (true, [1, address @ ..]) => {
                if let Ok(octets) = <[u8; 4]>::try_from(address) {
                    return Ipv4Addr::from(octets).fmt(formatter);
                }
            }
            (true, [2, address @ ..]) => {
                if let Ok(octets) = <[u8; 16]>::try_from(address) {
                    return Ipv6Addr::from(octets).fmt(formatter);
                }
            }
            _ => {}
        }
        self.bytes.fmt(formatter)
    }
}

impl<const MAC: u8> fmt::Debug for Identifier<MAC> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (subtype {})", self, self.subtype)
    }
}

/// Lifetime of an announcement: 1 to 65 535 seconds. Zero means shutdown and is excluded here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeToLive(NonZeroU16);

impl TimeToLive {
    /// Value of the standard's default timers: four intervals of 30 s, and one second.
    pub const STANDARD: Self = Self(NonZeroU16::MIN.saturating_add(4 * 30));

    /// Converts seconds; `None` for zero.
    pub const fn new(seconds: u16) -> Option<Self> {
        match NonZeroU16::new(seconds) {
            None => None,
            Some(seconds) => Some(Self(seconds)),
        }
    }

    /// The number of seconds.
    pub const fn seconds(self) -> u16 {
        self.0.get()
    }

    /// As a [`Duration`].
    pub const fn as_duration(self) -> Duration {
        Duration::from_secs(self.0.get() as u64)
    }
}

/// Kind of system of the sender: the bits of table 8-4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SystemCapabilities {
    supported: u16,
    enabled: u16,
}

impl SystemCapabilities {
    /// The bit of a MAC bridge.
    pub const BRIDGE: u16 = 1 << 2;
    /// The bit of a station only.
    pub const STATION_ONLY: u16 = 1 << 7;

    /// Creates the capabilities; `None` if one is enabled but not supported (clause 8.5.8).
    pub const fn new(supported: u16, enabled: u16) -> Option<Self> {
        if enabled & !supported != 0 {
            return None;
        }
        Some(Self { supported, enabled })
    }

    /// An active bridge, like Weir.
    pub const fn bridge() -> Self {
        Self {
            supported: Self::BRIDGE,
            enabled: Self::BRIDGE,
        }
    }

    /// Returns the supported capabilities.
    pub const fn supported(self) -> u16 {
        self.supported
    }

    /// Returns the enabled capabilities.
    pub const fn enabled(self) -> u16 {
        self.enabled
    }

    pub(super) fn from_wire(value: &[u8]) -> Option<Self> {
        let bytes: &[u8; CAPABILITIES_LENGTH] = value.first_chunk()?;
        Self::new(
            u16::from_be_bytes([bytes[0], bytes[1]]),
            u16::from_be_bytes([bytes[2], bytes[3]]),
        )
    }

    pub(super) fn to_wire(self) -> [u8; CAPABILITIES_LENGTH] {
        let ([a, b], [c, d]) = (self.supported.to_be_bytes(), self.enabled.to_be_bytes());
        [a, b, c, d]
    }
}
