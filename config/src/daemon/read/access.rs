//! `[api]`, `[metrics]`, `[page]` and `[control-frames]`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use weir_core::{BitRate, Duration};

use super::{keys, within};
use crate::daemon::access::{
    is_remote, ApiConfig, ControlFramesConfig, MetricsConfig, TlsFiles, RATE_MOST,
};
use crate::daemon::PageConfig;
use crate::reader::Table;

/// The lowest limit in frames a second: a fabric's own refreshes need some.
const RATE_LEAST: u64 = 100;

/// The socket's path, and who may use it.
pub(super) fn api(root: &Table<'_>, run_dir: &Path) -> (PathBuf, ApiConfig) {
    let default = run_dir.join("api.sock");
    let Some(table) = root.table("api", keys("api")) else {
        return (default, ApiConfig::default());
    };
    let group = |key| {
        let name: Option<String> = table.get(key);
        if name.as_deref() == Some("") {
            table.complain(key, "must not be empty");
        }
        name
    };
    let config = ApiConfig {
        group: group("group"),
        read_group: group("read-group"),
    };
    let socket = table.get::<String>("socket").map_or(default, PathBuf::from);
    (socket, config)
}

pub(super) fn metrics(root: &Table<'_>) -> (Option<SocketAddr>, MetricsConfig) {
    let default = Some(SocketAddr::from(([127, 0, 0, 1], 9464)));
    let Some(table) = root.table("metrics", keys("metrics")) else {
        return (default, MetricsConfig::default());
    };
    let address = listen(&table, default);
    let file = |key| table.get::<String>(key).map(PathBuf::from);
    let tls = match (file("tls-certificate"), file("tls-key")) {
        (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
        (None, None) => None,
        (Some(_), None) => {
            table.complain("tls-certificate", "has no effect without tls-key; set both");
            None
        }
        (None, Some(_)) => {
            table.complain("tls-key", "has no effect without tls-certificate; set both");
            None
        }
    };
    let config = MetricsConfig {
        tls,
        token_file: file("token-file"),
        unprotected: table.get_or("unprotected", false),
    };
    let protected = config.tls.is_some() && config.token_file.is_some();
    if address.is_some_and(is_remote) && !protected && !config.unprotected {
        table.complain(
            "listen",
            "other hosts can reach this address: set tls-certificate, tls-key and token-file, or \
             `unprotected = true` if the network is trusted",
        );
    }
    (address, config)
}

pub(super) fn page(root: &Table<'_>) -> PageConfig {
    let default = PageConfig::default();
    let Some(table) = root.table("page", keys("page")) else {
        return default;
    };
    let names: Vec<String> = table.get_or("names", default.names);
    for name in &names {
        if !is_host_name(name) {
            table.complain(
                "names",
                format!("`{name}` is not a host name; write it without scheme and port"),
            );
        }
    }
    let config = PageConfig {
        listen: listen(&table, default.listen),
        names,
        unprotected: table.get_or("unprotected", false),
    };
    if config.listen.is_some_and(is_remote) && !config.unprotected {
        table.complain(
            "listen",
            "other hosts can reach this address, and the page has no authentication: put an authenticating \
             proxy in front of the loopback address, or set `unprotected = true` if the network is trusted",
        );
    }
    config
}

pub(super) fn control_frames(
    root: &Table<'_>,
    clcm_interval: Duration,
    fastest: Option<BitRate>,
) -> ControlFramesConfig {
    let default = ControlFramesConfig::for_fabric(clcm_interval, fastest);
    let Some(table) = root.table("control-frames", keys("control-frames")) else {
        return default;
    };
    let rate = |key, default: Option<u32>| {
        if table.is_text(key, "off") {
            return None;
        }
        within(&table, key, RATE_LEAST, RATE_MOST).map_or(default, |rate| Some(rate as u32))
    };
    ControlFramesConfig {
        key_file: table.get::<String>("key-file").map(PathBuf::from),
        pause_rate: rate("pause-rate", default.pause_rate),
        message_rate: rate("message-rate", default.message_rate),
    }
}

fn is_host_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    !name.is_empty() && name.bytes().all(legal)
}

/// An address and port, or nowhere for `off`.
fn listen(table: &Table<'_>, default: Option<SocketAddr>) -> Option<SocketAddr> {
    match table.get::<String>("listen") {
        None => default,
        Some(text) if text == "off" => None,
        Some(text) => match text.parse() {
            Ok(address) => Some(address),
            Err(_) => {
                let message =
                    format!("`{text}` is not an address; write \"ADDRESS:PORT\" or \"off\"");
                table.complain("listen", message);
                None
            }
        },
    }
}
