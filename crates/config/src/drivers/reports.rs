//! Faults of drivers in zero-copy that users of AF_XDP have reported in public. None was reproduced here.

/// A reported fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The driver, as `ethtool -i` prints it.
    pub driver: &'static str,
    /// The fault, with the affected version.
    pub fault: &'static str,
    /// The public report.
    pub source: &'static str,
}

/// All reports, by driver.
pub const REPORTS: [Report; 3] = [
    Report {
        driver: "ena",
        fault: "zero-copy sent half as many frames as copy mode: 0.67 against 1.26 million 64 B frames/s (driver 2.7.4 against 2.7.2)",
        source: "amzn-drivers issue 221",
    },
    Report {
        driver: "ice",
        fault: "closing AF_XDP sockets while frames are sent resets the NIC, which may not come back (Intel's own driver up to 2.5.4, and kernels before August 2024)",
        source: "ethernet-linux-ice issue 61",
    },
    Report {
        driver: "ixgbe",
        fault: "frames sent in zero-copy leave only after the socket is closed (Linux 6.18.5)",
        source: "xdp-tutorial issue 471",
    },
];

/// The reports about a driver by name.
pub fn reports(driver: &str) -> impl Iterator<Item = &'static Report> + '_ {
    REPORTS.iter().filter(move |report| report.driver == driver)
}

/// The book's list, in Markdown.
pub fn report_rows() -> String {
    let row = |report: &Report| {
        format!(
            "| `{}` | {} | {} |\n",
            report.driver, report.fault, report.source
        )
    };
    REPORTS.iter().map(row).collect()
}
