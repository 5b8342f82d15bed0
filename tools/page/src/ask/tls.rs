//! Trust for TLS connections, and the token.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{bail, Context, Result};
use hyper::header::HeaderValue;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{verify_server_name, WebPkiServerVerifier};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    self, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_rustls::TlsConnector;
use weir_config::files::read_secret;

/// Certificate authorities on Debian and most other systems.
const SYSTEM: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Connects to servers certified by these authorities.
#[derive(Clone)]
pub struct Trust(TlsConnector);

impl Trust {
    /// Reads a PEM file of authorities, or the system's.
    ///
    /// # Errors
    ///
    /// When it cannot be read or contains none.
    pub fn load(file: Option<&Path>) -> Result<Self> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier::load(file)?))
            .with_no_client_auth();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Returns the connector.
    pub fn connector(&self) -> &TlsConnector {
        &self.0
    }
}

/// Verifies as usual, and also trusts a certificate contained in the file for its names, within its dates. Self-signed
/// certificates, as created by `openssl req -x509`, are marked as authorities, which rustls refuses for a server; Prometheus
/// accepts them.
#[derive(Debug)]
struct Verifier {
    listed: Vec<CertificateDer<'static>>,
    by_authority: Arc<WebPkiServerVerifier>,
}

impl Verifier {
    fn load(file: Option<&Path>) -> Result<Self> {
        let file = file.unwrap_or(Path::new(SYSTEM));
        let place = || {
            format!(
                "{}: name another file of certificate authorities by --ca",
                file.display()
            )
        };
        let pem = fs::read(file).with_context(place)?;
        let listed = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
        let listed = listed.with_context(place)?;
        let mut roots = RootCertStore::empty();
        for certificate in &listed {
            // One unusable certificate among many does not invalidate the others.
            let _ = roots.add(certificate.clone());
        }
        if roots.is_empty() {
            bail!(
                "{} has no certificate of an authority; it must be PEM",
                file.display()
            );
        }
        let provider = Arc::new(ring::default_provider());
        let by_authority =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
        Ok(Self {
            listed,
            by_authority,
        })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let by_authority = self.by_authority.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match &by_authority {
            // Dates are checked before uses.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. },
            )) => by_authority,
            Err(_) if self.listed.iter().any(|one| one == end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            _ => by_authority,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.by_authority
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.by_authority
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_authority.supported_verify_schemes()
    }
}

/// Reads the token of a file as a header.
///
/// # Errors
///
/// When the file cannot be read, others can read it, or it is not a single line of characters permitted in a header.
pub fn read_token(file: &Path) -> Result<HeaderValue> {
    let text = String::from_utf8(read_secret(file)?).unwrap_or_default();
    let mut value = HeaderValue::try_from(format!("Bearer {}", text.trim()))
        .ok()
        .filter(|_| !text.trim().is_empty())
        .with_context(|| {
            format!(
                "{}: a token is one line of letters, digits and signs",
                file.display()
            )
        })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_listed_certificate_counts_between_its_dates_only() {
        const DAY: Duration = Duration::from_secs(86_400);
        let directory = tempfile::tempdir().unwrap();
        let [key, file] = ["key.pem", "certificate.pem"].map(|name| directory.path().join(name));
        let made = Command::new("openssl")
            .args(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 10"
                    .split(' '),
            )
            .args([
                "-subj",
                "/CN=leaf1",
                "-addext",
                "subjectAltName=DNS:leaf1.example.net",
            ])
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&file)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let verifier = Verifier::load(Some(&file)).unwrap();
        let certificate = verifier.listed[0].clone();
        let now = Duration::from_secs(UnixTime::now().as_secs());
        let verify = |name: &'static str, at: Duration| {
            let name = ServerName::try_from(name).unwrap();
            let at = UnixTime::since_unix_epoch(at);
            verifier.verify_server_cert(&certificate, &[], &name, &[], at)
        };
        verify("leaf1.example.net", now + DAY).unwrap();
        verify("leaf2.example.net", now + DAY).unwrap_err();
        for at in [now - DAY, now + 11 * DAY] {
            let error = verify("leaf1.example.net", at).unwrap_err();
            let told = error.to_string();
            assert!(
                told.contains("expired") || told.contains("not valid yet"),
                "{told}"
            );
        }
    }
}
