#!/usr/bin/env python3
"""Runs HPCC's example in ns-3 (hpcc.cc, on Debian's ns-3) and in weir-sim and compares flow completion times.

    tools/sim/benches/ns3/hpcc.py [--write]

Prints a table of all flows. Exits with status 1 if one is off by more than 10 %, or if ns-3 without DCQCN does not give
what HPCC's simulator has published. --write writes ns-3's figures to scenarios/hpcc/ns3.txt, where the tests of weir-sim
read them. Needs ns-3 (apt-get install --no-install-recommends libns3-dev g++) and builds weir-sim with cargo, or takes
the one that WEIR_SIM names.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILES = ROOT / "scenarios" / "hpcc"
TABLE = FILES / "ns3.txt"
HEADER = pathlib.Path("/usr/include/ns3/core-module.h")
TOLERANCE = 0.10
# Marks are drawn, so that a time with DCQCN is the median over these.
SEEDS = range(1, 10)

# Name, topology, flows and, for those that are published, what HPCC's simulator printed: nanoseconds until the last byte was
# acknowledged, by the flow's place (github.com/Jianweiwudi/HPCC-Trail, simulation/mix/fct_topology_flow_dcqcn.txt at
# 78defd9e, a run whose rates stay at the line's, and at e63294ea).
CASES = [
    ("two", "star.txt", "star-two.txt", {}),
    ("five", "star.txt", "star-five.txt", {"pfc": [37976591, 33827255, 25531156, 1872006, 1041591]}),
    (
        "ten",
        "star.txt",
        "star-ten.txt",
        {
            "dcqcn": [63310155, 63709520, 51632826, 4809921, 5006049, 4928260, 4697373, 4706503, 4698618, 4911545],
        },
    ),
    ("small", "topology.txt", "flow.txt", {}),
]
CONTROLS = ["pfc", "dcqcn"]

ABOUT = f"""\
# Completion times of HPCC's example in ns-3, in nanoseconds: made by tools/sim/benches/ns3/hpcc.py --write, which says what
# is run. With DCQCN medians, least and greatest of {len(SEEDS)} seeds.
#
# case control flow size published | times of transmission cut to nanoseconds, until the acknowledgement: median least
# greatest | exact times of transmission, until the last byte: median least greatest
"""


def fail(message):
    sys.exit(f"hpcc.py: {message}")


def build_ns3(directory):
    if not HEADER.is_file():
        fail("ns-3 is not installed: apt-get install --no-install-recommends libns3-dev g++")
    program = directory / "hpcc"
    source = pathlib.Path(__file__).with_name("hpcc.cc")
    subprocess.run(["g++", "-std=c++17", "-O2", source, "-o", program, "-lns3-core"], check=True)
    return program


def find_weir():
    if "WEIR_SIM" in os.environ:
        return os.environ["WEIR_SIM"]
    build = ["cargo", "build", "--release", "-p", "weir-sim", "--message-format", "json-render-diagnostics"]
    messages = subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    found = [json.loads(line).get("executable") for line in messages]
    return next(path for path in found if path and path.endswith("weir-sim"))


def seeds(control):
    return SEEDS if control == "dcqcn" else [1]


def run_ns3(program, case, control, down):
    """The flows' sizes; for each flow and seed the times until its last byte and until the last acknowledgement."""
    _, topology, flows, _ = case
    received, acknowledged = [], []
    for seed in seeds(control):
        words = [f"seed={seed}", f"dcqcn={int(control == 'dcqcn')}", f"down={down}"]
        command = [program, FILES / topology, FILES / flows, *words]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        rows = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
        received.append([row[4] for row in rows])
        acknowledged.append([row[5] for row in rows])
    sizes = [row[2] for row in rows]
    return sizes, list(zip(*received, strict=True)), list(zip(*acknowledged, strict=True))


def run_weir(program, directory, case, control, header):
    name, topology, flows, _ = case
    transport = "dcqcn" if control == "dcqcn" else "open"
    command = [program, "import", "hpcc", "--topology", FILES / topology, "--flow", FILES / flows]
    command += ["--header", f"{header}B", "--transport", transport, "--duration", "100ms"]
    scenario = directory / f"{name}-{control}-{header}.toml"
    scenario.write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    result = directory / "result.json"
    runs = []
    for seed in seeds(control):
        command = [program, "run", scenario, "--quiet", "--set", f"seed={seed}", "--json", result]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        flows = json.loads(result.read_text())["flows"]
        times = [flow["completion_seconds"] for flow in flows]
        if None in times:
            fail(f"{scenario.name}, seed {seed}: a flow has not arrived whole within 100 ms")
        runs.append([round(time * 1e9) for time in times])
    return list(zip(*runs, strict=True))


def spread(times):
    return [round(statistics.median(times)), min(times), max(times)]


def milliseconds(times):
    return f"{statistics.median(times) / 1e6:.4g}"


def main():
    write = sys.argv[1:] == ["--write"]
    if sys.argv[1:] and not write:
        fail("usage: hpcc.py [--write]")
    lines, wrong = [], []
    print("milliseconds               HPCC's     ns-3,         weir-sim,             ns-3,        weir-sim,")
    print("case        flow       size  published  rounded down  as imported  ratio  exact times  24 B less  ratio")
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        ns3, weir = build_ns3(directory), find_weir()
        for case in CASES:
            for control in CONTROLS:
                name = f"{case[0]} {control}"
                sizes, received, down = run_ns3(ns3, case, control, down=1)
                _, exact, _ = run_ns3(ns3, case, control, down=0)
                as_imported = run_weir(weir, directory, case, control, 48)
                equal_lines = run_weir(weir, directory, case, control, 24)
                published = case[3].get(control, [None] * len(sizes))
                for at, size in enumerate(sizes):
                    flow = f"{name} {at + 1}"
                    # Published times end with an acknowledgement; on the small network those wait for other flows.
                    reference = published[at] or statistics.median(received[at])
                    ratio = statistics.median(as_imported[at]) / reference
                    equal = statistics.median(equal_lines[at]) / statistics.median(exact[at])
                    if abs(ratio - 1) > TOLERANCE or abs(equal - 1) > TOLERANCE:
                        wrong.append(f"{flow}: {ratio:.3f} and {equal:.3f}")
                    if control == "pfc" and published[at] not in (None, down[at][0]):
                        wrong.append(f"{flow}: ns-3 has {down[at][0]} ns where {published[at]} are published")
                    left, right = [milliseconds(times[at]) for times in (received, as_imported)]
                    shown = f"{milliseconds([published[at]]) if published[at] else '-':>9}  {left:>12}  {right:>11}"
                    left, right = [milliseconds(times[at]) for times in (exact, equal_lines)]
                    shown += f"  {ratio:.3f}  {left:>11}  {right:>9}  {equal:.3f}"
                    print(f"{name:11} {at + 1:4}  {size:9}  {shown}", flush=True)
                    of_ns3 = [*spread(down[at]), *spread(exact[at])]
                    words = [name, at + 1, size, published[at] or "-", *of_ns3]
                    lines.append(" ".join(str(word) for word in words))
    if write:
        TABLE.write_text(ABOUT + "\n".join(lines) + "\n")
    if wrong:
        sys.exit("off by more than 10 %, or not as published:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
