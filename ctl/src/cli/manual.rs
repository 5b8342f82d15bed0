//! Additional text of `switchctl`'s manual pages.

use weir_output::manual::Manual;

pub const MANUAL: Manual = Manual {
    section: "1",
    files: &[
        (
            "/etc/weir/switchd.toml",
            "The daemon's configuration where no other is named: weir-switchd.toml(5).",
        ),
        (
            "/run/weir/NAME/api.sock",
            "Socket of the switch NAME. Root and the group weir may ask there.",
        ),
    ],
    environment: &[
        (
            "WEIR_SOCKET",
            "The socket, where neither --socket nor --name is given.",
        ),
        ("NO_COLOR", "Set to anything: no colours."),
    ],
    see_also: &[
        "weir-switchd(8)",
        "weir-switchd.toml(5)",
        "weir-plan(1)",
        "weir-host(1)",
    ],
};
