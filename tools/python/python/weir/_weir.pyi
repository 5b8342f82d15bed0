"""The inner part of the package, written in Rust."""

import os
from typing import Any, final

__version__: str

class Error(Exception):
    """A scenario, sweep or run has failed."""

class ScenarioError(Error):
    """A scenario or sweep is wrong: a line for each problem, as `weir-sim` prints them."""

    problems: list[tuple[int | None, str, str]]
    """Line (or None), key and message of each problem."""

class RunError(Error):
    """A scenario cannot be simulated, or the simulator has found an error of its own."""

@final
class Table:
    """A table of Arrow: `pyarrow.table(t)`, `polars.DataFrame(t)` and DuckDB read it without a copy."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
    @property
    def num_rows(self) -> int:
        """Number of rows."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> list[Any]:
        """The column of this name, as a list."""
    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows, each a dictionary."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Series:
    """Curves over time, all with one interval."""

    @property
    def interval_seconds(self) -> float:
        """Interval between two values."""
    @property
    def throughput(self) -> Table:
        """A row for each flow and interval: `flow`, `seconds` (its beginning) and `bits_per_second` received in it."""
    @property
    def occupancy(self) -> Table:
        """A row for each lossless ingress buffer and interval: `switch`, `port`, `priority`, `seconds` and `bytes` held."""

@final
class Result:
    """The result of a run: what `weir-sim run --json` writes, under the same names. Lists of many entries are tables."""

    @property
    def format(self) -> int:
        """Version of the result's form."""
    @property
    def scenario(self) -> str:
        """The scenario's name."""
    @property
    def runner(self) -> str:
        """Program that ran it: `sim`."""
    @property
    def policy(self) -> str:
        """Reaction to deadlocks."""
    @property
    def mode(self) -> str:
        """Mode of the class that the flows use."""
    @property
    def seed(self) -> int:
        """Seed of the run."""
    @property
    def duration_seconds(self) -> float:
        """Duration of the offered traffic."""
    @property
    def deadlocked(self) -> bool:
        """True if no flow of the loop made progress in the last third of the run while frames were held."""
    @property
    def suspected_peak(self) -> int:
        """Peak number of (switch, egress, priority) suspected at the same time."""
    @property
    def detect_seconds(self) -> float | None:
        """Time from the standstill to the moment when the last port of the loop became suspected, if one did."""
    @property
    def first_release_seconds(self) -> float | None:
        """Time from that moment to the first release, if there was one."""
    @property
    def recover_seconds(self) -> float | None:
        """Time from that moment until a flow between switches arrived again, if one did."""
    @property
    def releases(self) -> int:
        """Releases started, by all switches."""
    @property
    def masters(self) -> list[str]:
        """Switches that were elected to break a loop, in the order of their first election."""
    @property
    def flows_moved(self) -> int:
        """Flows moved to another port, by all switches."""
    @property
    def control_frames(self) -> int:
        """PFC frames and CLCM sent by the switches."""
    @property
    def simulated(self) -> dict[str, int] | None:
        """The work of the run: `frame_hops` and `events`."""
    @property
    def drops(self) -> dict[str, int]:
        """Frames dropped, by reason; only reasons with drops."""
    @property
    def expectations(self) -> list[dict[str, Any]]:
        """The scenario's expectations: `what`, `held` and `seen`."""
    @property
    def as_expected(self) -> bool:
        """True if all expectations held."""
    @property
    def flows(self) -> Table:
        """A row for each flow, with its hosts and its class."""
    @property
    def slowdown(self) -> Table:
        """A row for each range of sizes: the slowdown of its flows."""
    @property
    def buffers(self) -> Table:
        """A row for each switch, port and priority that ever held a frame."""
    @property
    def events(self) -> Table:
        """A row for each event of a switch, in the order of time. `details` is JSON."""
    @property
    def series(self) -> Series:
        """The curves over time."""
    @property
    def digest(self) -> str:
        """SHA-256 of the file that `weir-sim run --json FILE` writes for the same run."""
    def to_json(self) -> str:
        """The text that `weir-sim run --json FILE` writes for the same run."""
    def to_dict(self) -> dict[str, Any]:
        """The same as dictionaries and lists."""

@final
class Sweep:
    """The results of a sweep: what `weir-sim sweep` writes, under the same names. The object itself is the table of runs."""

    @property
    def runs(self) -> Table:
        """A row for each run."""
    @property
    def flows(self) -> Table | None:
        """A row for each flow of each run, if asked for."""
    @property
    def ports(self) -> Table | None:
        """A row for each switch, port and priority of each run that held a frame, if asked for."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class FlowStart:
    """A flow for which a control is made."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def sender(self) -> str:
        """The sending host."""
    @property
    def receiver(self) -> str:
        """The receiving host."""
    @property
    def line_bits_per_second(self) -> int:
        """Rate of the sender's line."""
    @property
    def frame_bytes(self) -> int:
        """Length of its frames."""
    @property
    def size_bytes(self) -> int | None:
        """Its data; None without an end."""
    @property
    def base_rtt_seconds(self) -> float:
        """The longest round trip of any flow with such a control in the empty network."""

@final
class Ack:
    """An acknowledgement that has reached the sender."""

    @property
    def now_seconds(self) -> float:
        """Virtual time."""
    @property
    def rtt_seconds(self) -> float:
        """From the departure of the frame to the arrival of its acknowledgement."""
    @property
    def acked_bytes(self) -> int:
        """Bytes newly known to have arrived."""
    @property
    def in_flight_bytes(self) -> int:
        """Bytes in flight after it."""
    @property
    def marked(self) -> bool:
        """True if the frame was marked Congestion Experienced."""
    @property
    def hops(self) -> list[Hop]:
        """Telemetry that the switches on the path wrote into the frame as it left, first to last."""

@final
class Hop:
    """Telemetry that a switch wrote into a frame."""

    @property
    def line(self) -> int:
        """Number of the line by which the frame left."""
    @property
    def at_seconds(self) -> float:
        """When it left."""
    @property
    def sent_bytes(self) -> int:
        """Bytes that the line had carried before, with preamble, gap and FCS."""
    @property
    def queue_bytes(self) -> int:
        """Bytes that still waited for the line."""
    @property
    def bits_per_second(self) -> int:
        """Rate of the line."""

_Source = tuple[str | None, str | os.PathLike[str]]

def run(
    source: _Source,
    settings: list[str],
    threads: int,
    flows: list[tuple[Any, ...]],
    transports: list[tuple[str, Any]],
    control: Any | None,
) -> Result: ...
def network(
    source: _Source, settings: list[str], transports: list[str]
) -> tuple[list[str], float, int, int]: ...
def sweep(source: _Source, scenario: str | None, jobs: int | None) -> Sweep: ...
def is_sweep(source: _Source) -> bool: ...
def document(table: dict[str, Any]) -> str: ...
def inline(value: Any) -> str: ...
def size_bytes(text: str) -> int: ...
def duration_nanos(text: str) -> int: ...
