//! Content negotiation: format and compression (RFC 9110, section 12.5).

use axum::http::header::{HeaderMap, HeaderName, ACCEPT, ACCEPT_ENCODING};
use prometheus::TEXT_FORMAT;

use super::openmetrics::OPENMETRICS_FORMAT;

/// Text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text exposition format 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// Chooses the format for a request: OpenMetrics if the client names it and prefers no other named format. Other clients
    /// get the text format.
    pub fn accepted(request: &HeaderMap) -> Self {
        let mut best = (0.0, Self::Text);
        for offer in offers(request, &ACCEPT) {
            let format = match offer.name.to_ascii_lowercase().as_str() {
                "application/openmetrics-text" if offer.is_version("1.0.0") => Self::OpenMetrics,
                "text/plain" if offer.is_version("0.0.4") => Self::Text,
                _ => continue,
            };
            let better = offer.weight > best.0;
            let as_good = offer.weight > 0.0 && offer.weight >= best.0;
            if better || (as_good && format == Self::OpenMetrics) {
                best = (offer.weight, format);
            }
        }
        best.1
    }

    /// Returns the value of `Content-Type`.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Text => TEXT_FORMAT,
            Self::OpenMetrics => OPENMETRICS_FORMAT,
        }
    }
}

/// Returns true if the request accepts gzip.
pub fn takes_gzip(request: &HeaderMap) -> bool {
    offers(request, &ACCEPT_ENCODING)
        .any(|offer| offer.name.eq_ignore_ascii_case("gzip") && offer.weight > 0.0)
}

/// One member of a list of accepted values.
struct Offer<'a> {
    name: &'a str,
    version: Option<&'a str>,
    /// 0 to 1; zero means not accepted.
    weight: f32,
}

impl Offer<'_> {
    /// Returns true when this version is accepted, or none is named.
    fn is_version(&self, version: &str) -> bool {
        self.version.is_none_or(|asked| asked == version)
    }
}

fn offers<'a>(request: &'a HeaderMap, header: &HeaderName) -> impl Iterator<Item = Offer<'a>> {
    let values = request.get_all(header).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|member| {
            let mut parts = member.split(';').map(str::trim);
            let mut offer = Offer {
                name: parts.next().unwrap_or_default(),
                version: None,
                weight: 1.0,
            };
            for (name, value) in parts.filter_map(|part| part.split_once('=')) {
                match name.trim().to_ascii_lowercase().as_str() {
                    "q" => offer.weight = value.trim().parse().unwrap_or(0.0),
                    "version" => offer.version = Some(value.trim().trim_matches('"')),
                    _ => {}
                }
            }
            offer
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(header: HeaderName, value: &str) -> HeaderMap {
        let mut request = HeaderMap::new();
        request.insert(header, value.parse().unwrap());
        request
    }

    #[test]
    fn gzip_is_used_where_it_is_taken() {
        for (value, takes) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("identity", false),
        ] {
            assert_eq!(
                takes_gzip(&request(ACCEPT_ENCODING, value)),
                takes,
                "{value}"
            );
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn openmetrics_goes_to_those_who_prefer_it() {
        for value in [
            // Prometheus 2.42.
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
             text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/openmetrics-text; version=\"1.0.0\"; charset=utf-8",
            "Application/OpenMetrics-Text",
            "text/plain, application/openmetrics-text",
            "text/plain;q=0.3, application/openmetrics-text;version=1.0.0;q=0.5",
        ] {
            let format = Format::accepted(&request(ACCEPT, value));
            assert_eq!(format, Format::OpenMetrics, "{value}");
        }
        for value in [
            "*/*",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;version=1.0.0;q=0.4, text/plain;q=0.5",
            "text/plain;version=0.0.4",
        ] {
            let format = Format::accepted(&request(ACCEPT, value));
            assert_eq!(format, Format::Text, "{value}");
        }
        assert_eq!(Format::accepted(&HeaderMap::new()), Format::Text);
    }
}
