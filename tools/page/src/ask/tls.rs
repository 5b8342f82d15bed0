//! Whom connections by TLS trust, and the token that is shown.

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
    self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_rustls::TlsConnector;

/// What Debian and most others keep of certificate authorities.
const SYSTEM: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Makes connections to those whom these authorities vouch for.
#[derive(Clone)]
pub struct Trust(TlsConnector);

impl Trust {
    /// Reads a PEM file of authorities, or the system's.
    ///
    /// # Errors
    ///
    /// When it cannot be read or has none.
    pub fn load(file: Option<&Path>) -> Result<Self> {
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
            // One of many that cannot be used is no reason to trust nobody.
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
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier {
                listed,
                by_authority,
            }))
            .with_no_client_auth();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// What makes the connections.
    pub fn connector(&self) -> &TlsConnector {
        &self.0
    }
}

/// As always; and a certificate that is itself in the file is trusted for the names in it. Certificates that are signed by
/// themselves, as `openssl req -x509` makes them, call themselves authorities, which rustls lets no server be; Prometheus takes
/// them as we do.
#[derive(Debug)]
struct Verifier {
    listed: Vec<CertificateDer<'static>>,
    by_authority: Arc<WebPkiServerVerifier>,
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
        if self.listed.iter().any(|one| one == end_entity) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.by_authority.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )
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

/// The header that shows the token of a file.
///
/// # Errors
///
/// When the file cannot be read, or is not one line of what a header may have.
pub fn read_token(file: &Path) -> Result<HeaderValue> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
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
