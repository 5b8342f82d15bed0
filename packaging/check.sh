#!/bin/bash
# Installs, runs, upgrades and purges Weir's Debian package in a clean Debian 12. `cargo xtask dist --check` calls it,
# in a mount namespace of its own: check.sh ROOT OLD.deb NEW.deb
#
# There is no systemd in the root. The daemon starts as its unit has it as far as that can be had without: after
# --prepare, in a slave mount namespace, with the unit's group, capabilities and no new privileges.
set -euo pipefail

root=$1 old=$2 new=$3
ns=weir-dist-$$
config=$root/etc/weir/switchd.toml
run_dir=$root/run/weir/switch
daemon=

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() { echo "check.sh: $*" >&2; [ ! -s "$root.log" ] || tail -n 20 "$root.log" >&2; exit 1; }
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
quietly() { "$@" >>"$root.log" 2>&1 || fail "failed: $*"; }
until_true() {
    local deadline=$((SECONDS + 60))
    until "$@" >>"$root.log" 2>&1; do
        [ $SECONDS -lt $deadline ] || fail "not within a minute: $*"
        read -rt 0.1 <> <(:) || true
    done
}
cleanup() {
    [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null || true
    for name in "$ns" "$ns-1" "$ns-2"; do ip netns delete "$name" 2>/dev/null || true; done
}
trap cleanup EXIT

# Every path that a package may leave something at, and the groups.
listing() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./run -o -path ./dev -o -path ./tmp -o -path ./var/cache \
        -o -path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./etc/ld.so.cache \
        -o -path './etc/*-' \) -prune -o -print | sort; cat etc/group)
}
status() { in_root switchctl --socket /run/weir/switch/api.sock status; }
start() {
    # As ExecStartPre=+, then ExecStart= in the unit's sandbox.
    quietly nsenter --net="/run/netns/$ns" chroot "$root" weir-switchd --prepare
    nsenter --net="/run/netns/$ns" unshare --mount --propagation slave \
        chroot "$root" setpriv --regid weir --clear-groups --no-new-privs \
        --bounding-set=-all,+net_admin,+net_raw,+bpf,+perfmon,+sys_admin,+ipc_lock \
        weir-switchd >>"$root.log" 2>&1 &
    daemon=$!
    until_true status
}
pings() { ip netns exec "$ns-1" ping -q -c 3 -i 0.2 -W 5 10.0.0.2; }

say "making a clean Debian"
debootstrap --variant=minbase bookworm "$root" http://deb.debian.org/debian >"$root.log" 2>&1 || fail "debootstrap failed"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs tmpfs "$root/run"
quietly in_root apt-get --quiet update
cp "$old" "$root/tmp/old.deb"
cp "$new" "$root/tmp/new.deb"
listing >"$root.before"

quietly in_root apt-get install --yes --no-install-recommends /tmp/old.deb
version=$(in_root dpkg-query -W -f '${Version}' weir)
say "installed weir $version: $(du -h "$old" | cut -f1), $(in_root dpkg -L weir | wc -l) paths, $(in_root dpkg-query -W -f '${Depends}' weir)"
in_root weir-switchd --version
in_root switchctl --help >/dev/null
for file in man/man8/weir-switchd.8.gz man/man1/switchctl.1.gz man/man1/switchctl-pfc.1.gz; do
    gzip -t "$root/usr/share/$file" || fail "$file"
done
for file in bash-completion/completions/switchctl zsh/vendor-completions/_switchctl weir/prometheus/weir.rules.yml \
    weir/grafana/weir-fabric.json weir/wireshark/weir.lua; do
    [ -s "$root/usr/share/$file" ] || fail "$file is missing"
done
in_root getent group weir >/dev/null || fail "no group weir"
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
say "runs from the installed files and forwards"

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

mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s /lib/systemd/system/weir-switchd@.service "$root/etc/systemd/system/multi-user.target.wants/weir-switchd@s1.service"
quietly in_root apt-get remove --yes weir
[ -e "$config" ] && [ ! -e "$root/usr/sbin/weir-switchd" ] || fail "remove takes the programs and leaves the configuration"
quietly in_root apt-get purge --yes --autoremove weir
rmdir -p "$root/etc/systemd/system/multi-user.target.wants" 2>/dev/null || true
listing | diff "$root.before" - || fail "the purge leaves (>) or takes (<) what is told above"
say "removed and purged: nothing is left"
