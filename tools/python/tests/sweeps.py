"""Sweeps by file and by arguments."""

import pathlib
import tempfile

import weir

RING = "scenarios/ring4.toml"
remedies = {"none": {}, "breaker": {"deadlock.policy": "breaker"}}
found = weir.sweep(
    RING,
    over={"remedy": remedies, "class.lossless.xoff": ["60KiB", "100KiB"]},
    seeds=2,
    until="120ms",
    set={"expect": None},
    tables=["flows", "ports"],
)
runs = found.runs.to_dicts()
assert len(found) == len(runs) == 8
assert [run["run"] for run in runs] == list(range(8))
assert [run["remedy"] for run in runs] == ["none"] * 4 + ["breaker"] * 4
assert [run["class.lossless.xoff_bytes"] for run in runs[:4]] == [61440.0] * 2 + [102400.0] * 2
assert all(run["error"] is None for run in runs)
assert len(found.flows) == sum(run["flows"] for run in runs)
assert len(found.ports) > 8

# Each row is a run.
for run in runs:
    settings = {
        "class.lossless.xoff": run["class.lossless.xoff"],
        "expect": None,
        **remedies[run["remedy"]],
    }
    result = weir.run(RING, set=settings, seed=run["seed"], until="120ms")
    assert result.releases == run["releases"]
    assert result.simulated["events"] == run["events"]
    assert sum(result.flows["received"]) == run["frames_received"]

# The order of threads does not matter.
again = weir.sweep(RING, over={"remedy": remedies}, seeds=[5, 3], until="20ms", set=["expect="], jobs=1)
assert again.runs["seed"] == [5, 3, 5, 3] and again.flows is None

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "sweep.toml")
    scenario = pathlib.Path(RING).resolve()
    path.write_text(
        f'name = "x"\nscenario = "{scenario}"\nseeds = [5, 3]\nset = ["duration=20ms", "expect="]\n'
        '[[parameter]]\nname = "remedy"\nchoices = [{ name = "none", set = [] }, '
        '{ name = "breaker", set = ["deadlock.policy=breaker"] }]\n'
    )
    by_file = weir.sweep(path)
    for column in ("seed", "remedy", "events", "frames_received"):
        assert by_file.runs[column] == again.runs[column], column
    try:
        weir.sweep(path, seeds=3)
    except TypeError as error:
        assert "seeds: this is a sweep already" in str(error)
    else:
        raise AssertionError("two numbers of seeds")

# A scenario without a file.
text = pathlib.Path(RING).read_text()
assert weir.sweep(text, until="20ms", set=["expect="]).runs["events"] == weir.sweep(
    RING, until="20ms", set=["expect="]
).runs["events"]
