"""Flows that a program makes."""

import random

import weir

RACK = """
name = "rack"
duration = "1ms"
[link-defaults]
rate = "10Gbit"
delay = "1us"
[[class]]
name = "data"
priority = 3
mode = "pfc"
xoff = "100kB"
xon = "80kB"
headroom = "200kB"
[[class]]
name = "other"
priority = 4
mode = "lossy"
buffer = "200kB"
[topology]
kind = "line"
switches = 2
hosts = 4
"""


def rows(flows, **settings):
    return weir.run(RACK, flows=flows, **settings).flows.to_dicts()


[one, two] = rows(
    [
        ("h1", "h5", 30_000, 20e-6),
        {"from": "h2", "to": "h6", "size": "30kB", "start": "20us", "name": "mine", "class": "other"},
    ]
)
assert (one["name"], one["from"], one["to"], one["class"]) == ("added-1", "h1", "h5", "data")
assert (two["name"], two["from"], two["to"], two["class"]) == ("mine", "h2", "h6", "other")
for row in (one, two):
    assert row["size_bytes"] == 30_000 and row["began_seconds"] == 20e-6
    assert row["received"] == 20 and row["completion_seconds"] > 24e-6


def bursts(network):
    """A generator, of what the scenario says."""
    assert network.hosts == [f"h{number}" for number in range(1, 9)]
    assert network.duration_seconds == 1e-3 and network.line_bits_per_second == 10_000_000_000
    draw = random.Random(network.seed)
    at = 0.0
    while at < network.duration_seconds / 2:
        sender, receiver = draw.sample(network.hosts, 2)
        yield sender, receiver, draw.randrange(1000, 20_000), at
        at += draw.expovariate(1 / 10e-6)


many = weir.run(RACK, flows=bursts, seed=5)
assert len(many.flows) > 20
assert all(many.flows["completion_seconds"])
assert many.digest == weir.run(RACK, flows=bursts, seed=5).digest
assert many.digest != weir.run(RACK, flows=bursts, seed=6).digest


class Slow(weir.Control):
    rate_bps = 1e9


[slow] = rows([("h1", "h5", 15_000, 0, None, None, "slow")], transports={"slow": Slow})
assert slow["completion_seconds"] > 100e-6

for flow, words in [
    (("h1", "h9", 1000), "flows.0.to: unknown host `h9`"),
    (("h1", "h2", 0), "flows.0.size: must be above zero"),
    ({"from": "h1", "to": "h2", "size": 1, "stat": 0}, "flows.0: unknown key stat"),
    (("h1", "h2"), "flows.0: size is missing"),
    (("h1", "h2", "1 parsec"), "parsec"),
]:
    try:
        rows([flow])
    except (weir.ScenarioError, ValueError) as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
