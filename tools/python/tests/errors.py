"""Errors are exceptions with the text of the program."""

import pathlib
import tempfile

import weir


def told(kind, call, *arguments, **settings):
    try:
        call(*arguments, **settings)
    except kind as error:
        return error
    raise AssertionError(f"no {kind}")


RING = "scenarios/ring4.toml"

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "wrong.toml")
    text = pathlib.Path(RING).read_text()
    path.write_text(text.replace("duration", "duratoin", 1))
    line = path.read_text().splitlines().index(next(it for it in path.read_text().splitlines() if "duratoin" in it)) + 1
    error = told(weir.ScenarioError, weir.run, path)
    assert f"{path}:{line}: duratoin: unknown key; did you mean `duration`?" in str(error)
    assert (line, "duratoin") in [problem[:2] for problem in error.problems]
    assert isinstance(error, weir.Error)

missing = told(weir.ScenarioError, weir.run, "scenarios/none.toml")
assert str(missing).startswith("scenarios/none.toml: No such file"), missing

wrong = told(weir.ScenarioError, weir.run, RING, set={"deadlock.policy": "braker"})
assert str(wrong).startswith("--set deadlock.policy=braker: "), wrong
assert "did you mean `breaker`?" in str(wrong)

assert "PATH=VALUE" in str(told(weir.Error, weir.run, RING, set=["nothing"]))
assert "<text>:2: " in str(told(weir.ScenarioError, weir.run, "\nnmae = 1\n"))
assert "<dict>" in str(told(weir.ScenarioError, weir.run, {"name": "x"}))
assert "class.0: TOML has no object" in str(
    told(TypeError, weir.run, {"class": [object()]})
)
told(TypeError, weir.run, RING, set="deadlock.policy=off")
told(ValueError, weir.run, RING, threads=0)

gap = told(weir.RunError, weir.run, "scenarios/kernel/ring4-kernel.toml")
assert str(gap).startswith("the simulator cannot run `"), gap

sweep = told(weir.ScenarioError, weir.sweep, RING, over={"deadlock.polcy": ["off"]})
assert "unknown key" in str(sweep), sweep
