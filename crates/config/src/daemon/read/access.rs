//! `[api]`, `[metrics]`, `[gnmi]` and `[page]`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::daemon::access::{
    is_remote, ApiConfig, ApiTable, GnmiConfig, MetricsConfig, Protection,
};
use crate::daemon::PageConfig;
use crate::reader::Table;
use crate::settings::valid;

/// The socket's path, and its users.
pub(super) fn api(root: &Table<'_>, run_dir: &Path) -> (PathBuf, ApiConfig) {
    let table = ApiTable::read(root, ApiTable::default(), valid::together);
    let config = ApiConfig {
        group: table.group,
        read_group: table.read_group,
    };
    let socket = table.socket.unwrap_or_else(|| run_dir.join("api.sock"));
    (socket, config)
}

pub(super) fn metrics(root: &Table<'_>) -> MetricsConfig {
    MetricsConfig::read(root, MetricsConfig::default(), check_metrics)
}

fn check_metrics(table: &Table<'_>, config: &MetricsConfig) {
    let tls = [&config.tls_certificate, &config.tls_key];
    let protected = config.protection();
    check_protection(table, config.listen, tls, &protected, config.unprotected);
}

pub(super) fn gnmi(root: &Table<'_>) -> GnmiConfig {
    GnmiConfig::read(root, GnmiConfig::default(), check_gnmi)
}

fn check_gnmi(table: &Table<'_>, config: &GnmiConfig) {
    let tls = [&config.tls_certificate, &config.tls_key];
    let protected = config.protection();
    check_protection(table, config.listen, tls, &protected, config.unprotected);
}

/// Checks that TLS has both files, and that a listener reachable from other hosts is fully protected.
fn check_protection(
    table: &Table<'_>,
    listen: Option<SocketAddr>,
    tls: [&Option<PathBuf>; 2],
    protection: &Protection,
    unprotected: bool,
) {
    match tls {
        [Some(_), None] => {
            table.complain("tls-certificate", "has no effect without tls-key; set both")
        }
        [None, Some(_)] => {
            table.complain("tls-key", "has no effect without tls-certificate; set both")
        }
        _ => {}
    }
    let protected = protection.tls.is_some() && protection.token_file.is_some();
    if listen.is_some_and(is_remote) && !protected && !unprotected {
        table.complain(
            "listen",
            "other hosts can reach this address: set tls-certificate, tls-key and token-file, or \
             `unprotected = true` if the network is trusted",
        );
    }
}

pub(super) fn page(root: &Table<'_>) -> PageConfig {
    PageConfig::read(root, PageConfig::default(), check_page)
}

fn check_page(table: &Table<'_>, config: &PageConfig) {
    for name in &config.names {
        if !is_host_name(name) {
            table.complain(
                "names",
                format!("`{name}` is not a host name; write it without scheme and port"),
            );
        }
    }
    if config.listen.is_some_and(is_remote) && !config.unprotected {
        table.complain(
            "listen",
            "other hosts can reach this address, and the page has no authentication: put an authenticating \
             proxy in front of the loopback address, or set `unprotected = true` if the network is trusted",
        );
    }
}

fn is_host_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    !name.is_empty() && name.bytes().all(legal)
}
