#!/bin/bash
# A sweep of 1,000 runs as a Slurm job array on this machine, killed in the middle twice, and the same sweep undisturbed and
# without Slurm: both must have the same files, byte for byte.
#
#   tests/e2e/campaigns/slurm.sh [--json FILE]
#
# Needs root, weir-sim (WEIR_SIM; default target/release/weir-sim or target/debug/weir-sim), and Debian's packages slurm-wlm and
# munge. It brings up a cluster of one node with a separate configuration, on separate ports, and takes it down at the end.
set -euo pipefail
cd "$(dirname "$0")/../../.."

json=
[ "${1-}" = --json ] && json=$2
for program in munged mungekey slurmctld slurmd sbatch scancel squeue; do
    PATH=$PATH:/usr/sbin command -v "$program" > /dev/null ||
        { echo "no $program: apt-get install slurm-wlm munge" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "slurmd needs root: run it with sudo" >&2; exit 2; }
PATH=$PATH:/usr/sbin
if [ -z "${WEIR_SIM-}" ]; then
    for program in target/release/weir-sim target/debug/weir-sim; do
        [ -x "$program" ] && WEIR_SIM=$PWD/$program && break
    done
fi
[ -x "${WEIR_SIM-}" ] || { echo "no weir-sim: cargo build --release -p weir-sim" >&2; exit 2; }
export WEIR_SIM

PARTS=10
RUNS=1000
work=$(mktemp -d)
started=()
finish() {
    trap - EXIT
    # While jobs are being cancelled, all three daemons are needed: steps repeat reports that fail.
    if [ "${#started[@]}" = 3 ]; then
        scancel --signal=KILL --full --user=root 2> /dev/null || true
        scancel --user=root 2> /dev/null || true
        for _ in $(seq 300); do
            [ -n "$(squeue --noheader 2> /dev/null)" ] || break
            sleep 0.2
        done
    fi
    for ((i = ${#started[@]} - 1; i >= 0; i--)); do
        kill "${started[i]}" 2> /dev/null || true
        wait "${started[i]}" 2> /dev/null || true
    done
    rm -rf "$work"
}
trap finish EXIT
trap "exit 130" INT TERM

# Until a command succeeds; half an hour at most.
until_true() {
    local deadline=$((SECONDS + 1800))
    until "$@"; do
        [ $SECONDS -lt $deadline ] || { echo "waited in vain for: $*" >&2; tail -n 20 "$work"/*.log >&2; exit 1; }
        sleep 0.2
    done
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

mkdir -p "$work"/{state,spool,munge}
chmod 755 "$work"
mungekey --create --keyfile "$work/munge/key"
munged --force --foreground --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
    --seed-file="$work/munge/seed" --log-file="$work/munged.log" 2> /dev/null &
started+=($!)
until_true test -S "$work/munge/socket"

host=$(hostname -s)
cpus=$(nproc)
export SLURM_CONF=$work/slurm.conf
cat > "$SLURM_CONF" << CONF
ClusterName=weir
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
# No cgroups: a machine that is a container itself may have none.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=2
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
slurmctld -D 2> /dev/null &
started+=($!)
slurmd -D -N "$host" 2> /dev/null &
started+=($!)
is_idle() { [ "$(sinfo --noheader --format=%t 2> /dev/null)" = idle ]; }
until_true is_idle
echo "$(sinfo --version) with $cpus CPUs; $("$WEIR_SIM" --version)"

out=$work/disturbed
export OUT=$out
submit() {
    sbatch --parsable --chdir="$PWD" --output="$work/ring4-%a.log" --export=ALL scenarios/sweeps/ring4.sbatch
}
# Kept runs: those of finished parts, and lines of the other parts' journals.
kept() {
    local part name sum=0
    for part in $(seq 0 $((PARTS - 1))); do
        name=$(printf '%05d-of-%05d' "$part" "$PARTS")
        if [ -f "$out/runs-$name.parquet" ]; then
            sum=$((sum + RUNS / PARTS))
        elif [ -f "$out/unfinished-$name.jsonl" ]; then
            # By now the part may be finished and its journal gone.
            sum=$((sum + $(cat "$out/unfinished-$name.jsonl" 2> /dev/null | wc -l)))
        fi
    done
    echo "$sum"
}
has_kept() { [ "$(kept)" -ge "$1" ]; }
has_no_jobs() { [ -z "$(squeue --noheader)" ]; }

killed=()
for wanted in 250 600; do
    job=$(submit)
    until_true has_kept "$wanted"
    # SIGKILL to the scripts and all their processes; waiting jobs are cancelled.
    scancel --signal=KILL --full "$job"
    scancel "$job"
    until_true has_no_jobs
    now=$(kept)
    killed+=("$now")
    echo "killed with $now of $RUNS runs kept, $(find "$out" -name 'runs-*.parquet' | wc -l) of $PARTS parts finished"
    [ "$now" -lt "$RUNS" ] || { echo "it was too late: all runs were done" >&2; exit 1; }
    [ -z "$(find "$out" -name '*.parquet' -size 0)" ] || { echo "a half file" >&2; exit 1; }
done
submit > "$work/last"
is_whole() { [ "$(find "$out" -name 'runs-*.parquet' | wc -l)" = "$PARTS" ] && has_no_jobs; }
until_true is_whole
# "100 runs: 25 kept from before, 75 run now", of the submission in which each part was finished.
sum_before() {
    awk -v word="$1" '{ for (i = 2; i <= NF; i++) if ($i == word && $0 ~ / kept from before, /) sum += $(i - 1) } END { print sum + 0 }' \
        "$work"/ring4-*.log
}
taken=$(sum_before kept)
again=$(sum_before run)
[ $((taken + again)) = "$RUNS" ] && [ "$taken" -gt 0 ] || { echo "$taken runs kept and $again run are not $RUNS" >&2; exit 1; }

for part in $(seq 0 $((PARTS - 1))); do
    "$WEIR_SIM" sweep scenarios/sweeps/ring4.toml --out "$work/undisturbed" --shard "$part/$PARTS" --quiet > /dev/null
done
sums() { (cd "$1" && find . -type f -printf '%P\n' | sort | xargs sha256sum); }
sums "$work/disturbed" > "$work/a"
sums "$work/undisturbed" > "$work/b"
diff "$work/a" "$work/b" || { echo "the files differ" >&2; exit 1; }
files=$(wc -l < "$work/a")
all=$(sha256sum < "$work/a" | cut -d ' ' -f 1)
[ "$files" = $((3 * PARTS)) ] || { echo "$files files, not $((3 * PARTS))" >&2; exit 1; }
echo "parts took $taken runs over from killed submissions and ran $again; $files files, the same bytes as undisturbed: sha256 $all"
if [ -n "$json" ]; then
    printf '{"runs": %s, "parts": %s, "kept_at_kills": [%s, %s], "taken_over": %s, "files": %s, "files_sha256": "%s", "slurm": "%s", "weir_sim": "%s"}\n' \
        "$RUNS" "$PARTS" "${killed[0]}" "${killed[1]}" "$taken" "$files" "$all" "$(sinfo --version)" "$("$WEIR_SIM" --version)" > "$json"
fi
