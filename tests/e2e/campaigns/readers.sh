#!/bin/bash
# Runs the example sweep of the book's page on sweeps, and every Python block of the page on its results: DuckDB and Polars, from
# PyPI, in a virtual environment that is removed at the end.
#
#   tests/e2e/campaigns/readers.sh [PARTS]      only the first of so many parts of the sweep; default: all of it
set -euo pipefail
cd "$(dirname "$0")/../../.."
checkout=$PWD
if [ -z "${WEIR_SIM-}" ]; then
    for program in target/release/weir-sim target/debug/weir-sim; do
        [ -x "$program" ] && WEIR_SIM=$checkout/$program && break
    done
fi
[ -x "${WEIR_SIM-}" ] || { echo "no weir-sim: cargo build --release -p weir-sim" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet duckdb polars kubernetes-validate
"$WEIR_SIM" sweep scenarios/sweeps/ring4.toml --out "$work/sweep-ring4" --shard "0/${1:-1}"
cd "$work"
awk -v out="$work/block" '
    /^```python$/ { n++; inside = 1; next }
    /^```$/ { inside = 0 }
    inside { print > (out n ".py") }
' "$checkout/docs/src/simulator/sweeps.md"
blocks=("$work"/block*.py)
[ "${#blocks[@]}" = 2 ] || { echo "${#blocks[@]} blocks of Python, not 2" >&2; exit 1; }
for block in "${blocks[@]}"; do
    "$work/venv/bin/python" "$block"
done
"$work/venv/bin/kubernetes-validate" --strict "$checkout/scenarios/sweeps/ring4-job.yaml"
