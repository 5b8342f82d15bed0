"""Polars reads the tables, by Arrow's PyCapsule interface."""

import polars

import weir

run = weir.run("scenarios/ring4.toml", until="150ms")
for table in (run.flows, run.buffers, run.events, run.slowdown, run.series.throughput, run.series.occupancy):
    frame = polars.DataFrame(table)
    assert frame.columns == table.column_names
    assert frame.rows(named=True) == table.to_dicts()
flows = polars.DataFrame(run.flows)
assert flows.schema["sent"] == polars.Int64 and flows.schema["slowdown"] == polars.Float64
assert flows["received"].sum() == sum(run.flows["received"])

# The memory lives as long as its reader.
del run
rows = flows.to_dicts()
for _ in range(3):
    weir.run("scenarios/ring4.toml", until="10ms")
assert flows.to_dicts() == rows

sweep = weir.sweep(
    "scenarios/ring4.toml",
    over={"deadlock.policy": ["off", "breaker"]},
    seeds=2,
    until="120ms",
    set=["expect="],
)
frame = polars.DataFrame(sweep)
assert frame.height == 4 and frame.schema["deadlocked"] == polars.Boolean
by_policy = frame.group_by("policy").agg(polars.col("releases").sum()).to_dicts()
assert {row["policy"]: row["releases"] > 0 for row in by_policy} == {"off": False, "breaker": True}
