# SPDX-License-Identifier: Apache-2.0
# lib.sh - every end-to-end test starts with it: `. "$(dirname "$0")/lib.sh"`
#
# A test is a script of sentences: `ok 'what holds' command...` runs the command and prints
# one line of TAP.  Each script has its own directory, home and platform on a free port.  When
# it ends, everything is stopped and removed; a process that is left over fails the test.
#
# Sentences
#   ok SENTENCE COMMAND...          the command succeeds
#   fails CODE SENTENCE COMMAND...  it ends with that exit code
#   says TEXT, says_not TEXT        the last command's output contains TEXT, or does not
#   says_line TEXT                  one whole line of it is TEXT
#   same SENTENCE WANTED GOT        two texts are equal
#   soon SENTENCE COMMAND...        it succeeds within 30 s
#   skip SENTENCE WHY               cannot be tested here
#   need PROGRAM...                 skips the whole script if a program is missing
#   need_tensorflow                 ... or if TensorFlow is missing.  After it `python3` has
#                                   TensorFlow, also in tasks; call it before `platform`
#   need_torch                      the same with PyTorch
#   need_signin                     ... or if the identity provider of the tests is missing
# tools/run-tests counts a script that is skipped as a whole as failed.
#
# Things
#   platform [ARGS...]          starts `det serve` (with ARGS) and waits for it
#   folder NAME < script        a folder NAME with an executable run.sh and a const.yaml
#   create NAME [ARGS...]       submits that folder; $ID is its number
#   state ID                    prints the state of an experiment
#   is_state STATE ID           ... compares it
#   url [DIR]                   prints the address of the master that keeps its data there
#   api METHOD PATH [BODY]      calls it (logged in); prints the body, then the status
#   until_true COMMAND...       repeats the command until it succeeds (30 s at most)
#   slay PID                    kills it with SIGKILL and waits until it is dead
#   is_dead PID                 whether the process is dead; it need not be a child
#   ours                        prints the processes that this script has started
#   as_nobody ARGS...           runs `det ARGS...` as a user who is not root
#
# Variables that a script sets before it reads this file
#   IN_MEMORY=1                 its files are in memory, if there is room: it does not wait for
#                               the disk
#   ORDINARY_USER=1             it runs as a user who is not root: nobody, if root starts it
#   E2E_ISOLATION=always        `platform` isolates its tasks; they see the script's files only
#                               if TMPDIR is not below /tmp
set -u
DET=${DET:?DET must name the program}
PATH=$(dirname "$DET"):$PATH
export DET_CHECK_INVARIANTS=1 # every master checks its core after every event
HERE=$(cd "$(dirname "$0")" && pwd)
# Runs a copy of the script as nobody: the tree may be in a directory that only its owner may enter.
if [ -n "${ORDINARY_USER-}" ] && [ "$(id -u)" = 0 ]; then
    copy=$(mktemp -d)
    cp "$DET" "$HERE"/*.sh "$copy"
    chmod 755 "$copy" "$copy"/*
    (cd "$copy" && HOME=/nonexistent PATH=/usr/local/bin:/usr/bin:/bin DET=$copy/$(basename "$DET") \
        setpriv --reuid=65534 --regid=65534 --clear-groups sh "$copy/$(basename "$0")")
    code=$?
    rm -rf "$copy"
    exit $code
fi
# Whether memory has room for files, and programs may be run there.
in_memory() {
    [ "$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')" -gt 1000000 ] 2>/dev/null || return 1
    try=$(mktemp /dev/shm/det-e2e.XXXXXX) || return 1
    printf '#!/bin/sh\n' >"$try"
    chmod +x "$try"
    "$try" 2>/dev/null
    set -- $?
    rm -f "$try"
    return "$1"
}
[ -z "${IN_MEMORY-}" ] || [ -n "${TMPDIR-}" ] || ! in_memory || TMPDIR=/dev/shm
T=$(mktemp -d "${TMPDIR:-/tmp}/det-e2e.XXXXXX")
HOME=$T/home
XDG_DATA_HOME=$HOME/data
XDG_CONFIG_HOME=$HOME/config
DATA=$XDG_DATA_HOME/det
NO_COLOR=1
export PATH HOME XDG_DATA_HOME XDG_CONFIG_HOME NO_COLOR
unset DET_MASTER DET_USER DET_PASS DET_USER_TOKEN DET_SESSION_TOKEN 2>/dev/null || true
mkdir -p "$HOME"
cd "$T" || exit 99
COUNT=0
FAILED=0
ID=0
OUT=$T/out
TOKEN=
: >"$OUT"

# Finds them by their home: no other platform of this machine has it, and a process keeps it in a
# session of its own.
ours() {
    (
        HOME=/ # not grep and cut
        grep -lzsxF "HOME=$T/home" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3
    )
}

# A zombie is dead, but not while one of its threads still ends and holds its files.
is_dead() {
    ! kill -0 "$1" 2>/dev/null && return
    grep -q ') [ZX] ' "/proc/$1/stat" 2>/dev/null && [ "$(ls "/proc/$1/task" | wc -l)" -le 1 ]
}

# Root runs a copy as nobody: the build may be in a directory that only its owner may enter.
as_nobody() {
    if [ "$(id -u)" != 0 ]; then
        env HOME=/nonexistent "$DET" "$@"
        return
    fi
    cp "$DET" "$T/det-of-all"
    chmod 755 "$T" "$T/det-of-all"
    setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent "$T/det-of-all" "$@"
}

slay() {
    kill -9 "$1"
    until_true is_dead "$1"
}

is_alone() { [ -z "$(ours)" ]; }

finish() {
    code=$?
    det stop >/dev/null 2>&1 || true
    tries=0
    until is_alone || [ $tries -ge 400 ]; do # tasks may save when they are told to stop
        tries=$((tries + 1))
        sleep 0.05
    done
    left=$(ours)
    if [ -n "$left" ]; then
        # shellcheck disable=SC2086 # several numbers
        ps -o pid,args -p $(echo $left | tr ' ' ',') | sed 's/^/# left over: /'
        # shellcheck disable=SC2086
        kill -9 $left 2>/dev/null || true
        COUNT=$((COUNT + 1))
        FAILED=$((FAILED + 1))
        echo "not ok $COUNT - no process is left over"
    fi
    if [ "$FAILED" != 0 ]; then
        tail -n 20 "$DATA/master.log" "$DATA/agent.log" 2>/dev/null | sed 's/^/# /'
    fi
    echo "1..$COUNT"
    cd / && rm -rf "$T"
    [ "$code" = 0 ] && [ "$FAILED" = 0 ] || exit 1
    exit 0
}
trap finish EXIT
trap 'exit 1' INT TERM

# ---- sentences

result() {
    COUNT=$((COUNT + 1))
    if [ "$1" = 0 ]; then
        echo "ok $COUNT - $2"
    else
        FAILED=$((FAILED + 1))
        echo "not ok $COUNT - $2"
        sed 's/^/#   /' "${3:-$OUT}" 2>/dev/null | head -"${E2E_LINES:-40}"
    fi
}

ok() {
    sentence=$1
    shift
    "$@" >"$OUT" 2>&1
    result $? "$sentence"
}

fails() {
    want=$1
    sentence=$2
    shift 2
    "$@" >"$OUT" 2>&1
    got=$?
    [ "$got" = "$want" ] || echo "exit code $got, not $want" >>"$OUT"
    [ "$got" = "$want" ]
    result $? "$sentence"
}

says() {
    grep -qF -- "$1" "$OUT"
    result $? "... and says '$1'"
}

says_not() {
    ! grep -qF -- "$1" "$OUT"
    result $? "... and does not say '$1'"
}

says_line() {
    grep -qxF -- "$1" "$OUT"
    result $? "... and says the line '$1'"
}

same() {
    printf 'wanted: %s\ngot:    %s\n' "$2" "$3" >"$T/same"
    [ "$2" = "$3" ]
    result $? "$1" "$T/same"
}

soon() {
    sentence=$1
    shift
    until_true "$@"
    code=$?
    [ $code = 0 ] || "$@" >"$OUT" 2>&1
    result $code "$sentence"
}

skip() {
    COUNT=$((COUNT + 1))
    echo "ok $COUNT - $1 # SKIP $2"
}

need() {
    for program in "$@"; do
        command -v "$program" >/dev/null && continue
        skip_all "$program is not here"
    done
}

skip_all() {
    trap - EXIT
    cd / && rm -rf "$T"
    echo "1..0 # SKIP $1"
    exit 0
}

# Puts the environment of tests/requirements.txt first on PATH.  The data sets of Keras are generated
# and small (determined.keras.datasets); one thread makes the results repeatable.  Tasks get these
# variables too: the agent passes its environment on.
need_tensorflow() {
    need python3
    build=$(cd "$(dirname "$DET")" && pwd)
    "$HERE/../../tools/venv" "$build/venv" >"$T/venv" 2>&1 || {
        sed 's/^/# /' "$T/venv"
        skip_all 'TensorFlow could not be installed'
    }
    PATH=$build/venv/bin:$PATH
    export PATH
    export TF_CPP_MIN_LOG_LEVEL=2 TF_ENABLE_ONEDNN_OPTS=0 OMP_NUM_THREADS=1
    export DRAWN_DATA="${DRAWN_DATA-1000}"
}

# A small environment with an OpenID Connect provider; $SIGNIN_PYTHON runs it.
need_signin() {
    need python3
    build=$(cd "$(dirname "$DET")" && pwd)
    "$HERE/../../tools/venv" "$build/venv-signin" "$HERE/signin/requirements.txt" >"$T/venv" 2>&1 || {
        sed 's/^/# /' "$T/venv"
        skip_all 'the packages of tests/e2e/signin could not be installed'
    }
    SIGNIN_PYTHON=$build/venv-signin/bin/python3
}

# The same environment has PyTorch.
need_torch() {
    need_tensorflow
    [ -d "$build"/venv/lib/python3*/site-packages/torch ] || skip_all 'PyTorch could not be installed'
}

# ---- things

platform() {
    TOKEN=
    if [ -n "${E2E_ISOLATION-}" ]; then
        printf 'master_host: 127.0.0.1\ntask_isolation: %s\n' "$E2E_ISOLATION" >"$T/isolation.yaml"
        set -- --agent-config "$T/isolation.yaml" "$@"
    fi
    det serve --background --port "${PORT:-0}" "$@" >"$T/serve.out" 2>&1 || {
        sed 's/^/# /' "$T/serve.out"
        echo "Bail out! the platform did not start"
        exit 1
    }
}

folder() {
    mkdir -p "$1"
    cat >"$1/run.sh"
    chmod +x "$1/run.sh"
    cat >"$1/const.yaml" <<END
name: $1
entrypoint: ./run.sh
searcher: {name: single, metric: loss}
hyperparameters: {lr: 0.1}
max_restarts: 0
END
}

create() {
    create_in=$1
    shift
    det e create "$create_in/const.yaml" "$create_in" "$@" >"$T/created" 2>&1
    create_code=$?
    cat "$T/created"
    ID=$(sed -n 's/^Created experiment //p' "$T/created")
    return $create_code
}

state() {
    det e list -a --csv | sed -n "s/^$1,[^,]*,\([A-Z_]*\),.*/\1/p"
}

is_state() { [ "$(state "$2")" = "$1" ]; }

url() { sed -n 's/.*"url": *"\([^"]*\)".*/\1/p' "${1:-$DATA}/master.json"; }

login() {
    curl -s -X POST "$(url)/api/v1/auth/login" \
        -d "{\"username\":\"${1:-determined}\",\"password\":\"${2:-}\",\"isHashed\":false}" |
        sed -n 's/.*"token": *"\([^"]*\)".*/\1/p'
}

api() {
    [ -n "$TOKEN" ] || TOKEN=$(login)
    curl -s -w '\n%{http_code}\n' -X "$1" -H "Authorization: Bearer $TOKEN" \
        "$(url)$2" ${3+--data-binary "$3"}
}

until_true() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 2400 ] || return 1
        sleep 0.05
    done
}
