"""A result has what the JSON has, under the same names."""

import hashlib
import json

import weir

run = weir.run("scenarios/ring4.toml", set={"duration": "150ms", "seed": 3})
text = run.to_json()
assert run.digest == hashlib.sha256(text.encode()).hexdigest()
result = json.loads(text)
tables = {"flows", "slowdown", "buffers", "events", "series"}
absent = {"applications"}
for name, value in result.items():
    if name not in tables | absent:
        assert getattr(run, name) == value, name
assert run.seed == 3 and run.scenario == "ring4"
assert run.as_expected == all(one["held"] for one in run.expectations)

flows = run.flows.to_dicts()
assert len(flows) == len(result["flows"]) == len(run.flows) == run.flows.num_rows
for row, flow in zip(flows, result["flows"]):
    assert flow.items() <= row.items(), (flow, row)
    # What the JSON leaves out is missing here.
    assert all(row[name] is None for name in row.keys() - flow.keys() - {"from", "to", "class"})
assert {row["from"] for row in flows} <= {f"h{number}" for number in range(1, 6)}
assert {row["class"] for row in flows} == {"lossless"}
assert run.flows["name"] == [flow["name"] for flow in result["flows"]]

buffers = run.buffers.to_dicts()
assert len(buffers) == len(result["buffers"])
for row, buffer in zip(buffers, result["buffers"]):
    assert buffer.items() <= row.items()

events = run.events.to_dicts()
assert len(events) == len(result["events"]) > 0
for row, event in zip(events, result["events"]):
    assert json.loads(row.pop("details")) == event.pop("details", {})
    assert event.items() <= row.items()

interval = result["series"]["interval_seconds"]
assert run.series.interval_seconds == interval
curves = {}
for row in run.series.throughput.to_dicts():
    curve = curves.setdefault(row["flow"], [])
    assert row["seconds"] == len(curve) * interval
    curve.append(row["bits_per_second"])
assert curves == result["series"]["throughput"] and curves
curves = {}
for row in run.series.occupancy.to_dicts():
    name = f"{row['switch']}:{row['port']}:{row['priority']}"
    curves.setdefault(name, []).append(row["bytes"])
assert curves == result["series"]["occupancy"] and curves

sized = weir.run("scenarios/transports/incast.toml")
assert [row["flows"] for row in sized.slowdown.to_dicts()] == [16]
assert all(row["slowdown"] > 1 for row in sized.flows.to_dicts())

# A table is made once.
assert run.flows is run.flows
assert "ring4" in repr(run) and "rows" in repr(run.flows)
try:
    run.flows["nothing"]
except KeyError as error:
    assert "bits_per_second" in str(error)
else:
    raise AssertionError("there is no such column")
