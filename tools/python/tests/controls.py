"""Congestion control written in Python."""

import weir

INCAST = "scenarios/transports/incast.toml"


class Window(weir.Control):
    """The window of DCTCP, without slow start."""

    g = 1 / 16

    def __init__(self, flow):
        super().__init__(flow)
        self.window_bytes = flow.line_bits_per_second * flow.base_rtt_seconds / 8
        self.alpha = 1.0
        self.acked = self.marked = 0

    def on_ack(self, ack):
        self.acked += ack.acked_bytes
        self.marked += ack.acked_bytes * ack.marked
        if self.acked >= self.window_bytes:
            share = self.marked / self.acked
            self.alpha += self.g * (share - self.alpha)
            self.window_bytes *= 1 - self.alpha / 2 if self.marked else 1
            self.window_bytes += self.flow.frame_bytes
            self.acked = self.marked = 0

    def on_loss(self, now_seconds):
        self.window_bytes /= 2


open_run = weir.run(INCAST, set=["traffic.0.transport=open"])
run = weir.run(INCAST, control=Window)
assert run.digest == weir.run(INCAST, control=Window, threads=2).digest
assert run.digest != open_run.digest
assert all(row["completion_seconds"] for row in run.flows.to_dicts())
longest = [max(result.buffers["egress_bytes_max"]) for result in (run, open_run)]
assert longest[0] < longest[1] / 5, longest

# By name, from the scenario.
settings = {"traffic.0.transport": "mine"}
assert weir.run(INCAST, set=settings, transports={"mine": Window}).digest == run.digest
try:
    weir.run(INCAST, set=settings)
except weir.ScenarioError as error:
    assert "unknown value `mine`" in str(error)
else:
    raise AssertionError("nobody knows it")

# What the calls tell.
seen = []


class Watching(weir.Control):
    timer_seconds = 50e-6

    def __init__(self, flow):
        super().__init__(flow)
        self.before = 0.0
        seen.append(self)
        self.cnps = self.acks = 0
        self.timers = []

    def on_ack(self, ack):
        assert self.before <= ack.now_seconds
        self.before = ack.now_seconds
        self.acks += 1
        assert 0 < ack.rtt_seconds < 0.02
        assert ack.acked_bytes in (0, self.flow.frame_bytes)
        (hop,) = ack.hops
        assert hop.at_seconds < ack.now_seconds
        assert hop.bits_per_second == self.flow.line_bits_per_second == 100_000_000_000

    def on_cnp(self, now_seconds):
        self.cnps += 1
        self.rate_bps = 2e9

    def on_timer(self, now_seconds):
        assert self.timer_seconds is None
        self.timers.append(now_seconds)
        if len(self.timers) < 3:
            self.timer_seconds = now_seconds + 10e-6


marks = {"class.data.ecn-kmin": "5kB", "class.data.ecn-kmax": "50kB"}
weir.run(INCAST, control=Watching, set=marks)
assert len(seen) == 16
assert {one.flow.sender for one in seen} != {one.flow.receiver for one in seen}
assert all(one.acks > 600 for one in seen)
assert sum(one.cnps for one in seen) > 16
assert all([round(at * 1e6) for at in one.timers] == [50, 60, 70] for one in seen)


def failing(how):
    class Failing(weir.Control):
        def __init__(self, flow):
            super().__init__(flow)
            if how == "at once":
                raise ZeroDivisionError("at once")
            self.window_bytes = 10_000

        def on_ack(self, ack):
            if how == "later":
                raise ZeroDivisionError("later")
            setattr(self, how, float("nan"))

    return Failing


for how, kind, words in [
    ("at once", ZeroDivisionError, "at once"),
    ("later", ZeroDivisionError, "later"),
    ("rate_bps", ValueError, "rate_bps is NaN: it must be at least 1"),
    ("window_bytes", ValueError, "window_bytes is NaN"),
    ("timer_seconds", ValueError, "timer_seconds is NaN"),
]:
    try:
        weir.run(INCAST, control=failing(how))
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(how)
