//! Certificates for servers at the loopback address.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use weir_config::daemon::TlsFiles;

/// Creates a self-signed certificate for 127.0.0.1 and its key, as `NAME.pem` and `NAME.key` in `directory`.
pub fn make(directory: &Path, name: &str) -> TlsFiles {
    let files = TlsFiles {
        certificate: directory.join(format!("{name}.pem")),
        key: directory.join(format!("{name}.key")),
    };
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"])
        .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-subj", "/CN=weir"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .arg("-keyout")
        .arg(&files.key)
        .arg("-out")
        .arg(&files.certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    std::fs::set_permissions(&files.key, Permissions::from_mode(0o600)).unwrap();
    files
}
