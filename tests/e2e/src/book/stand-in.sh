#!/bin/bash
# Stands for a program while the book's commands run, under the program's name.
set -eu
name=${0##*/}
real=/run/weir-bin/$name

# Has the parser look at a command line, and notes that no more was done.
parsed() {
    local before=() said=("$name" "$@")
    [ "$1" = xtask ] && shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        before+=("$1")
        shift
    done
    "$real" "${before[@]}" --help "$@" > /dev/null
    echo "${said[*]}" >> /run/book/.parsed
}

# Packages and targets that are named are there.
cargo_knows() {
    local said=("$name" "$@") package=
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        case $1 in
        -p | --package)
            package=$2
            jq -e --arg p "$2" 'any(.packages[]; .name == $p)' /run/book/.metadata.json > /dev/null ||
                { echo "no package $2"; exit 101; }
            shift
            ;;
        --test | --example | --bench | --bin)
            jq -e --arg p "$package" --arg k "${1#--}" --arg t "$2" \
                'any(.packages[] | select(.name == $p).targets[]; .name == $t and (.kind | index($k)))' \
                /run/book/.metadata.json > /dev/null ||
                { echo "no ${1#--} $2 of package $package"; exit 101; }
            shift
            ;;
        --release | --workspace) ;;
        -*)
            echo "cargo $1: not known here"
            exit 101
            ;;
        esac
        shift
    done
    echo "${said[*]}" >> /run/book/.parsed
}

case "$name ${1-} ${2-}" in
"sudo "*) exec "$@" ;;
"cargo xtask sim")
    shift 2
    exec "${0%/*}/weir-sim" "$@"
    ;;
"cargo xtask lab")
    shift 2
    exec "${0%/*}/weir-lab" run "$@"
    ;;
"cargo xtask dashboards")
    shift
    exec /run/weir-bin/xtask "$@"
    ;;
"cargo xtask "*)
    real=/run/weir-bin/xtask
    parsed "$@"
    exit
    ;;
"cargo build "* | "cargo test "* | "cargo bench "* | "cargo run "*)
    cargo_knows "$@"
    exit
    ;;
"cargo "*)
    echo "cargo $1: not known here"
    exit 101
    ;;
"tail "* | "curl "*) real=/usr/bin/$name ;;
esac

if [ -n "${WEIR_BOOK_PARSED-}" ]; then
    parsed "$@"
    exit
fi

if [ "$name ${1-}" = "weir-lab run" ]; then
    for value in ${WEIR_BOOK_SET-}; do
        set -- "$@" --set "$value"
    done
fi

# What goes on for ever is well when it still does after a while.
case " $* " in
*" -f "* | *" --follow "* | *" --watch"*) is_endless=yes ;;
*" --count "* | *" --duration "* | *'"duration_seconds"'*) is_endless= ;;
*" capture "* | *"/v1/captures "*) is_endless=yes ;;
*) is_endless= ;;
esac
if [ -n "$is_endless" ]; then
    timeout -s INT 3 "$real" "$@" || [ $? = 124 ]
    exit
fi
exec "$real" "$@"
