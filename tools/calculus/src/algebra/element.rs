//! Functions as sequences of points and open segments, sorted and without overlap. In gaps the function is +∞.
//!
//! Nothing here requires continuity from either side: pseudo-inverses of left-continuous functions need not be
//! left-continuous, and jumps stay exact. (Bouillard, Boyer and Le Corronc, chapter 4.)

use super::Scalar;

/// A part of a function's graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Element<S> {
    /// The value at one time.
    Point {
        /// The time.
        at: S,
        /// The value there.
        value: S,
    },
    /// A line over the open interval (from, to).
    Segment {
        /// Beginning of the line, exclusive.
        from: S,
        /// End of the line, exclusive; `None` if it never ends.
        to: Option<S>,
        /// The limit from the right at `from`.
        start: S,
        /// Change per unit of time.
        slope: S,
    },
}

/// A value and a slope at the left end of an interval.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line<S> {
    pub start: S,
    pub slope: S,
}

impl<S: Scalar> Line<S> {
    pub fn after(&self, duration: &S) -> S {
        self.start.clone() + self.slope.clone() * duration
    }
}

impl<S: Scalar> Element<S> {
    /// Returns the left end.
    pub fn from(&self) -> &S {
        match self {
            Element::Point { at, .. } => at,
            Element::Segment { from, .. } => from,
        }
    }

    /// Returns the right end; `None` if it never ends.
    pub fn to(&self) -> Option<&S> {
        match self {
            Element::Point { at, .. } => Some(at),
            Element::Segment { to, .. } => to.as_ref(),
        }
    }

    /// Returns the value, or the limit from the right at the left end.
    pub fn start(&self) -> &S {
        match self {
            Element::Point { value, .. } => value,
            Element::Segment { start, .. } => start,
        }
    }

    /// Returns the value, or the limit from the left at the right end; `None` for a segment without an end.
    pub fn end(&self) -> Option<S> {
        match self {
            Element::Point { value, .. } => Some(value.clone()),
            Element::Segment {
                from,
                to: Some(to),
                start,
                slope,
            } => Some(start.clone() + slope.clone() * &(to.clone() - from)),
            Element::Segment { to: None, .. } => None,
        }
    }

    pub(crate) fn moved(&self, later: &S, higher: &S) -> Self {
        match self {
            Element::Point { at, value } => Element::Point {
                at: at.clone() + later,
                value: value.clone() + higher,
            },
            Element::Segment {
                from,
                to,
                start,
                slope,
            } => Element::Segment {
                from: from.clone() + later,
                to: to.as_ref().map(|to| to.clone() + later),
                start: start.clone() + higher,
                slope: slope.clone(),
            },
        }
    }
}

/// A position in a sequence that only moves to the right. All methods together cost O(length) over one pass.
pub(crate) struct Cursor<'a, S> {
    elements: &'a [Element<S>],
    index: usize,
}

impl<'a, S: Scalar> Cursor<'a, S> {
    pub fn new(elements: &'a [Element<S>]) -> Self {
        Self { elements, index: 0 }
    }

    fn current(&self) -> Option<&'a Element<S>> {
        self.elements.get(self.index)
    }

    /// Returns the value at `time`; `None` if infinite.
    pub fn value_at(&mut self, time: &S) -> Option<S> {
        loop {
            match self.current()? {
                Element::Point { at, value } => {
                    if at == time {
                        return Some(value.clone());
                    }
                    if at > time {
                        return None;
                    }
                }
                Element::Segment {
                    from,
                    to,
                    start,
                    slope,
                } => {
                    if from >= time {
                        return None;
                    }
                    if to.as_ref().is_none_or(|to| to > time) {
                        return Some(start.clone() + slope.clone() * &(time.clone() - from));
                    }
                }
            }
            self.index += 1;
        }
    }

    /// Returns the line just after `time`; `None` if infinite there.
    pub fn line_after(&mut self, time: &S) -> Option<Line<S>> {
        loop {
            match self.current()? {
                Element::Point { at, .. } => {
                    if at > time {
                        return None;
                    }
                }
                Element::Segment {
                    from,
                    to,
                    start,
                    slope,
                } => {
                    if from > time {
                        return None;
                    }
                    if to.as_ref().is_none_or(|to| to > time) {
                        return Some(Line {
                            start: start.clone() + slope.clone() * &(time.clone() - from),
                            slope: slope.clone(),
                        });
                    }
                }
            }
            self.index += 1;
        }
    }

    /// Returns the first end of an element after `time`. Call [`line_after`](Self::line_after) for the same time first.
    pub fn boundary_after(&self, time: &S) -> Option<&'a S> {
        let element = self.current()?;
        if element.from() > time {
            Some(element.from())
        } else {
            element.to()
        }
    }
}

/// A sequence under construction, which merges lines that continue through a point.
pub(crate) struct Builder<S> {
    elements: Vec<Element<S>>,
    /// Elements before this index are not merged with later ones.
    fixed: usize,
}

impl<S: Scalar> Builder<S> {
    pub fn new() -> Self {
        Self {
            elements: Vec::new(),
            fixed: 0,
        }
    }

    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            elements: Vec::with_capacity(capacity),
            fixed: 0,
        }
    }

    /// Separates later elements from present ones.
    pub fn fix(&mut self) {
        self.fixed = self.elements.len();
    }

    pub fn point(&mut self, at: S, value: S) {
        self.elements.push(Element::Point { at, value });
    }

    /// Adds a segment; empty intervals are omitted.
    pub fn segment(&mut self, from: S, to: Option<S>, start: S, slope: S) {
        if to.as_ref().is_some_and(|to| *to <= from) {
            return;
        }
        if self.goes_on(&from, &start, &slope) {
            self.elements.pop();
            if let Some(Element::Segment { to: end, .. }) = self.elements.last_mut() {
                *end = to;
            }
            return;
        }
        self.elements.push(Element::Segment {
            from,
            to,
            start,
            slope,
        });
    }

    pub fn push(&mut self, element: Element<S>) {
        match element {
            Element::Point { at, value } => self.point(at, value),
            Element::Segment {
                from,
                to,
                start,
                slope,
            } => self.segment(from, to, start, slope),
        }
    }

    /// Returns true if a line from `from` continues the line before the last point.
    fn goes_on(&self, from: &S, start: &S, slope: &S) -> bool {
        let count = self.elements.len();
        if count < self.fixed + 2 {
            return false;
        }
        match &self.elements[count - 2..] {
            [segment @ Element::Segment { slope: before, .. }, Element::Point { at, value }] => {
                at == from
                    && value == start
                    && before == slope
                    && segment.to() == Some(from)
                    && segment.end().as_ref() == Some(start)
            }
            _ => false,
        }
    }

    pub fn finish(self) -> Vec<Element<S>> {
        self.elements
    }
}

/// Walks two sequences at once over the union of their domains. `on_point` and `on_interval` receive both elements.
pub(crate) fn sweep<S: Scalar>(
    a: &[Element<S>],
    b: &[Element<S>],
    mut on_point: impl FnMut(&S, Option<S>, Option<S>),
    mut on_interval: impl FnMut(&S, Option<&S>, Option<Line<S>>, Option<Line<S>>),
) {
    let first = match (a.first(), b.first()) {
        (Some(a), Some(b)) => a.from().clone().lesser(b.from().clone()),
        (Some(only), None) | (None, Some(only)) => only.from().clone(),
        (None, None) => return,
    };
    let (mut a, mut b) = (Cursor::new(a), Cursor::new(b));
    let mut at = first;
    loop {
        let (value_a, value_b) = (a.value_at(&at), b.value_at(&at));
        on_point(&at, value_a, value_b);
        let (line_a, line_b) = (a.line_after(&at), b.line_after(&at));
        let next = match (a.boundary_after(&at), b.boundary_after(&at)) {
            (Some(a), Some(b)) => Some(if a < b { a } else { b }),
            (one, other) => one.or(other),
        };
        on_interval(&at, next, line_a, line_b);
        match next {
            Some(next) => at = next.clone(),
            None => return,
        }
    }
}

/// Returns the lower envelope (`upper` false: gaps are +∞) or the upper one (gaps of either stay gaps).
pub(crate) fn envelope<S: Scalar>(
    a: &[Element<S>],
    b: &[Element<S>],
    upper: bool,
) -> Vec<Element<S>> {
    let out = std::cell::RefCell::new(Builder::with_capacity(a.len() + b.len()));
    let better = |x: &S, y: &S| if upper { x > y } else { x < y };
    sweep(
        a,
        b,
        |at, x, y| {
            let value = match (x, y) {
                (Some(x), Some(y)) => Some(if better(&y, &x) { y } else { x }),
                (one, other) if !upper => one.or(other),
                _ => None,
            };
            if let Some(value) = value {
                out.borrow_mut().point(at.clone(), value);
            }
        },
        |from, to, x, y| {
            let mut out = out.borrow_mut();
            match (x, y) {
                (Some(x), Some(y)) => better_line(&mut out, from, to, x, y, &better),
                (Some(line), None) | (None, Some(line)) if !upper => {
                    out.segment(from.clone(), to.cloned(), line.start, line.slope);
                }
                _ => {}
            }
        },
    );
    out.into_inner().finish()
}

/// Adds the better of two lines over an interval, split where they cross.
fn better_line<S: Scalar>(
    out: &mut Builder<S>,
    from: &S,
    to: Option<&S>,
    x: Line<S>,
    y: Line<S>,
    better: &impl Fn(&S, &S) -> bool,
) {
    let y_first = better(&y.start, &x.start) || (y.start == x.start && better(&y.slope, &x.slope));
    let (first, second) = if y_first { (y, x) } else { (x, y) };
    let crossing =
        (first.start != second.start && better(&second.slope, &first.slope)).then(|| {
            let apart = second.start.clone() - &first.start;
            from.clone() + apart / &(first.slope.clone() - &second.slope)
        });
    // Rounding can move the crossing to the interval's beginning or before it.
    if crossing.as_ref().is_some_and(|at| at <= from) {
        return out.segment(from.clone(), to.cloned(), second.start, second.slope);
    }
    let crossing = crossing.filter(|at| to.is_none_or(|to| at < to));
    match crossing {
        None => out.segment(from.clone(), to.cloned(), first.start, first.slope),
        Some(at) => {
            let value = first.after(&(at.clone() - from));
            out.segment(from.clone(), Some(at.clone()), first.start, first.slope);
            out.point(at.clone(), value.clone());
            out.segment(at, to.cloned(), value, second.slope);
        }
    }
}

/// Returns `x + y` or `x − y` where both are finite, with gaps elsewhere.
pub(crate) fn sum<S: Scalar>(
    a: &[Element<S>],
    b: &[Element<S>],
    subtract: bool,
) -> Vec<Element<S>> {
    let out = std::cell::RefCell::new(Builder::with_capacity(a.len() + b.len()));
    let combined = |x: S, y: S| if subtract { x - y } else { x + y };
    sweep(
        a,
        b,
        |at, x, y| {
            if let (Some(x), Some(y)) = (x, y) {
                out.borrow_mut().point(at.clone(), combined(x, y));
            }
        },
        |from, to, x, y| {
            if let (Some(x), Some(y)) = (x, y) {
                out.borrow_mut().segment(
                    from.clone(),
                    to.cloned(),
                    combined(x.start, y.start),
                    combined(x.slope, y.slope),
                );
            }
        },
    );
    out.into_inner().finish()
}

/// Returns the part over [from, to) or, if `closed`, [from, to].
pub(crate) fn part<S: Scalar>(
    elements: &[Element<S>],
    from: &S,
    to: Option<&S>,
    closed: bool,
) -> Vec<Element<S>> {
    let begin = elements.partition_point(|element| element.to().is_some_and(|end| end < from));
    let mut out = Builder::with_capacity(elements.len() - begin);
    for element in &elements[begin..] {
        if to.is_some_and(|to| element.from() > to) {
            break;
        }
        match element {
            Element::Point { at, value } => {
                if to.is_none_or(|to| at < to || (closed && at == to)) {
                    out.point(at.clone(), value.clone());
                }
            }
            Element::Segment {
                from: begin,
                to: end,
                start,
                slope,
            } => {
                let value_at = |time: &S| start.clone() + slope.clone() * &(time.clone() - begin);
                if end.as_ref().is_some_and(|end| end <= from) {
                    continue;
                }
                let mut first = begin.clone();
                if first < *from {
                    first = from.clone();
                    if to.is_none_or(|to| first < *to || (closed && first == *to)) {
                        out.point(first.clone(), value_at(&first));
                    }
                }
                let last = match (end, to) {
                    (Some(end), Some(to)) => Some(end.clone().lesser(to.clone())),
                    (one, other) => one.as_ref().or(other).cloned(),
                };
                let ends_inside = match (&last, end) {
                    (Some(last), end) => end.as_ref() != Some(last),
                    (None, _) => false,
                };
                out.segment(first.clone(), last.clone(), value_at(&first), slope.clone());
                if let (true, true, Some(last)) = (closed, ends_inside, last) {
                    if last > first {
                        out.point(last.clone(), value_at(&last));
                    }
                }
            }
        }
    }
    out.finish()
}

pub(crate) fn moved<S: Scalar>(elements: &[Element<S>], later: &S, higher: &S) -> Vec<Element<S>> {
    elements
        .iter()
        .map(|element| element.moved(later, higher))
        .collect()
}
