//! The values of a curve.

/// Values of a curve, as runs of equal ones: a large network has millions, most of which are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Points {
    /// Complete runs: length and value of each, in as few bytes as they need (LEB128).
    runs: Vec<u8>,
    /// Value and length of the last run.
    last: u64,
    length: u64,
}

/// Bits of a number in a byte, and the flag of a byte that others follow.
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

impl Points {
    #[inline]
    pub(super) fn push(&mut self, value: u64) {
        if value == self.last {
            self.length += 1;
        } else {
            self.begin_run(value);
        }
    }

    fn begin_run(&mut self, value: u64) {
        if self.length > 0 {
            put(&mut self.runs, self.length);
            put(&mut self.runs, self.last);
        }
        (self.last, self.length) = (value, 1);
    }

    /// Runs of equal values: each value, and the number of times.
    fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut bytes = self.runs.iter();
        let complete = std::iter::from_fn(move || {
            let length = get(&mut bytes)?;
            Some((get(&mut bytes)?, length))
        });
        complete.chain(std::iter::once((self.last, self.length)))
    }

    /// The values, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs()
            .flat_map(|(value, length)| (0..length).map(move |_| value))
    }

    /// The first `count` values; fewer if there are not as many.
    pub fn first(&self, count: usize) -> Vec<u64> {
        let mut values = Vec::with_capacity(count);
        for (value, length) in self.runs() {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let end = values.len().saturating_add(length).min(count);
            values.resize(end, value);
        }
        values
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        bytes.push(number as u8 | MORE);
        number >>= BITS;
    }
    bytes.push(number as u8);
}

fn get<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = *bytes.next()?;
        number |= u64::from(byte & !MORE) << shift;
        shift += BITS;
        if byte & MORE == 0 {
            return Some(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(values: &[u64]) -> Points {
        let mut points = Points::default();
        for value in values {
            points.push(*value);
        }
        points
    }

    proptest! {
        #[test]
        fn points_come_back(
            runs in prop::collection::vec(
                (prop_oneof![any::<u64>(), 0u64..3, Just(u64::MAX), 100u64..20_000], 1usize..200),
                0..30,
            ),
            count in 0usize..3000,
        ) {
            let runs = runs.into_iter();
            let values: Vec<u64> = runs.flat_map(|(value, length)| vec![value; length]).collect();
            let points = points(&values);
            prop_assert_eq!(points.iter().collect::<Vec<u64>>(), values.clone());
            prop_assert_eq!(points.first(count), &values[..count.min(values.len())]);
        }
    }

    #[test]
    fn runs_and_small_values_are_short() {
        assert_eq!(points(&[0; 1000]).runs.len(), 0);
        assert_eq!(
            points(&[0, 0, 1, 16_383, 1_000_000, 5]).runs.len(),
            2 + 2 + 3 + 4
        );
    }
}
