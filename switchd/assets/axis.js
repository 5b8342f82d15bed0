// The axis of time of a timeline: logarithmic on both sides of the suspicion's beginning or linear, whole or a part of it.

// Within this much of 0 a logarithmic axis is linear.
const LINEAR_SECONDS = 1e-3;
// A view is no shorter than this.
const VIEW_SECONDS_MIN = 2e-5;

const signed = (at) => at === 0 ? "0" : (at < 0 ? "−" : "+") + seconds(Math.abs(at));

// The next number of one digit, or 1.5 times a power of ten.
function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((round) => round >= value * 0.9999);
}

// The next power of ten, or 2 or 5 times one.
function tenth(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((round) => round >= value * 0.9999);
}

class Axis {
  constructor() {
    this.logarithmic = true;
    this.whole = [-1, 1];
    // Null: all of it, also while it grows.
    this.part = null;
  }

  bend(at) {
    return this.logarithmic ? Math.asinh(at / LINEAR_SECONDS) : at;
  }

  unbend(bent) {
    return this.logarithmic ? LINEAR_SECONDS * Math.sinh(bent) : bent;
  }

  get view() {
    return this.part || this.whole;
  }

  // Where a moment is: 0 at the left end, 1 at the right one.
  share(at) {
    const [from, to] = this.view.map((end) => this.bend(end));
    return (this.bend(at) - from) / (to - from);
  }

  at(share) {
    const [from, to] = this.view.map((end) => this.bend(end));
    return this.unbend(from + share * (to - from));
  }

  // Shows what lies between two shares of the view; both may lie beyond it.
  show(left, right) {
    const ends = [Math.max(this.whole[0], this.at(left)), Math.min(this.whole[1], this.at(right))];
    if (ends[1] - ends[0] < VIEW_SECONDS_MIN) return;
    // Except for rounding.
    const isWhole = ends.every((end, index) => Math.abs(this.bend(end) - this.bend(this.whole[index])) < 1e-6);
    this.part = isWhole ? null : ends;
  }

  // By a part of the view's length, to the left or to the right, as far as there is something.
  move(share) {
    if (!this.part) return;
    const [from, to] = this.whole.map((end) => this.share(end));
    const by = Math.max(from, Math.min(to - 1, share));
    this.part = [this.at(by), this.at(1 + by)];
  }

  // Round moments in view, no two nearer than `gap` as a share of the view.
  ticks(gap) {
    const [from, to] = this.view;
    const found = [];
    const offer = (at) => {
      const share = this.share(at);
      if (at >= from && at <= to && found.every((other) => Math.abs(other.share - share) >= gap)) found.push({ at, share });
    };
    offer(0);
    if (this.logarithmic) {
      for (const digit of [1, 5, 2]) {
        for (let power = 3; power >= -3; power -= 1) {
          offer(digit * 10 ** power);
          offer(-digit * 10 ** power);
        }
      }
    }
    if (found.length < 4) {
      const step = tenth((to - from) * gap);
      for (let tick = Math.ceil(from / step); tick * step <= to; tick += 1) offer(tick * step);
    }
    return found;
  }
}

// A tick's time is round: no trailing zeros.
function tickText(at) {
  const size = Math.abs(at), sign = at < 0 ? "−" : "+";
  if (at === 0) return "0";
  const text = (value) => String(+value.toPrecision(6));
  if (size >= 1) return `${sign}${text(size)} s`;
  return size >= 1e-3 ? `${sign}${text(size * 1e3)} ms` : `${sign}${text(size * 1e6)} µs`;
}
