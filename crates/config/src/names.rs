//! Names that become parts of paths, labels and shell lines.

use crate::reader::Table;

/// Leaves room in the path of a Unix socket, which has 107 bytes.
const NAME_LENGTH_MAX: usize = 64;
/// Limit of Linux: `IFNAMSIZ` without the final zero.
const DEVICE_LENGTH_MAX: usize = 15;

/// Reports a problem unless `name`, the value of `key`, is 1 to 64 of `A-Z a-z 0-9 . _ -` and does not begin with a
/// dot.
pub(crate) fn check_name(table: &Table<'_>, key: &str, name: &str) {
    if let Err(message) = legal_name(name) {
        table.complain(key, message);
    }
}

/// The same for a name without a key.
pub(crate) fn legal_name(name: &str) -> Result<(), String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let fits = (1..=NAME_LENGTH_MAX).contains(&name.len());
    if fits && !name.starts_with('.') && name.bytes().all(legal) {
        return Ok(());
    }
    Err(format!(
        "invalid name {name:?}: use 1 to {NAME_LENGTH_MAX} of A-Z, a-z, 0-9, `.`, `_` and `-`, and do not begin with a dot"
    ))
}

/// Reports a problem, and returns false, if the kernel would refuse a device named `device` (`dev_valid_name` of
/// Linux).
pub(crate) fn check_device(table: &Table<'_>, key: &str, device: &str) -> bool {
    let legal = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != ':';
    let fits = (1..=DEVICE_LENGTH_MAX).contains(&device.len());
    let is_device = fits && device != "." && device != ".." && device.chars().all(legal);
    if !is_device {
        let message = format!(
            "invalid device name {device:?}: use 1 to {DEVICE_LENGTH_MAX} bytes, without spaces, `/` and `:`"
        );
        table.complain(key, message);
    }
    is_device
}
