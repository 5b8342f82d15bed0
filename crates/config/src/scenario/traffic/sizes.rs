//! Sizes of flows: listed sizes with their probabilities, or a cumulative distribution.

use std::sync::Arc;

use thiserror::Error;
use weir_core::Bytes;

use crate::fraction::parse_fraction;
use crate::scenario::random::Random;
use crate::Fraction;

/// Sizes of flows and their probabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Only these sizes. The probabilities add up to one.
    Listed(Vec<(Bytes, Fraction)>),
    /// Any size between the points of a distribution.
    Distribution(Arc<Distribution>),
}

impl Sizes {
    /// The expected value, in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Listed(sizes) => {
                let shares = shares_in_parts(sizes) as f64;
                let weighted = sizes
                    .iter()
                    .map(|(size, share)| size.get() as f64 * (f64::from(share.parts()) / shares));
                weighted.sum()
            }
            Self::Distribution(distribution) => distribution.mean(),
        }
    }

    pub(super) fn draw(&self, random: &mut Random) -> Bytes {
        match self {
            Self::Listed(sizes) => drawn(sizes, random.below(shares_in_parts(sizes))),
            Self::Distribution(distribution) => {
                distribution.size_at(random.below(u64::from(Fraction::ONE_IN_PARTS)))
            }
        }
    }
}

/// About one; rounded thirds miss it slightly.
fn shares_in_parts(sizes: &[(Bytes, Fraction)]) -> u64 {
    sizes
        .iter()
        .map(|(_, share)| u64::from(share.parts()))
        .sum()
}

/// The size for `ticket`, which is below the sum of all shares.
fn drawn(sizes: &[(Bytes, Fraction)], ticket: u64) -> Bytes {
    let mut above = 0;
    let mut shares = sizes.iter();
    shares
        .find(|(_, share)| {
            above += u64::from(share.parts());
            ticket < above
        })
        .or(sizes.last())
        .map_or(Bytes::ZERO, |(size, _)| *size)
}

/// A cumulative distribution of sizes: points, between two of which every size is equally likely. The share of the
/// first point, if above zero, is the probability of exactly that size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution(Vec<(u64, Fraction)>);

/// Error: the text is not a distribution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{line}:{column}: {message}")]
pub struct DistributionError {
    /// Line, from 1.
    pub line: usize,
    /// Column of the invalid value, from 1, in characters.
    pub column: usize,
    /// The problem, and the legal values.
    pub message: String,
}

impl Distribution {
    /// The first line of a file that is not a comment.
    pub const HEADER: &'static str = "size_bytes,cdf";
    /// Maximum number of points.
    pub const POINTS_MAX: usize = 100_000;
    /// Maximum size: 1 TB.
    pub const SIZE_MAX: u64 = 1_000_000_000_000;

    /// Built-in distributions, with their names in scenario files.
    pub const KNOWN: [(&'static str, &'static str); 2] = [
        (
            "web-search",
            include_str!("../../../../../scenarios/sizes/web-search.csv"),
        ),
        (
            "fb-hadoop",
            include_str!("../../../../../scenarios/sizes/fb-hadoop.csv"),
        ),
    ];

    /// Parses lines with a size in bytes and the share of flows that are not larger, after [`HEADER`](Self::HEADER).
    /// Ignores empty lines and those that begin with `#`.
    ///
    /// # Errors
    ///
    /// The first invalid place.
    pub fn from_csv(text: &str) -> Result<Self, DistributionError> {
        let lines = text.lines().enumerate();
        let mut lines = lines
            .map(|(index, line)| (index + 1, line))
            .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let end = text.lines().count().max(1);
        let wrong = |line, column, message: String| DistributionError {
            line,
            column,
            message,
        };
        let header = lines.next();
        if header.is_none_or(|(_, text)| text.trim_end() != Self::HEADER) {
            let line = header.map_or(end, |(line, _)| line);
            let message = format!("the first line must be `{}`", Self::HEADER);
            return Err(wrong(line, 1, message));
        }
        let mut points: Vec<(u64, Fraction)> = Vec::new();
        let mut last_line = end;
        for (line, text) in lines {
            let (size, cdf) = point(line, text)?;
            if points.len() == Self::POINTS_MAX {
                let message = format!("at most {} points", Self::POINTS_MAX);
                return Err(wrong(line, 1, message));
            }
            if let Some((before, below)) = points.last() {
                if size <= *before {
                    let message = format!("sizes must increase: {size} comes after {before}");
                    return Err(wrong(line, 1, message));
                }
                if cdf <= *below {
                    let message = format!("shares must increase: {cdf} comes after {below}");
                    return Err(wrong(line, cdf_column(text), message));
                }
            }
            points.push((size, cdf));
            last_line = line;
        }
        match points.last() {
            None => Err(wrong(
                end,
                1,
                "no points; write lines such as `1000,0.5`".into(),
            )),
            Some((_, last)) if *last != Fraction::ONE => {
                let text = text.lines().nth(last_line - 1).unwrap_or_default();
                let message = format!("the last share is {last}; it must be 1");
                Err(wrong(last_line, cdf_column(text), message))
            }
            Some((0, _)) => Err(wrong(last_line, 1, "a size must be above zero".into())),
            Some(_) => Ok(Self(points)),
        }
    }

    /// The built-in distribution with this name.
    pub fn known(name: &str) -> Option<Self> {
        let known = Self::KNOWN.iter().find(|(known, _)| *known == name);
        known.and_then(|(_, text)| Self::from_csv(text).ok())
    }

    /// The points: a size in bytes, and the share of flows that are not larger.
    pub fn points(&self) -> &[(u64, Fraction)] {
        &self.0
    }

    /// The expected value, in bytes.
    pub fn mean(&self) -> f64 {
        let mut before = None;
        let mut sum = 0.0;
        for (size, cdf) in &self.0 {
            let (size, cdf) = (*size as f64, cdf.as_f64());
            let (last_size, last_cdf) = before.unwrap_or((size, 0.0));
            sum += (size + last_size) / 2.0 * (cdf - last_cdf);
            before = Some((size, cdf));
        }
        sum
    }

    /// The size below which a share of `ticket` × 10⁻⁹ of flows is: at least a byte.
    fn size_at(&self, ticket: u64) -> Bytes {
        let parts = |cdf: &Fraction| u64::from(cdf.parts());
        let above = self.0.partition_point(|(_, cdf)| parts(cdf) <= ticket);
        let upper = self.0.get(above).or(self.0.last());
        let lower = above.checked_sub(1).and_then(|index| self.0.get(index));
        let size = match (lower, upper) {
            (Some((low, from)), Some((high, to))) => {
                let (from, to) = (parts(from), parts(to));
                let step = u128::from(high - low) * u128::from(ticket - from);
                let share = u128::from((to - from).max(1));
                low + u64::try_from(step / share).unwrap_or(0)
            }
            (_, only) => only.map_or(0, |(size, _)| *size),
        };
        Bytes::new(size.max(1))
    }
}

/// `10000,0.15`.
fn point(line: usize, text: &str) -> Result<(u64, Fraction), DistributionError> {
    let wrong = |column, message: String| DistributionError {
        line,
        column,
        message,
    };
    let Some((size, cdf)) = text.split_once(',') else {
        let message = format!("`{text}` has no comma; write a size and a share: `1000,0.5`");
        return Err(wrong(1, message));
    };
    let bytes = size.trim().parse::<u64>().ok();
    let Some(bytes) = bytes.filter(|bytes| *bytes <= Distribution::SIZE_MAX) else {
        let message = format!(
            "`{}` is not a whole number of bytes up to {}",
            size.trim(),
            Distribution::SIZE_MAX
        );
        return Err(wrong(1, message));
    };
    if cdf.contains('%') {
        let message = format!("`{}`: write a share of one, such as 0.15", cdf.trim());
        return Err(wrong(cdf_column(text), message));
    }
    let share = parse_fraction(cdf).map_err(|_| {
        let message = format!(
            "`{}` is not a number from 0 to 1 with up to nine decimals",
            cdf.trim()
        );
        wrong(cdf_column(text), message)
    })?;
    Ok((bytes, share))
}

/// Column at which the share begins in a line.
fn cdf_column(text: &str) -> usize {
    let before = text.split_once(',').map_or("", |(size, _)| size);
    before.chars().count() + 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn built_in_distributions_are_the_published_ones() {
        for (name, points, mean) in [
            ("web-search", 12, 1_711_250.0),
            ("fb-hadoop", 20, 120_420.75),
        ] {
            let distribution = Distribution::known(name).expect(name);
            assert_eq!(distribution.points().len(), points, "{name}");
            // By hand: half the sum of two sizes, times the difference of their shares.
            let found = distribution.mean();
            assert!((found / mean - 1.0).abs() < 1e-9, "{name}: {found}");
        }
        assert_eq!(Distribution::known("web-serch"), None);
    }

    #[test]
    fn errors_have_line_and_column() {
        for (text, said) in [
            ("", "1:1: the first line must be `size_bytes,cdf`"),
            (
                "# x\nsize,cdf\n1,1\n",
                "2:1: the first line must be `size_bytes,cdf`",
            ),
            ("size_bytes,cdf\n", "1:1: no points"),
            ("size_bytes,cdf\n1000 0.5\n", "2:1: `1000 0.5` has no comma"),
            (
                "size_bytes,cdf\n1kB,0.5\n",
                "2:1: `1kB` is not a whole number of bytes",
            ),
            (
                "size_bytes,cdf\n1000000000001,1\n",
                "2:1: `1000000000001` is not a whole number of bytes up to 1000000000000",
            ),
            (
                "size_bytes,cdf\n1000,1.5\n",
                "2:6: `1.5` is not a number from 0 to 1",
            ),
            ("size_bytes,cdf\n1000,15%\n", "2:6: `15%`: write a share of"),
            (
                "size_bytes,cdf\n0,0\n\n200,0.5\n200,1\n",
                "5:1: sizes must increase: 200 comes after 200",
            ),
            (
                "size_bytes,cdf\n0,0\n100,0.5\n200, 0.5\n",
                "4:5: shares must increase: 0.5 comes after 0.5",
            ),
            (
                "size_bytes,cdf\n0,0\n100,0.9\n# end\n",
                "3:5: the last share is 0.9; it must be 1",
            ),
            ("size_bytes,cdf\n0,1\n", "2:1: a size must be above zero"),
        ] {
            let error = Distribution::from_csv(text).expect_err(text).to_string();
            assert!(error.starts_with(said), "{text:?}: {error}");
        }
    }

    #[test]
    fn the_share_of_the_first_point_has_exactly_its_size() {
        let text = "size_bytes,cdf\n64,0.25\n128,1\n";
        let distribution = Distribution::from_csv(text).expect(text);
        for (ticket, size) in [
            (0, 64),
            (249_999_999, 64),
            (250_000_000, 64),
            (625_000_000, 96),
            (999_999_999, 127),
        ] {
            assert_eq!(distribution.size_at(ticket), Bytes::new(size), "{ticket}");
        }
        assert_eq!(distribution.mean(), 64.0 * 0.25 + 96.0 * 0.75);
    }

    /// Ascending sizes and shares, the last of which is one.
    fn points() -> impl Strategy<Value = Vec<(u64, u32)>> {
        let steps = prop::collection::vec((1u64..1_000_000, 1u32..1_000_000), 1..20);
        (0u64..1000, 0u32..1000, steps).prop_map(|(size, parts, steps)| {
            let mut points = vec![(size, parts)];
            for (more, further) in steps {
                let (size, parts) = points[points.len() - 1];
                points.push((size + more, parts + further));
            }
            let last = points.len() - 1;
            points[last].1 = Fraction::ONE_IN_PARTS;
            points
        })
    }

    proptest! {
        /// The slow model examines every segment, and computes with the share as a real number.
        #[test]
        fn sizes_equal_those_of_the_slow_model(points in points(), ticket in 0..u64::from(Fraction::ONE_IN_PARTS)) {
            let mut text = format!("{}\n", Distribution::HEADER);
            for (size, parts) in &points {
                let (whole, part) = (parts / Fraction::ONE_IN_PARTS, parts % Fraction::ONE_IN_PARTS);
                text.push_str(&format!("{size},{whole}.{part:09}\n"));
            }
            let distribution = Distribution::from_csv(&text).unwrap();
            let mut expected = points[0].0 as f64;
            for pair in points.windows(2) {
                let [(low, from), (high, to)] = [pair[0], pair[1]].map(|(size, parts)| (size as f64, f64::from(parts)));
                if (from..to).contains(&(ticket as f64)) {
                    expected = low + (high - low) * (ticket as f64 - from) / (to - from);
                }
            }
            let found = distribution.size_at(ticket).get() as f64;
            prop_assert!((found - expected.max(1.0)).abs() <= 1.0, "{} {}", found, expected);
        }

        #[test]
        fn any_text_is_refused_or_a_distribution(text in "(size_bytes,cdf\n)?([0-9]{0,3},?[01]?\\.?[0-9]{0,3}\n){0,6}") {
            match Distribution::from_csv(&text) {
                Ok(distribution) => {
                    let points = distribution.points();
                    prop_assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
                    prop_assert_eq!(points[points.len() - 1].1, Fraction::ONE);
                }
                Err(error) => {
                    prop_assert!(error.line >= 1 && error.line <= text.lines().count().max(1));
                    prop_assert!(error.column >= 1);
                }
            }
        }
    }
}
