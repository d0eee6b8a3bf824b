# lib.sh - what every end-to-end test begins with: `. "$(dirname "$0")/lib.sh"`
#
# A test is a script of sentences: `ok 'what holds' command...` runs the command and prints
# one line of TAP.  Each script has a directory, a home and a platform of its own, on a free
# port; everything is taken down when it ends.
#
#   ok SENTENCE COMMAND...      the command succeeds
#   fails CODE SENTENCE COMMAND...  it ends with that exit code
#   says TEXT                   the last command's output contains TEXT
#   platform [ARGS...]          starts `det serve` (with ARGS) and waits for it
#   folder NAME < script        a folder NAME with an executable run.sh and a const.yaml
#   until_true COMMAND...       repeats the command until it succeeds (30 s at most)
set -u
DET=${DET:?DET must name the program}
PATH=$(dirname "$DET"):$PATH
T=$(mktemp -d "${TMPDIR:-/tmp}/det-e2e.XXXXXX")
HOME=$T/home
XDG_DATA_HOME=$HOME/data
XDG_CONFIG_HOME=$HOME/config
NO_COLOR=1
export PATH HOME XDG_DATA_HOME XDG_CONFIG_HOME NO_COLOR
unset DET_MASTER DET_USER DET_PASS DET_USER_TOKEN DET_SESSION_TOKEN 2>/dev/null || true
mkdir -p "$HOME"
cd "$T" || exit 99
COUNT=0
FAILED=0
OUT=$T/out

finish() {
    code=$?
    det stop >/dev/null 2>&1 || true
    left=$(pgrep -f "$T" 2>/dev/null | grep -v "^$$\$" || true)
    if [ -n "$left" ]; then
        # shellcheck disable=SC2086 # several numbers
        ps -o pid,args -p $(echo $left | tr ' ' ',') | sed 's/^/# left over: /'
        # shellcheck disable=SC2086
        kill -9 $left 2>/dev/null || true
        COUNT=$((COUNT + 1))
        FAILED=$((FAILED + 1))
        echo "not ok $COUNT - no process is left over"
    fi
    echo "1..$COUNT"
    cd / && rm -rf "$T"
    [ "$code" = 0 ] && [ "$FAILED" = 0 ] || exit 1
    exit 0
}
trap finish EXIT
trap 'exit 1' INT TERM

result() {
    COUNT=$((COUNT + 1))
    if [ "$1" = 0 ]; then
        echo "ok $COUNT - $2"
    else
        FAILED=$((FAILED + 1))
        echo "not ok $COUNT - $2"
        sed 's/^/#   /' "$OUT" 2>/dev/null | head -${E2E_LINES:-40}
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

platform() {
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

until_true() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || return 1
        sleep 0.05
    done
}
