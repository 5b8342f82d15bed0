# Steps of `cargo xtask vm-test --kernel`, which a guest's shell (bash) reads: hosts h1, h2 and h3 in namespaces, and the ports p1, p2
# and p3 of a switch in the first namespace, where the package's unit runs. Each prints its figure on the last line.
ulimit -l unlimited
fail() {
    echo "$*"
    exit 1
}
host() {
    local name=$1
    shift
    nsenter --net="/run/netns/$name" "$@"
}
# Waits up to $1 seconds until the rest of the command succeeds.
within() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" > /tmp/within 2>&1; do
        [ $SECONDS -lt $deadline ] || {
            cat /tmp/within
            fail "not within its time: $*"
        }
        sleep 0.2
    done
}
stop() {
    systemctl stop weir-switchd 2> /dev/null || true
    [ ! -e /tmp/switch.pid ] || kill "$(cat /tmp/switch.pid)" 2> /dev/null || true
    for deadline in $(seq 150); do
        pgrep -x weir-switchd > /dev/null || break
        sleep 0.2
    done
    rm -f /tmp/switch.pid
}
# Removes the network, and makes one with $1 hosts and an MTU of $2.
network() {
    stop
    local n m
    for n in $(ip netns list | cut -d ' ' -f 1); do
        # A process of an earlier step would keep its end of a cable.
        ip netns pids "$n" | xargs -r kill -9
        ip netns delete "$n"
    done
    for n in $(ip -o link | grep -oE ': p[0-9]+@' | tr -d ':@ '); do ip link delete "$n"; done
    for n in $(seq "$1"); do
        ip netns add "h$n"
        ip link add "p$n" mtu "${2:-1500}" type veth peer name eth0 netns "h$n" mtu "${2:-1500}"
        ip link set "p$n" up
        ip -n "h$n" link set lo up
        ip -n "h$n" link set eth0 address "02:00:00:00:00:0$n"
        ip -n "h$n" addr add "10.0.0.$n/24" dev eth0
        ip -n "h$n" link set eth0 up
        host "h$n" ethtool -K eth0 tx off gro on > /dev/null
        # Without learning nothing is flooded, and hosts cannot ask for addresses.
        for m in $(seq "$1"); do
            [ "$m" = "$n" ] || ip -n "h$n" neigh replace "10.0.0.$m" lladdr "02:00:00:00:00:0$m" dev eth0
        done
    done
}
# Writes the shipped configuration with ports for $1 hosts. $TOP goes below [dataplane], $CLASS into the lossless class; ROUTES=1 writes
# routes instead of learning.
configuration() {
    local n
    sed -e "${ROUTES:+s/^learning = true/learning = false/}" -e "s|^mode = \"pfc\"|mode = \"pfc\"\n$CLASS|" /etc/weir/switchd.toml.shipped
    printf '[dataplane]\n%s\n' "$TOP"
    for n in $(seq "$1"); do
        printf '[[port]]\ndevice = "p%s"\nrole = "edge"\nrate = "100Mbit"\n' "$n"
        [ -z "$ROUTES" ] || printf '[[route]]\ndestination = "02:00:00:00:00:0%s"\nports = ["p%s"]\n' "$n" "$n"
    done
}
ready() { switchctl --json status > /tmp/status; [ $? -eq 0 ] || [ $? -eq 5 ]; }
# Starts the switch outside its unit, with the configuration in /tmp/switch.toml.
start() {
    weir-switchd --config /tmp/switch.toml "$@" > /tmp/switch.log 2>&1 &
    echo $! > /tmp/switch.pid
    for deadline in $(seq 300); do
        ! grep -q ' ready' /tmp/switch.log || return 0
        kill -0 "$(cat /tmp/switch.pid)" 2> /dev/null || return 1
        sleep 0.2
    done
    return 1
}
starts() {
    start "$@" || {
        tail -n 5 /tmp/switch.log | cut -c 1-600
        fail "the switch does not start"
    }
}
pings() { host h1 ping -q -c "$1" -i 0.1 -W 5 "${2:-10.0.0.2}" "${@:3}" | grep -o '[0-9]* received' | cut -d ' ' -f 1; }
reaches() {
    local received
    received=$(pings 20)
    [ "$received" = 20 ] || fail "$received of 20 pings answered"
}
# Frames that the switch or the kernel below it lost, by all reasons.
lost() {
    switchctl --json ports |
        jq '[.[] | ((.drops_total // {}) + (.kernel_losses // {} | del(.rx_fill_ring_empty_total))) | .[]] | add // 0'
}
paused() { switchctl --json pfc | jq '[.[].xoff_sent_total] | add'; }

loads() {
    local said
    said=$(weir-switchd --try-programs) || fail "$said"
    jq -e 'all(.refused == null)' <<< "$said" > /dev/null || fail "$(jq -r '.[].refused // empty' <<< "$said")"
    jq -r 'map(.form) | join(", ")' <<< "$said"
}
loads_for_bench() {
    /share/weir-bench try-programs || exit 1
    echo loaded
}
loads_of_compilers() {
    local program said
    for program in /share/forms-*; do
        said=$("$program") || fail "$(basename "$program"): $said"
        printf '%s ' "${program##*-}"
    done
    echo
}
unit() {
    network 3
    configuration 3 > /etc/weir/switchd.toml
    systemd-analyze verify --man=no weir-switchd.service || fail "systemd-analyze verify"
    systemctl start weir-switchd || {
        journalctl -u weir-switchd --no-pager -q | tail -n 5
        fail "systemctl start"
    }
    within 30 ready
    reaches
    systemctl reload weir-switchd || fail "systemctl reload"
    switchctl restart > /tmp/restart || fail "switchctl restart: $(cat /tmp/restart)"
    within 30 ready
    reaches
    kill -9 "$(switchctl --json status | jq .pid)"
    sleep 1
    within 60 ready
    reaches
    echo "systemd $(systemctl --version | head -n 1 | cut -d ' ' -f 2)"
}
# Two hosts that obey pauses send TCP of the lossless class into one port.
pauses() {
    local h a lost_before paused_before
    for h in h1 h3; do
        host $h weir-host plug eth0 --rate 100Mbit --priorities dscp > "/tmp/plug-$h" 2>&1 &
        echo $! > "/tmp/plug-$h.pid"
    done
    for h in h1 h3; do within 20 host $h weir-host status eth0; done
    for port in 5201 5203; do host h2 iperf3 -s -1 -p $port > /dev/null 2>&1 & done
    within 20 listens 5203
    lost_before=$(lost)
    paused_before=$(paused)
    host h1 iperf3 -c 10.0.0.2 -p 5201 -n 4M -S 96 -J > /tmp/j1 2>&1 & a=$!
    host h3 iperf3 -c 10.0.0.2 -p 5203 -n 4M -S 96 -J > /tmp/j3 2>&1 || fail "iperf3: $(tail -n 3 /tmp/j3)"
    wait $a || fail "iperf3: $(tail -n 3 /tmp/j1)"
    for h in h1 h3; do kill -TERM "$(cat /tmp/plug-$h.pid)"; done
    [ "$(lost)" = "$lost_before" ] || fail "$(lost) frames lost"
    [ "$(paused)" -gt "$paused_before" ] || fail "nobody was paused"
    echo "$(($(paused) - paused_before)) pauses, 0 lost"
}
CONFINED='--ignored --exact --nocapture a_thread_of_the_dataplane_that_was_taken_over_is_refused_everything_else'
# A process that gives up the daemon's privileges tries an attacker's calls: started directly, and by the switch's unit, of which
# only the program and the way of waiting for it are others.
confined() {
    local directly unit status drop_in=/run/systemd/system/weir-switchd.service.d
    stop
    # shellcheck disable=SC2086
    /share/confined $CONFINED > /tmp/confined 2>&1 || fail "directly: $(tail -n 30 /tmp/confined)"
    directly=$(refused < /tmp/confined) || fail "directly: nothing was tried"
    mkdir -p $drop_in
    printf '[Service]\n%s\n' Type=oneshot WatchdogSec=0 Restart=no StandardOutput=truncate:/tmp/confined ExecStartPre= ExecStart= \
        "ExecStart=/share/confined $CONFINED" > $drop_in/confined.conf
    systemctl daemon-reload
    systemctl start weir-switchd 2> /tmp/start && status=0 || status=$?
    cat /tmp/start >> /tmp/confined
    rm -r $drop_in
    systemctl daemon-reload
    [ $status = 0 ] || fail "under the unit: $(tail -n 30 /tmp/confined)"
    unit=$(refused < /tmp/confined) || fail "under the unit: nothing was tried"
    echo "$directly attempts refused, under the unit $unit"
}
refused() { grep -oE '[0-9]+ attempts, all refused' | cut -d ' ' -f 1 | grep .; }
listens() { host h2 ss -ltn | grep -q ":$1 "; }

# A lossless stream goes on over a restart; then the switch is killed, and the next one starts in its place.
restarts() {
    local before said
    network 2
    configuration 2 > /tmp/switch.toml
    starts --keeper
    host h1 ping -q -c 100 -i 0.05 -W 20 10.0.0.2 > /tmp/ping 2>&1 & ping=$!
    sleep 1
    said=$(switchctl restart 2>&1) || fail "switchctl restart: $said"
    wait $ping || fail "$(tail -n 3 /tmp/ping)"
    echo "$(grep -o '[0-9]* received' /tmp/ping) of 100 over a restart"
}
killed() {
    local programs
    network 2
    configuration 2 > /tmp/switch.toml
    starts
    kill -9 "$(cat /tmp/switch.pid)"
    sleep 1
    programs=$(bpftool net show | grep -cE '^p[12]\(')
    [ "$programs" = 2 ] || fail "$programs programs are attached after kill -9"
    starts
    reaches
    stop
    programs=$(bpftool net show | grep -cE '^p[12]\(') || true
    [ "$programs" = 0 ] || fail "$programs programs are left"
    echo "taken over, nothing left"
}
captures() {
    network 2
    configuration 2 > /tmp/switch.toml
    starts
    host h1 ping -q -c 100 -i 0.1 -W 5 10.0.0.2 > /dev/null 2>&1 &
    switchctl capture p1 -w /tmp/capture.pcapng -c 6 --duration 15s > /tmp/captured 2>&1 || fail "$(cat /tmp/captured)"
    wait $!
    switchctl audit > /tmp/audit || fail "$(cat /tmp/audit)"
    curl -s http://127.0.0.1:9464/metrics | grep -c '^weir_' > /tmp/metrics || fail "no metrics"
    echo "$(tcpdump -nr /tmp/capture.pcapng 2> /dev/null | wc -l) frames, $(cat /tmp/metrics) samples"
}
jumbo() {
    network 2 9000
    TOP='mtu = "9000B"' configuration 2 > /tmp/switch.toml
    starts
    [ "$(pings 5 10.0.0.2 -M do -s 8972)" = 5 ] || fail "frames of 9000 B do not arrive"
    echo "5 of 5 frames of 9000 B"
}
jumbo_refused() {
    network 2 9000
    TOP='mtu = "9000B"' configuration 2 > /tmp/switch.toml
    ! start || fail "the switch starts"
    grep -q 'frames of several chunks need Linux 6.6' /tmp/switch.log || fail "$(tail -n 3 /tmp/switch.log)"
    echo "refused: needs Linux 6.6"
}
# One virtio NIC, eth0, with what its driver needs for zero-copy: $1 is yes or no.
zero_copy() {
    stop
    ip link set eth0 up
    ethtool -K eth0 rxvlan off txvlan off 2> /dev/null || true
    { sed 's/^learning = true/learning = false/' /etc/weir/switchd.toml.shipped
      printf '[[port]]\ndevice = "eth0"\nrole = "edge"\nrate = "100Mbit"\n'; } > /tmp/switch.toml
    starts
    switchctl --json ports | jq -r '.[0] | "\(.xdp_mode) \(.zero_copy)"' > /tmp/mode
    stop
    [ "$(cat /tmp/mode)" = "native $1" ] || fail "$(cat /tmp/mode)"
    [ "$1" = true ] && echo "virtio_net: zero-copy" || echo "virtio_net: copy"
}
# The state of the express path that is expected: $1 for lossy classes, $2 where a lossless class also requests it.
express() {
    local words frames
    network 2
    ROUTES=1 TOP='express = "on"' configuration 2 > /tmp/switch.toml
    starts
    within 30 express_is "$1"
    reaches
    frames=$(curl -s http://127.0.0.1:9464/metrics | awk '/^weir_express_frames_total/ {sum += $2} END {print sum + 0}')
    case $1 in
    open) [ "$frames" -gt 0 ] || fail "no frame took the path" ;;
    *) [ "$frames" = 0 ] || fail "$frames frames took the path" ;;
    esac
    network 2
    CLASS='express = "on"' ROUTES=1 TOP='express = "on"' configuration 2 > /tmp/switch.toml
    starts
    within 30 express_is "$2"
    reaches
    echo "lossy $1 ($frames frames), lossless $2"
}
express_is() {
    local word
    for word in $(switchctl --json ports | jq -r '.[].express'); do
        [ "$word" = "$1" ] || { [ "$1" = open ] && [ "$word" = held ]; } || {
            echo "express: $word"
            return 1
        }
    done
}
attaches() {
    network 2
    host h1 weir-host attach eth0 --rate 100Mbit --priorities dscp > /tmp/attach 2>&1 || fail "$(cat /tmp/attach)"
    host h1 weir-host detach eth0 > /dev/null || fail "detach"
    echo attached
}
attach_refused() {
    network 2
    ! host h1 weir-host attach eth0 --rate 100Mbit > /tmp/attach 2>&1 || fail "it is attached"
    grep -q 'needs Linux 6.16 or newer with CONFIG_NET_SCH_BPF' /tmp/attach || fail "$(cat /tmp/attach)"
    grep -q 'weir-host plug eth0' /tmp/attach || fail "$(cat /tmp/attach)"
    echo "refused, names plug"
}
# Settings of the ring of four for emulated processors.
SLOW='--set link-defaults.rate=4Mbit --set class.lossless.xoff=30KiB --set class.lossless.xon=26KiB --set class.lossless.headroom=512KiB
    --set deadlock.detect=500ms --set deadlock.clcm-interval=100ms --set deadlock.release=200ms --set duration=12s'
# The ring of four in the lab: $1 is off, breaker or level; $2 is what must be true of its result.
ring() {
    local said=/tmp/ring-$1 slow=$SLOW
    stop
    case $1 in
    # A guest on a busy machine pauses for longer than 500 ms, which looks like a stall to its switches.
    level) slow="${slow/detect=500ms/detect=2s} --set class.lossless.mode=level --set class.lossless.max-hops=2 --set link-defaults.round-trip=500ms" ;;
    *) slow="$slow --set deadlock.policy=$1" ;;
    esac
    # Status 3: the run itself failed, since an endpoint did not answer on a busy machine.
    for _ in 1 2 3; do
        # shellcheck disable=SC2086
        weir-lab run /usr/share/weir/scenarios/ring4.toml $slow --json "$said.json" > "$said" 2>&1
        [ $? = 3 ] || break
    done
    jq -e "$2" "$said.json" > /dev/null || fail "$(jq -c '{deadlocked, suspected_peak, releases, drops}' "$said.json") $(tail -n 5 "$said")"
    jq -r '"\(if .deadlocked then "locks" else "moves" end), \(.releases) releases, \([.drops[]] | add // 0) lost"' "$said.json"
}
# The book's chapter in /share/ten-minutes.md: its commands as they are, but for the installation, which was before the boot, and the
# rate of its rings, with the time within which the first release must come. Each exit status counts, except that an emulated machine may
# pause, which switchctl reports as degraded health by status 5.
ten_minutes() {
    local began=$SECONDS script=/root/ten-minutes.sh commands slow
    stop
    cd /root || fail "no home"
    blocks < /share/ten-minutes.md | sed '/^apt-get/d' > /root/commands
    commands=$(sed '/^ *#/d; /^$/d; /^    /d; /^done/d' /root/commands | wc -l)
    slow=$(echo $SLOW --set expect.breaker.first-release-within=5s)
    { echo 'set -eo pipefail; switchctl() { command switchctl "$@" || [ $? = 5 ]; }'; sed "s|scenarios/ring4.toml|& $slow|" /root/commands; } > $script
    [ "$(grep -c 4Mbit $script)" = 2 ] || fail "the chapter has other rings"
    bash $script > /tmp/ten-minutes 2>&1 || fail "$(tail -n 30 /tmp/ten-minutes)"
    grep -q SUSPECTED /tmp/ten-minutes || fail "nothing is suspected"
    grep -q 'first release after' /tmp/ten-minutes || fail "nothing is released"
    echo "$commands commands, $((SECONDS - began)) s"
}
# As packaging/elsewhere.sh reads them.
blocks() { sed -n '/^```sh/,/^```$/{/^```/d;p}; s/^<!-- before: \(.*\) -->$/\1/p'; }
no_warning() {
    ! dmesg | grep -E 'BUG:|WARNING:|Oops|Call Trace' || fail "$(dmesg | grep -E -A 20 'BUG:|WARNING:|Oops' | head -n 30)"
    echo none
}
