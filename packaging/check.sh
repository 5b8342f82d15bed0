#!/bin/bash
# Installs, runs, upgrades and purges Weir's Debian package in a clean Debian 12. `cargo xtask dist --check` calls it,
# in a separate mount namespace: check.sh ROOT OLD.deb NEW.deb MIRROR
#
# First without an init: the daemon starts as in its unit, as far as possible, after --prepare, in a slave
# mount namespace, with the unit's group, capabilities and no new privileges. Then the root's own systemd is booted as
# process 1 of a container, and runs the unit; its writes to the root are discarded with it.
set -euo pipefail

root=$1 old=$2 new=$3 mirror=$4
ns=weir-dist-$$
config=$root/etc/weir/switchd.toml
run_dir=$root/run/weir/switch
daemon=
container=
# CHOWN, NET_ADMIN, NET_RAW, IPC_LOCK, PERFMON and BPF: the capabilities from the units that the daemon keeps. SYS_ADMIN, SETUID, SETGID
# and KILL, which it gives up, stay in its bounding set: to change that requires a capability that the units do not give.
capabilities=000000c000007001
bounding=000000c0002070e1

# shellcheck source=packaging/root.sh
. "$(dirname "$0")/root.sh"
until_true() {
    local deadline=$((SECONDS + 120))
    until "$@" >>"$root.log" 2>&1; do
        [ $SECONDS -lt $deadline ] || fail "not within two minutes: $*"
        read -rt 0.1 <> <(:) || true
    done
}
# Only the journal has the reason why a unit does not start.
journal() { [ -z "$container" ] || in_system journalctl --quiet --no-pager --lines=40 --unit=weir-switchd >&2 || true; }
cleanup() {
    [ $? = 0 ] || journal
    [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null || true
    # Its process 1 dies with it, and all other processes with process 1.
    [ -z "$container" ] || kill -9 "$container" 2>/dev/null || true
    for name in "$ns" "$ns-1" "$ns-2"; do ip netns delete "$name" 2>/dev/null || true; done
}
trap cleanup EXIT

# Every path that a package may leave something at, the groups and the users.
listing() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./run -o -path ./dev -o -path ./tmp -o -path ./var/cache \
        -o -path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./etc/ld.so.cache \
        -o -path './etc/*-' \) -prune -o -print | sort; cat etc/group etc/passwd)
}
status() { in_root switchctl --socket /run/weir/switch/api.sock status; }
start() {
    # As ExecStartPre=+, then ExecStart= in the unit's sandbox.
    quietly nsenter --net="/run/netns/$ns" chroot "$root" weir-switchd --prepare
    nsenter --net="/run/netns/$ns" unshare --mount --propagation slave \
        chroot "$root" setpriv --regid weir --clear-groups --no-new-privs \
        --bounding-set=-all,+net_admin,+net_raw,+bpf,+perfmon,+sys_admin,+ipc_lock,+chown,+setuid,+setgid,+kill \
        weir-switchd >>"$root.log" 2>&1 &
    daemon=$!
    until_true status
}
boot() {
    local scope=()
    # A machine without systemd cannot make a scope.
    [ -d /run/systemd/system ] || scope=(--keep-unit)
    # Its filter lacks system calls that the daemon needs; the unit's own filter is under test.
    systemd-nspawn --quiet --register=no "${scope[@]}" --directory="$root" --volatile=overlay --boot \
        --network-namespace-path="/run/netns/$ns" --private-users=no --capability=all \
        --system-call-filter="bpf perf_event_open" --console=pipe >>"$root.log" 2>&1 </dev/null &
    container=$!
    until_true in_system systemctl is-active --quiet multi-user.target
}
in_system() {
    local init
    init=$(pgrep -P "$container" | head -n 1) || true
    [ -n "$init" ] || return 1
    nsenter --target "$init" --mount --uts --ipc --net --pid --cgroup --root --wd \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
}
of_unit() { in_system systemctl show --property "$1" --value weir-switchd; }
# The one that the keeper has started.
# A small Debian has no pgrep.
switch_of() {
    in_system sh -c "grep -ls '^PPid:[[:space:]]*$1\$' /proc/[0-9]*/status" | cut -d / -f 3 | head -n 1
}
journal_has() {
    local text=$1
    shift
    in_system journalctl --quiet --output=json --unit=weir-switchd SYSLOG_IDENTIFIER=weir-switchd "$@" | grep -F "$text"
}
# Becoming ready counts as a beat.
has_beaten() { [ "$(of_unit WatchdogTimestampMonotonic)" -gt "$(of_unit ActiveEnterTimestampMonotonic)" ]; }
is_restarted() { [ "$(of_unit NRestarts)" = 1 ] && [ "$(of_unit ActiveState)" = active ]; }
pings() { ip netns exec "$ns-1" ping -q -c 3 -i 0.2 -W 5 10.0.0.2; }

say "making a clean Debian"
make_root bookworm "$mirror" --include=systemd,systemd-sysv,dbus
cp "$old" "$root/tmp/old.deb"
cp "$new" "$root/tmp/new.deb"
listing >"$root.before"

quietly in_root apt-get install --yes --no-install-recommends /tmp/old.deb
version=$(in_root dpkg-query -W -f '${Version}' weir)
say "installed weir $version: $(du -h "$old" | cut -f1), $(in_root dpkg -L weir | wc -l) paths, $(in_root dpkg-query -W -f '${Depends}' weir)"
in_root weir-switchd --version
in_root switchctl --help >/dev/null
in_root switchctl plan --help >/dev/null
in_root weir-host --version
in_root weir-page --version
in_root weir-endpoint reflect --help >/dev/null
for file in man/man8/weir-switchd.8.gz man/man5/weir-switchd.toml.5.gz man/man1/switchctl.1.gz man/man1/switchctl-pfc.1.gz \
    man/man1/weir-plan.1.gz man/man1/weir-plan-compare.1.gz man/man1/weir-host.1.gz man/man1/weir-host-attach.1.gz \
    man/man1/weir-host-plug.1.gz man/man1/weir-host-push-back.1.gz man/man1/weir-page.1.gz; do
    gzip -t "$root/usr/share/$file" || fail "$file"
done
for file in bash-completion/completions/{switchctl,weir-plan,weir-host,weir-page} zsh/vendor-completions/_{switchctl,weir-plan,weir-host,weir-page} weir/prometheus/weir.rules.yml \
    weir/grafana/weir-fabric.json weir/wireshark/weir.lua; do
    [ -s "$root/usr/share/$file" ] || fail "$file is missing"
done
# Debian's minimal images leave documentation out; this one does not, so the pages that alerts name are there.
links=0
while read -r page anchor; do
    grep -q "id=\"$anchor\"" "$root/$page" || fail "$page has no $anchor, to which an alert points"
    links=$((links + 1))
done < <(sed -n 's|.*runbook_url: "file://\(.*\)#\(.*\)"|\1 \2|p' "$root/usr/share/weir/prometheus/weir.rules.yml")
[ "$links" -gt 0 ] || fail "no alert points to the book"
say "the book: $links alerts point to sections that are there, $(find "$root/usr/share/doc/weir/book" -name '*.html' | wc -l) pages"
for unit in weir-host@ weir-host-plug@ weir-page; do
    in_root sh -c "cp /lib/systemd/system/$unit.service /tmp/${unit}lo.service && systemd-analyze verify --man=no /tmp/${unit}lo.service" || fail "$unit.service"
done
in_root getent group weir >/dev/null || fail "no group weir"
in_root getent group weir-read >/dev/null || fail "no group weir-read"
uid=$(in_root id -u weir) || fail "no user weir"
[ -z "$(find "$root/etc/systemd" -name 'weir*' 2>/dev/null)" ] || fail "the installation has enabled a unit"

code=0
in_root weir-switchd --check >"$root.check" 2>&1 || code=$?
[ $code = 2 ] && grep -q port "$root.check" || fail "without a port: status $code, $(cat "$root.check")"
sed -i -e '/^#\[\[port\]\]/,/^$/s/^#//' -e 's/"eth1"/"p1"/; s/"eth2"/"p2"/' "$config"
in_root weir-switchd --check
in_root switchctl config check /etc/weir/switchd.toml >/dev/null

ip netns add "$ns"
for n in 1 2; do
    ip netns add "$ns-$n"
    ip link add "p$n" netns "$ns" type veth peer name eth0 netns "$ns-$n"
    ip -n "$ns" link set "p$n" up
    ip -n "$ns-$n" addr add "10.0.0.$n/24" dev eth0
    ip -n "$ns-$n" link set eth0 up
    ip netns exec "$ns-$n" ethtool -K eth0 tx off >/dev/null
done
start
until_true pings
[ "$(stat -c %G:%a "$run_dir/api.sock")" = "$(stat -c %G "$run_dir/api.sock"):660" ] || fail "the socket's mode"
[ "$(stat -c %g "$run_dir/api.sock")" = "$(in_root getent group weir | cut -d: -f3)" ] || fail "the socket's group"
grep -q "^Uid:	$uid	$uid	$uid	$uid\$" "/proc/$daemon/status" || fail "the daemon is not user weir"
say "runs from the installed files and forwards, as user weir"

kill -9 "$daemon"; wait "$daemon" 2>/dev/null || true
[ -n "$(ls "$run_dir/bpf")" ] || fail "the XDP programs did not outlive the daemon"
start
until_true pings
say "killed: its XDP programs stay pinned; started again, it takes over"

cp "$config" "$root.config"
quietly in_root apt-get install --yes --no-install-recommends /tmp/new.deb
upgraded=$(in_root dpkg-query -W -f '${Version}' weir)
in_root dpkg --compare-versions "$upgraded" gt "$version" || fail "$upgraded is not above $version"
cmp "$config" "$root.config" || fail "the upgrade has changed the configuration"
kill -0 "$daemon" || fail "the upgrade has ended the daemon"
quietly pings
kill -TERM "$daemon"; wait "$daemon" || fail "SIGTERM: status $?"
[ ! -e "$run_dir" ] || fail "left behind: $(ls -R "$run_dir")"
start
until_true pings
kill -TERM "$daemon"; wait "$daemon" || fail "SIGTERM: status $?"
daemon=
[ ! -e "$run_dir" ] || fail "left behind: $(ls -R "$run_dir")"
say "upgraded to $upgraded: the configuration kept, the daemon went on forwarding, the new one runs too and ends clean"

boot
# It ends when the daemon has reported that it is ready.
quietly in_system systemctl enable --now weir-switchd
[ "$(of_unit ActiveState)" = active ] || fail "the unit is $(of_unit ActiveState)"
quietly in_system switchctl --socket /run/weir/switch/api.sock status
until_true pings
main=$(of_unit MainPID)
switch=$(switch_of "$main")
in_system cat "/proc/$switch/status" >"$root.status"
for line in "Uid:	$uid	$uid	$uid	$uid" "NoNewPrivs:	1" "CapEff:	$capabilities" "CapBnd:	$bounding" "Seccomp:	2"; do
    grep -qx "$line" "$root.status" || fail "in force is not $line: $(cat "$root.status")"
done
! in_system nsenter --target "$switch" --mount touch /usr/weir 2>>"$root.log" || fail "the daemon may write to /usr"
in_system systemd-analyze security --no-pager --threshold=40 weir-switchd >"$root.security" || fail "$(cat "$root.security")"
until_true journal_has 'port attached' WEIR_PORT=p1 PRIORITY=6
quietly in_system sed -i 's/^policy = "breaker"/policy = "off"/' /etc/weir/switchd.toml
quietly in_system systemctl reload weir-switchd
until_true journal_has 'setting changed' WEIR_KEY=deadlock.policy
[ "$(of_unit MainPID)" = "$main" ] || fail "a reload is no restart"
quietly pings
say "under systemd: ready, in its sandbox ($(tail -n 1 "$root.security" | grep -oE '[0-9]+\.[0-9]+ [A-Z]+')), logs with fields, reloads"

quietly in_system switchctl --socket /run/weir/switch/api.sock restart
[ "$(of_unit MainPID)" = "$main" ] && [ "$(of_unit ActiveState)" = active ] || fail "a restart by the keeper is none of the unit"
[ "$(switch_of "$main")" != "$switch" ] || fail "the switch is the same"
until_true pings
say "under systemd: started anew by its keeper, the unit goes on"

until_true has_beaten
switch=$(switch_of "$main")
quietly in_system sh -c "kill -STOP $switch"
until_true is_restarted
in_system journalctl --quiet --unit=weir-switchd | grep -q "Failed with result 'watchdog'" || fail "not the watchdog has ended it"
until_true pings
say "under systemd: stopped short, it is ended by the watchdog, started again, and forwards"

quietly in_system systemctl stop weir-switchd
[ "$(of_unit Result)" = success ] || fail "the unit's result is $(of_unit Result)"
! in_system test -e /run/weir/switch || fail "left behind: $(in_system ls -R /run/weir)"
kill -TERM "$container"; wait "$container" || true
container=
say "under systemd: stopped, and nothing is left"

mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s /lib/systemd/system/weir-switchd@.service "$root/etc/systemd/system/multi-user.target.wants/weir-switchd@s1.service"
ln -s /lib/systemd/system/weir-host-plug@.service "$root/etc/systemd/system/multi-user.target.wants/weir-host-plug@eth1.service"
quietly in_root apt-get remove --yes weir
[ -e "$config" ] && [ ! -e "$root/usr/sbin/weir-switchd" ] || fail "remove takes the programs and leaves the configuration"
quietly in_root apt-get purge --yes --autoremove weir
rmdir -p "$root/etc/systemd/system/multi-user.target.wants" 2>/dev/null || true
listing | diff "$root.before" - || fail "the purge leaves (>) or takes (<) what is listed above"
say "removed and purged: nothing is left"
