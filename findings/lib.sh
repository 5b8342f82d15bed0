# Functions shared by the scripts of this folder; sourced, not run.
#
# A script installs pinned packages below $tmp, runs them on input that it makes, and compares what it sees with the
# behaviour described in its header: `same`. Exit codes: 0 as described, 1 changed, 3 packages or kernel not to be had.
set -u
export LC_ALL=C TZ=UTC PYTHONWARNINGS=ignore
tmp=$(mktemp -d) || exit 3
trap 'rm -rf "$tmp"' EXIT
trap 'exit 3' HUP INT TERM
export HOME="$tmp"
cd "$tmp" || exit 3

# Reports why the script cannot run here.
unavailable() {
    echo "not run: $*" >&2
    exit 3
}

# Installs the pinned packages in a virtual environment; `python` then runs in it.
pip_packages() {
    timeout 60 python3 -m venv "$tmp/venv" >"$tmp/log" 2>&1 || unavailable "python3 -m venv: $(tail -n 1 "$tmp/log")"
    timeout 240 "$tmp/venv/bin/pip" install --quiet --no-input --no-deps --only-binary :all: "$@" >"$tmp/log" 2>&1 ||
        unavailable "pip install $*: $(tail -n 1 "$tmp/log")"
}

python() {
    timeout 60 "$tmp/venv/bin/python" "$@"
}

# Downloads the named versions of Debian packages, with the dependencies that this machine lacks, and unpacks them
# below $tmp/root. Nothing is installed.
apt_packages() {
    mkdir -p "$tmp/debs/partial" "$tmp/root"
    timeout 240 apt-get -qq -y --no-install-recommends --download-only --reinstall -o Debug::NoLocking=1 \
        -o "Dir::Cache::archives=$tmp/debs" -o APT::Sandbox::User= --allow-downgrades install "$@" >"$tmp/log" 2>&1 ||
        unavailable "apt-get install --download-only $*: $(tail -n 1 "$tmp/log")"
    for deb in "$tmp"/debs/*.deb; do
        dpkg-deb -x "$deb" "$tmp/root" 2>"$tmp/log" || unavailable "dpkg-deb -x $deb: $(tail -n 1 "$tmp/log")"
    done
    PATH="$tmp/root/usr/sbin:$tmp/root/sbin:$tmp/root/usr/bin:$tmp/root/bin:$PATH"
    for folder in "$tmp/root/usr/lib/"*-linux-gnu "$tmp/root/lib/"*-linux-gnu; do
        [ ! -d "$folder" ] || LD_LIBRARY_PATH="$folder:${LD_LIBRARY_PATH:-}"
    done
    export PATH LD_LIBRARY_PATH
}

# Writes capture.py, which builds pcapng files block by block, into $tmp.
capture_module() {
    cat >"$tmp/capture.py" <<'PYTHON'
import struct

SECOND = 1_700_000_000
FRAME = bytes.fromhex("0180c2000001020000000001880801010008") + struct.pack(">8H", 0, 0, 0, 65535, 0, 0, 0, 0) + bytes(26)


def padded(data):
    return data + bytes(-len(data) % 4)


def block(kind, body):
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def options(pairs):
    body = b"".join(struct.pack("<HH", code, len(value)) + padded(value) for code, value in pairs)
    return body + bytes(4) if pairs else b""


def section():
    return block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(*pairs):
    return block(1, struct.pack("<HHI", 1, 0, 0) + options(pairs))


def packet(index, ticks, *pairs):
    head = struct.pack("<IIIII", index, ticks >> 32, ticks & 0xFFFFFFFF, len(FRAME), len(FRAME))
    return block(6, head + padded(FRAME) + options(pairs))


def statistics(index, ticks, *pairs):
    return block(5, struct.pack("<III", index, ticks >> 32, ticks & 0xFFFFFFFF) + options(pairs))


def write(name, *blocks):
    with open(name, "wb") as file:
        file.write(section() + b"".join(blocks))
PYTHON
}

# Compares what was seen with the behaviour described.
same() {
    if [ "$1" = "$2" ]; then
        printf '%s\n' "$1" "as described"
        exit 0
    fi
    printf 'CHANGED. Seen:\n%s\nDescribed:\n%s\n' "$1" "$2"
    exit 1
}
