#!/bin/bash
# Tries the artefacts outside the system of the build. `cargo xtask dist --elsewhere` calls it, in a separate mount
# namespace: elsewhere.sh WORK PLACE PACKAGE.deb ARCHIVE.tar.gz CHAPTER.md MIRROR
#
# PLACE is bookworm, trixie or noble: a clean Debian 12 or 13, or Ubuntu 24.04, with the package and the archive, where the
# commands of the book's CHAPTER run as a new user would enter them; `nothing`: the archive on an empty file system, without a C
# library, a shell or anything else; or `aarch64`: the archive for that processor on an empty file system, run by qemu-user.
# WORK/figures has the results of this machine's programs; all places must give the same, byte for byte.
set -euo pipefail

work=$1 place=$2 package=$3 archive=$4 chapter=$5 mirror=$6
root=$work/$place
ns=weir-elsewhere-$$
daemon=

# shellcheck source=packaging/root.sh
. "$(dirname "$0")/root.sh"

cleanup() {
    [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null || true
    for name in $(ip netns list 2>/dev/null | cut -d ' ' -f 1); do
        case $name in "$ns"*) ip netns delete "$name" || true ;; esac
    done
}
trap cleanup EXIT

# As a new user: every block of commands of the chapter, in a separate network namespace.
ten_minutes() {
    local script=$root/root/ten-minutes.sh began=$SECONDS commands
    { echo 'set -eo pipefail; ip link set lo up'; blocks <"$chapter"; } >"$script"
    cp "$package" "$root/root/"
    commands=$(blocks <"$chapter" | sed '/^ *#/d; /^$/d; /^    /d; /^done/d' | wc -l)
    mkdir -p "$root/etc/apt"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    # Packages come over this machine's network, the rest happens in another one.
    sed '/^apt-get/!d' "$script" >"$root/root/install.sh"
    sed -i '/^apt-get/d' "$script"
    quietly in_root sh -ec 'cd /root; . ./install.sh'
    # `ip netns exec` requires a root that is a mount point.
    mount --rbind "$root" "$root"
    quietly unshare --net chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        timeout 300 bash -c 'cd /root; . ./ten-minutes.sh'
    say "$place: the book's ten minutes, from the package to a deadlock and its release: $commands commands, $((SECONDS - began)) s"
}
# The commands, and the book's waits where a person would look.
blocks() { sed -n '/^```sh/,/^```$/{/^```/d;p}; s/^<!-- before: \(.*\) -->$/\1/p'; }

# run PROGRAM ARGUMENT...: one of the archive's.
run() { chroot "$root" $emulator "$at/usr/$1" "${@:2}"; }

# A simulator computes the same on every machine.
figures() {
    local made=$work/figures-$place name scenario
    rm -rf "$made"
    mkdir -p "$made"
    # A figure's name is that of the scenario and, behind @, until when it ran.
    for figure in "$work"/figures/*.json; do
        name=$(basename "$figure" .json)
        scenario=$at/usr/share/weir/scenarios/${name%@*}.toml
        # An expectation of the whole duration need not hold earlier.
        run bin/weir-sim run "$scenario" --until "${name#*@}" --quiet --json /figure.json >>"$root.log" 2>&1 || true
        mv "$root/figure.json" "$made/$name.json" || fail "$name: no figures"
        cmp "$made/$name.json" "$figure" || fail "$name: other figures than on the machine that built it"
    done
    say "$place: $(find "$made" -name '*.json' | wc -l) runs of the simulator, byte for byte those of the machine that built it"
}

# A switch of the archive's programs between two namespaces.
forwards() {
    local n
    ip netns add "$ns"
    for n in 1 2; do
        ip netns add "$ns-$n"
        ip link add "port$n" netns "$ns" type veth peer name eth0 netns "$ns-$n"
        ip -n "$ns" link set "port$n" up
        ip -n "$ns-$n" addr add "10.0.0.$n/24" dev eth0
        ip -n "$ns-$n" link set eth0 up
        ip netns exec "$ns-$n" ethtool -K eth0 tx off >/dev/null
    done
    ip -n "$ns" link set lo up
    nsenter --net="/run/netns/$ns" chroot "$root" "$at/usr/bin/switchctl" --name first config init --port port1=1Gbit \
        --port port2=1Gbit >"$root/first.toml"
    run bin/switchctl config check /first.toml >>"$root.log"
    nsenter --net="/run/netns/$ns" chroot "$root" "$at/usr/sbin/weir-switchd" --config /first.toml >>"$root.log" 2>&1 &
    daemon=$!
    local deadline=$((SECONDS + 60))
    until run bin/switchctl status >>"$root.log" 2>&1; do
        [ $SECONDS -lt $deadline ] || fail "the switch does not answer"
        read -rt 0.1 <> <(:) || true
    done
    quietly ip netns exec "$ns-1" ping -q -c 5 -i 0.2 -W 5 10.0.0.2
    kill "$daemon"
    wait "$daemon" || fail "SIGTERM: status $?"
    daemon=
    say "$place: a switch of the archive's programs forwards and ends clean"
}

emulator=
at=
case $place in
bookworm | trixie | noble)
    say "$place: making a clean one"
    rm -rf "$root"
    case $place in
    noble) make_root noble "$mirror" --components=main,universe --keyring="$work/ubuntu.gpg" ;;
    *) make_root "$place" "$mirror" ;;
    esac
    at=/opt/weir
    ;;
nothing | aarch64)
    rm -rf "$root"
    mkdir -p "$root"/{proc,sys,run,tmp,etc,dev}
    : >"$root.log"
    mount_root
    # As container runtimes provide it.
    mount --bind /dev "$root/dev"
    ;;
esac
mkdir -p "$root$at"
tar --extract --gzip --file "$archive" --strip-components=1 --directory "$root$at"
if [ "$place" = aarch64 ]; then
    cp "$(command -v qemu-aarch64-static)" "$root/qemu"
    emulator=/qemu
fi
for program in sbin/weir-switchd bin/switchctl bin/weir-plan sbin/weir-host bin/weir-page bin/weir-sim bin/weir-lab; do
    run "$program" --version >>"$root.log" || fail "$program does not run"
done
run sbin/weir-endpoint --help >>"$root.log" || fail "weir-endpoint does not run"
sed -e '/^#\[\[port\]\]/,/^$/s/^#//' "$root$at/etc/weir/switchd.toml" >"$root/two-ports.toml"
run sbin/weir-switchd --check --config /two-ports.toml >>"$root.log" || fail "--check refuses two ports"
code=0
run sbin/weir-switchd --check --config "$at/etc/weir/switchd.toml" >>"$root.log" 2>&1 || code=$?
[ $code = 2 ] || fail "--check takes a configuration without ports: status $code"
say "$place: every program of the archive runs; --check tells a good configuration from a bad one"
figures
# An emulator forwards no calls for BPF.
[ "$place" = aarch64 ] || forwards
case $place in
bookworm | trixie | noble) ten_minutes ;;
esac
rm -rf --one-file-system "$work/figures-$place"
