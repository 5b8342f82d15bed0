"""Checks an installed wheel: `cargo xtask wheel` runs this in a fresh environment, in the root of the repository.

The argument is the program `weir-sim`, whose files must have the digests of the same runs here.
"""

import hashlib
import pathlib
import subprocess
import sys
import tempfile

import weir

RUNS = [
    ("scenarios/ring4.toml", {"duration": "200ms"}),
    ("scenarios/ring4.toml", {"duration": "200ms", "deadlock.policy": "breaker"}),
    ("scenarios/fat-tree.toml", {"duration": "200us"}),
    ("scenarios/transports/incast.toml", {"traffic.0.transport": "swift"}),
]

program = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder, "run.json")
    for scenario, settings in RUNS:
        words = [word for path, value in settings.items() for word in ("--set", f"{path}={value}")]
        command = [program, "run", scenario, "--quiet", "--json", str(file), *words]
        # 1: an expectation was not met, as in a shorter run.
        status = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        assert status in (0, 1), (command, status)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        assert weir.run(scenario, set=settings).digest == digest, (scenario, settings)
        print(f"{scenario} {settings}: {digest[:16]}, as weir-sim")


class Paced(weir.Control):
    rate_bps = 1e9


[slow, fast] = [
    weir.run("scenarios/transports/incast.toml", control=control, until="1ms")
    for control in (Paced, weir.Control)
]
assert max(slow.buffers["egress_bytes_max"]) < max(fast.buffers["egress_bytes_max"])
assert pathlib.Path(weir.__file__).with_name("py.typed").exists()
print(f"weir {weir.__version__} in {sys.prefix}")
