//! One TLS configuration for the socket and for HTTP: the system's certificate authorities, Mozilla's
//! where the system has none (containers), and a file of the person's own on top.

use super::failed;
use crate::link::{CloseReason, LinkFailure};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// Reads the authorities and builds the configuration. Blocks on files.
pub fn client_config(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, CloseReason> {
    let extra = match ca_file {
        Some(path) => read_authorities(path)?,
        None => Vec::new(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = verifier(extra, &provider)
        .map_err(|error| failed(LinkFailure::Tls, format!("TLS cannot be set up: {error}")))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(LinkFailure::Tls, format!("TLS cannot be set up: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn verifier(
    extra: Vec<CertificateDer<'static>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::client::danger::ServerCertVerifier>, rustls::Error> {
    use rustls_platform_verifier::Verifier;
    // Without a single authority on the system the verifier fails; with an own file it would not
    // and then know only that file, so the bare one is tried first.
    match Verifier::new(provider.clone()) {
        // Making one reads hundreds of files.
        Ok(verifier) if extra.is_empty() => return Ok(Arc::new(verifier)),
        Ok(_) => {
            let verifier = Verifier::new_with_extra_roots(extra, provider.clone())?;
            return Ok(Arc::new(verifier));
        }
        Err(_) => {}
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    for certificate in extra {
        roots.add(certificate)?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| rustls::Error::General(error.to_string()))?;
    Ok(verifier)
}

fn read_authorities(path: &Path) -> Result<Vec<CertificateDer<'static>>, CloseReason> {
    let wrong = |what: String| {
        failed(
            LinkFailure::Tls,
            format!(
                "The file with certificate authorities {what}. Check `ca_file` of the account."
            ),
        )
    };
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| wrong(format!("{} cannot be read: {error}", path.display())))?
        .collect();
    let found =
        found.map_err(|error| wrong(format!("{} is not valid PEM: {error}", path.display())))?;
    if found.is_empty() {
        return Err(wrong(format!("{} holds no certificate", path.display())));
    }
    Ok(found)
}

/// What a failed TLS handshake means, from the error itself.
pub fn words(error: &rustls::Error, host: &str) -> String {
    match error {
        rustls::Error::InvalidCertificate(problem) => match problem {
            CertificateError::Expired => {
                format!("The certificate of {host} has expired.")
            }
            CertificateError::ExpiredContext { not_after, .. } => format!(
                "The certificate of {host} expired on {}. The server must renew it; check this \
                 machine's clock as well.",
                day(*not_after)
            ),
            CertificateError::NotValidYet => {
                format!("The certificate of {host} is not valid yet. Check this machine's clock.")
            }
            CertificateError::NotValidYetContext { not_before, .. } => format!(
                "The certificate of {host} is valid from {} only. Check this machine's clock.",
                day(*not_before)
            ),
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!(
                    "The certificate that was shown is not for {host}. Check the address, or who \
                     answers there."
                )
            }
            CertificateError::UnknownIssuer => format!(
                "The certificate of {host} was signed by an authority that is not known here. If \
                 it is your own, name its file in `ca_file` of the account (--ca-file when adding it)."
            ),
            CertificateError::BadSignature => format!(
                "The certificate of {host} bears the name of an authority that is known here, but \
                 was not signed by it; perhaps it was made anew. If it is your own, name the file \
                 of the new one in `ca_file` of the account (--ca-file when adding it)."
            ),
            CertificateError::Revoked => format!("The certificate of {host} was revoked."),
            // The verifier has no word of its own for it, and it is what people meet who made theirs.
            other if format!("{other:?}").contains("CaUsedAsEndEntity") => format!(
                "The certificate of {host} is that of an authority (CA:TRUE), which no server may \
                 show. Make the server one that this authority signed, or, for a lone one, add \
                 `-addext basicConstraints=critical,CA:FALSE` to `openssl req -x509`. Then name \
                 the authority or the lone one in `ca_file` of the account."
            ),
            other => format!("The certificate of {host} is not acceptable: {other}"),
        },
        rustls::Error::InvalidMessage(_) => format!(
            "{host} does not speak TLS on this port. Check whether the address should begin with \
             ws:// or name another port."
        ),
        other => format!("TLS with {host} failed: {other}"),
    }
}

/// The calendar day of a moment, in UTC.
fn day(time: UnixTime) -> String {
    // Days to a date by the era algorithm: years begin in March, so that the leap day is the last.
    let days = i64::try_from(time.as_secs() / 86_400).unwrap_or(0) + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_day_is_written_in_utc() {
        let at = |secs| day(UnixTime::since_unix_epoch(Duration::from_secs(secs)));
        assert_eq!(at(0), "1970-01-01");
        assert_eq!(at(951_782_400), "2000-02-29");
        assert_eq!(at(1_709_164_799), "2024-02-28");
        assert_eq!(at(1_798_761_600), "2027-01-01");
    }
}
