//! The key that the switches of a fabric share, from its file.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use weir_config::files::SecretError;
use weir_core::config::{AuthenticationConfig, FabricKey, FABRIC_KEY_LENGTH};

use super::reserve::ReadSecret;
use crate::random;

/// Loads the switch core's authentication settings, with new nonces and a sequence number derived from the time.
///
/// # Errors
///
/// When the file cannot be read, is open to others, or holds no key.
pub fn load(path: &Path, read_secret: ReadSecret) -> Result<AuthenticationConfig, SecretError> {
    let text = read_secret(path)?;
    let key = parse(text.trim_ascii()).ok_or_else(|| SecretError::Malformed {
        path: path.to_owned(),
        reason: format!(
            "a fabric key needs {} hexadecimal digits; generate one with `openssl rand -hex {FABRIC_KEY_LENGTH}`",
            2 * FABRIC_KEY_LENGTH
        ),
    })?;
    let seed = random::seed().map_err(|source| SecretError::Io {
        path: "/dev/urandom".into(),
        source,
    })?;
    // With a clock before 1970 the sequence numbers start over; neighbours then accept a new nonce.
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Ok(AuthenticationConfig {
        key,
        seed,
        sequence: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX / 2),
    })
}

fn parse(digits: &[u8]) -> Option<FabricKey> {
    let mut key = [0; FABRIC_KEY_LENGTH];
    if digits.len() != 2 * key.len() {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
    }
    Some(FabricKey::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use weir_config::files::read_secret;

    const DIGITS: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";

    #[test]
    fn a_key_is_read_and_shows_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fabric.key");
        std::fs::write(&path, format!("{DIGITS}\n")).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let loaded = load(&path, read_secret).unwrap();
        assert_eq!(
            loaded.key,
            FabricKey::new(std::array::from_fn(|at| at as u8))
        );
        assert_eq!(format!("{:?}", loaded.key), "FabricKey");
        let again = load(&path, read_secret).unwrap();
        assert_ne!(loaded.seed, again.seed);
        assert!(again.sequence > loaded.sequence);
    }

    #[test]
    fn what_is_no_key_is_refused_with_a_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fabric.key");
        for bad in [
            "",
            "00",
            &DIGITS[1..],
            &format!("{DIGITS}0"),
            &DIGITS.replace('0', "g"),
        ] {
            std::fs::write(&path, bad).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            let error = load(&path, read_secret).unwrap_err().to_string();
            assert!(error.contains("openssl rand -hex 32"), "{bad}: {error}");
            assert!(bad.is_empty() || !error.contains(bad), "{error}");
        }
        std::fs::write(&path, DIGITS).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let error = load(&path, read_secret).unwrap_err().to_string();
        assert!(error.contains("chmod 0600"), "{error}");
    }
}
