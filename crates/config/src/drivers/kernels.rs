//! The kernel release that each feature needs, and kernels known to be broken.
//!
//! The book's page on kernels is generated from [`FEATURES`] and [`BROKEN`]; errors, `switchctl doctor` and the tests
//! in guests use the releases from here.

use std::fmt;

/// A release of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// `6` of `6.12.117`.
    pub major: u16,
    /// `12` of `6.12.117`.
    pub minor: u16,
}

impl Release {
    /// Creates a release.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// Parses the output of `uname -r`, such as `6.1.0-56-amd64`. `None` if it does not start with a number.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(|c: char| !c.is_ascii_digit());
        Some(Self {
            major: numbers.next()?.parse().ok()?,
            minor: numbers
                .next()
                .and_then(|minor| minor.parse().ok())
                .unwrap_or(0),
        })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Linux {}.{}", self.major, self.minor)
    }
}

/// The oldest kernel on which Weir is tested.
pub const OLDEST: Release = Release::new(6, 1);

/// A feature that some kernels from [`OLDEST`] on lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Name in the book.
    pub name: &'static str,
    /// The first release with it.
    pub since: Release,
    /// Behaviour of older kernels.
    pub without: &'static str,
}

/// Drivers report their XDP features by netlink.
pub const XDP_FEATURES: Feature = Feature {
    name: "XDP features of devices",
    since: Release::new(6, 3),
    without: "`switchctl doctor` takes them from the table of drivers; no port uses the express path (`no_features`)",
};
/// Programs can read a device's time of reception of a frame.
pub const HARDWARE_TIME: Feature = Feature {
    name: "`hardware-time`",
    since: Release::new(6, 3),
    without: "the start is refused with `hardware-time = true`",
};
/// AF_XDP carries a frame in several chunks (`XDP_USE_SG`).
pub const LONG_FRAMES: Feature = Feature {
    name: "frames of several chunks (jumbo frames)",
    since: Release::new(6, 6),
    without: "the start is refused unless `dataplane.mtu` fits one chunk",
};
/// A device's NAPI can be set over netlink to defer interrupts.
pub const NAPI_DEFER: Feature = Feature {
    name: "`napi-defer`",
    since: Release::new(6, 13),
    without: "the device interrupts as before, with a warning",
};
/// igb and virtio_net have AF_XDP zero-copy.
pub const ZERO_COPY_OF_IGB_AND_VIRTIO: Feature = Feature {
    name: "zero-copy of igb and virtio_net",
    since: Release::new(6, 14),
    without: "the kernel copies each frame; `zero-copy = \"require\"` is refused",
};
/// Queueing disciplines in BPF, if the distribution configures them.
pub const BPF_QDISC: Feature = Feature {
    name: "`weir-host attach` (CONFIG_NET_SCH_BPF; Debian sets it from 6.18 on)",
    since: Release::new(6, 16),
    without: "refused; `weir-host plug` obeys pauses instead",
};
/// One system call sends a batch of any size (`XDP_MAX_TX_SKB_BUDGET`).
pub const TRANSMIT_BUDGET: Feature = Feature {
    name: "a whole batch in one system call, in copy mode",
    since: Release::new(6, 17),
    without: "32 frames a call",
};
/// A veth with a queueing discipline reports a full ring to AF_XDP instead of dropping the frame.
pub const FULL_VETH: Feature = Feature {
    name: "a full veth keeps frames in the TX ring; express path of lossless classes",
    since: Release::new(6, 18),
    without: "a full veth drops frames; lossless classes stay off the express path (`room`)",
};

/// All features, oldest first.
pub const FEATURES: [Feature; 8] = [
    XDP_FEATURES,
    HARDWARE_TIME,
    LONG_FRAMES,
    NAPI_DEFER,
    ZERO_COPY_OF_IGB_AND_VIRTIO,
    BPF_QDISC,
    TRANSMIT_BUDGET,
    FULL_VETH,
];

/// A kernel on which ordinary traffic over AF_XDP crashes the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Prefix of the output of `uname -r`.
    release: &'static str,
    /// The observed fault.
    pub fault: &'static str,
    /// A kernel without the fault.
    pub remedy: &'static str,
}

/// All kernels known to be broken.
pub const BROKEN: [Broken; 1] = [Broken {
    release: "6.16.12",
    fault: "the kernel panics in AF_XDP's copy mode (seen with Debian's 6.16.12+deb13)",
    remedy: "boot Linux 6.18 or newer, or 6.12",
}];

/// The entry for the kernel with this `release`, if it is known to be broken.
pub fn broken(release: &str) -> Option<&'static Broken> {
    let is_other_patch = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    BROKEN.iter().find(|broken| {
        release
            .strip_prefix(broken.release)
            .is_some_and(|rest| !is_other_patch(rest))
    })
}

/// The table of features in Markdown.
pub fn feature_rows() -> String {
    let row = |feature: &Feature| {
        format!(
            "| {} | {} | {} |\n",
            feature.name, feature.since, feature.without
        )
    };
    FEATURES.iter().map(row).collect()
}

/// The table of broken kernels in Markdown.
pub fn broken_rows() -> String {
    let row = |broken: &Broken| {
        format!(
            "| Linux {} | {} | {} |\n",
            broken.release, broken.fault, broken.remedy
        )
    };
    BROKEN.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_as_uname_prints_them() {
        for (text, release) in [
            ("6.1.0-56-amd64", Release::new(6, 1)),
            ("6.12.117+deb13-amd64", Release::new(6, 12)),
            ("7.3.4", Release::new(7, 3)),
            ("7-rc1", Release::new(7, 0)),
        ] {
            assert_eq!(Release::parse(text), Some(release), "{text}");
        }
        assert_eq!(Release::parse("none"), None);
        assert!(Release::new(6, 12) > LONG_FRAMES.since && Release::new(6, 1) < XDP_FEATURES.since);
    }

    #[test]
    fn features_are_listed_by_age_and_each_is_newer_than_the_oldest_kernel() {
        assert!(FEATURES.is_sorted_by_key(|feature| feature.since));
        assert!(FEATURES.iter().all(|feature| feature.since > OLDEST));
    }

    #[test]
    fn a_broken_kernel_is_matched_by_its_full_version() {
        assert!(broken("6.16.12+deb13-amd64").is_some());
        assert!(broken("6.16.12").is_some());
        for release in ["6.16.120", "6.16.1", "6.16.3+deb13-amd64", "6.18.15"] {
            assert_eq!(broken(release), None, "{release}");
        }
    }
}
