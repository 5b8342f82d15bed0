"""Scenarios of Weir in virtual time: the simulator `weir-sim` for Python.

    import weir

    result = weir.run("scenarios/ring4.toml", set={"deadlock.policy": "breaker"})
    result.deadlocked                     # False
    polars.DataFrame(result.flows)        # a row for each flow

A run gives exactly what `weir-sim run` gives for the same file and settings: `result.digest` is the SHA-256 of the file that
`weir-sim run --json` writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Union

from . import _weir
from ._weir import (
    Ack,
    Error,
    FlowStart,
    Hop,
    Result,
    RunError,
    ScenarioError,
    Series,
    Sweep,
    Table,
    __version__,
)

__all__ = [
    "Ack",
    "Control",
    "Error",
    "FlowStart",
    "Hop",
    "Network",
    "Result",
    "RunError",
    "ScenarioError",
    "Series",
    "Sweep",
    "Table",
    "__version__",
    "run",
    "sweep",
]

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Settings = Union[Mapping[str, Any], Iterable[str], None]
ControlFactory = Callable[[FlowStart], Any]
Flow = Union[tuple, Mapping[str, Any]]


class Network(NamedTuple):
    """What a workload may want to know of its scenario."""

    hosts: list[str]
    """Names of the hosts, or of their lines."""
    duration_seconds: float
    """Duration of the offered traffic."""
    seed: int
    """Seed of the run."""
    line_bits_per_second: int
    """Rate of `[link-defaults]`."""


class Control:
    """Congestion control of one flow, to derive from.

    The simulator makes an object for each flow, with a `FlowStart`, and calls those of these methods that it has:

    - `on_ack(self, ack)`: an acknowledgement has reached the sender, an `Ack`.
    - `on_cnp(self, now_seconds)`: a notification of congestion has. Receivers send them for marked frames, at the intervals
      of `[dcqcn]`, only if the class has this method.
    - `on_loss(self, now_seconds)`: acknowledgements have revealed a loss.
    - `on_timeout(self, now_seconds)`: acknowledgements are overdue.
    - `on_timer(self, now_seconds)`: the time in `timer_seconds` has come.

    After each call it reads the attributes. Lost frames are sent again by `[recovery]`, go-back-N unless the file says
    otherwise. The times of one flow ascend; those of different flows need not, since the simulator handles the events of one
    host after another.
    """

    rate_bps: float | None = None
    """Rate of the flow, in bits of frames per second; None: the line's."""
    window_bytes: float | None = None
    """The most bytes in flight; one frame may always be. None: no limit."""
    timer_seconds: float | None = None
    """Virtual time at which to call `on_timer`; None: not at all. It is None again in that call."""

    def __init__(self, flow: FlowStart) -> None:
        self.flow = flow


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    set: Settings = None,
    until: str | None = None,
    threads: int = 1,
    control: ControlFactory | None = None,
    transports: Mapping[str, ControlFactory] | None = None,
    flows: Iterable[Flow] | Callable[[Network], Iterable[Flow]] | None = None,
) -> Result:
    """Run a scenario in virtual time.

    Args:
        scenario: The path of a file, its text (which has more than one line), or a dictionary with its keys.
        seed: Another seed than the scenario's.
        set: Settings like those of `--set`: a dictionary from dotted paths to values (None removes the key), or a list of
            texts `PATH=VALUE`.
        until: Another duration, such as "2ms".
        threads: Number of threads; the result is the same. A run with `control` or `transports` has one.
        control: Congestion control of every flow: a class derived from `Control`, or any callable that makes one of a
            `FlowStart`.
        transports: The same by name, for flows whose `transport` in the scenario has that name.
        flows: More flows: tuples of sender, receiver, size and start, or dictionaries with `from`, `to`, `size`, and if
            wanted `start`, `name`, `class`, `transport` and `frame`. Or a callable that returns them for a `Network`. Sizes
            are bytes or texts such as "1MB", times are seconds or texts such as "20us".

    Without `control` and `transports` other threads of Python run meanwhile. Ctrl-C ends the run.

    Raises:
        ScenarioError: The scenario, a setting or a flow is wrong.
        RunError: It cannot be simulated.
    """
    source, settings = _source(scenario), _settings(seed, set, until)
    transports = dict(transports or {})
    if callable(flows):
        flows = flows(Network(*_weir.network(source, settings, list(transports))))
    given = [_flow(index, flow) for index, flow in enumerate(flows or ())]
    return _weir.run(source, settings, threads, given, list(transports.items()), control)


def sweep(
    sweep: Scenario,
    *,
    over: Mapping[str, Any] | None = None,
    seeds: int | Iterable[int] | None = None,
    set: Settings = None,
    until: str | None = None,
    tables: Iterable[str] = (),
    jobs: int | None = None,
) -> Sweep:
    """Run a scenario with many values of its keys and many seeds.

    Args:
        sweep: A sweep file as for `weir-sim sweep`, by path, text or dictionary. Or a scenario, with the rest of the
            arguments.
        over: The values of each parameter. From a dotted path to a list of values; or from a name of your own to a dictionary
            of choices, each a name with its settings: `{"remedy": {"none": {}, "breaker": {"deadlock.policy": "breaker"}}}`.
            Every combination is run.
        seeds: The number of seeds for each combination, or a list of them.
        set: Settings of every run, as for `run`.
        until: Another duration of every run.
        tables: Tables beside that of the runs: "flows", "ports".
        jobs: Number of runs at a time; default: one for each core.

    A run that fails is a row with its `error`. Ctrl-C ends the sweep.

    Raises:
        ScenarioError: The sweep or its scenario is wrong.
    """
    source = _source(sweep)
    if _weir.is_sweep(source):
        given = {"over": over, "seeds": seeds, "set": set, "until": until, "tables": tables}
        for name, value in given.items():
            if value:
                raise TypeError(f"{name}: this is a sweep already; write it there")
        return _weir.sweep(source, None, jobs)
    text, path = source
    document = {
        "name": "sweep",
        "scenario": os.fspath(path),
        "set": _settings(None, set, until),
        "seeds": seeds if isinstance(seeds, int) or seeds is None else list(seeds),
        "tables": list(tables),
        "parameter": [_parameter(name, values) for name, values in (over or {}).items()],
    }
    if text is None:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    return _weir.sweep((_weir.document(document), "<sweep>"), text, jobs)


def _source(scenario: Scenario) -> tuple[str | None, str]:
    """The text if there is no file, and the file or a name for messages."""
    if isinstance(scenario, Mapping):
        return _weir.document(dict(scenario)), "<dict>"
    if isinstance(scenario, str) and "\n" in scenario:
        return scenario, "<text>"
    return None, os.fspath(scenario)


def _settings(seed: int | None, settings: Settings, until: str | None) -> list[str]:
    """In the order of the command line's program: `set`, `until`, `seed`."""
    if isinstance(settings, str):
        raise TypeError("set: write a list of texts, or a dictionary")
    if isinstance(settings, Mapping):
        texts = [f"{path}={_value(value)}" for path, value in settings.items()]
    else:
        texts = list(settings or ())
    if until is not None:
        texts.append(f"duration={until}")
    if seed is not None:
        texts.append(f"seed={seed}")
    return texts


def _value(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _weir.inline(value)


def _parameter(name: str, values: Any) -> dict[str, Any]:
    if isinstance(values, Mapping):
        choices = [
            {"name": choice, "set": _settings(None, settings, None)}
            for choice, settings in values.items()
        ]
        return {"name": name, "choices": choices}
    return {"key": name, "values": list(values)}


_FLOW_KEYS = ("from", "to", "size", "start", "name", "class", "transport", "frame")


def _flow(index: int, flow: Flow) -> tuple:
    """The form that the inner module takes: sizes in bytes, times in nanoseconds."""
    if not isinstance(flow, Mapping):
        flow = dict(zip(_FLOW_KEYS, flow))
    unknown = [key for key in flow if key not in _FLOW_KEYS]
    missing = [key for key in _FLOW_KEYS[:3] if key not in flow]
    if unknown or missing:
        wrong = f"unknown key {unknown[0]}" if unknown else f"{missing[0]} is missing"
        raise ValueError(f"flows.{index}: {wrong} (valid: {', '.join(_FLOW_KEYS)})")
    frame = flow.get("frame")
    return (
        flow["from"],
        flow["to"],
        _bytes(flow["size"]),
        _nanos(flow.get("start", 0)),
        flow.get("name"),
        flow.get("class"),
        flow.get("transport"),
        None if frame is None else _bytes(frame),
    )


def _bytes(size: int | str) -> int:
    return _weir.size_bytes(size) if isinstance(size, str) else int(size)


def _nanos(start: float | str) -> int:
    return _weir.duration_nanos(start) if isinstance(start, str) else round(start * 1e9)
