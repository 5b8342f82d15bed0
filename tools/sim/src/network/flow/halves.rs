//! A flow whose sender and receiver belong to different threads: each has a copy and changes only its half.

use super::Flow;

impl Flow {
    /// Takes the receiver's half from `there`. Every field is named, so that a new one must be assigned to a half.
    pub(in crate::network) fn take_reception(&mut self, there: Self) {
        let Self {
            // The receiver's.
            receiver,
            received,
            received_bytes,
            received_bytes_last_part,
            reordered,
            missing,
            marked,
            answers_sent,
            expected,
            first_arrival,
            last_arrival,
            completed,
            longest_pause,
            delay_total,
            delay_max,
            series,
            // The sender's half, and what both know.
            plan: _,
            is_between_switches: _,
            next_at: _,
            paced: _,
            left: _,
            sender: _,
            timer_at: _,
            sent: _,
            repeated: _,
            answers_received: _,
            last_sent: _,
            flowlets: _,
            first_sent: _,
            all_acknowledged: _,
        } = there;
        self.receiver = receiver;
        self.received = received;
        self.received_bytes = received_bytes;
        self.received_bytes_last_part = received_bytes_last_part;
        self.reordered = reordered;
        self.missing = missing;
        self.marked = marked;
        self.answers_sent = answers_sent;
        self.expected = expected;
        self.first_arrival = first_arrival;
        self.last_arrival = last_arrival;
        self.completed = completed;
        self.longest_pause = longest_pause;
        self.delay_total = delay_total;
        self.delay_max = delay_max;
        self.series = series;
    }

    /// Returns the copy for the receiver: with only the receiver's half of the counters.
    pub(in crate::network) fn at_receiver(&self) -> Self {
        Self {
            sent: 0,
            repeated: 0,
            answers_received: 0,
            ..self.clone()
        }
    }

    /// The receiver is elsewhere and has its counters there.
    pub(in crate::network) fn leave_to_receiver(&mut self) {
        self.received = 0;
        self.answers_sent = 0;
    }
}
