# SPDX-License-Identifier: Apache-2.0
# det ui: shows runs without a master in the WebUI, live and read-only.
. "$(dirname "$0")/lib.sh"
need cc curl jq
BUILD=$(cd "$(dirname "$DET")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
unset DISPLAY WAYLAND_DISPLAY 2>/dev/null || true

fails 4 'without a folder, a run or a master there is nothing to show' det ui
says 'no offline runs'
says "'det serve'"
fails 4 'nor is there in a folder that is not there' det ui nowhere
says "there is no folder 'nowhere'"
touch file
fails 2 'a file is no folder' det ui file

platform --no-agent
ok 'the pages of a master that runs here are named' det ui
says_line "$(url)/det/"
det stop >/dev/null 2>&1

ok 'a program is compiled' cc -O1 -Wall -I"$ROOT/include" -o train "$HERE/offline.c" \
    -L"$BUILD" -ldet -lm -Wl,-rpath,"$BUILD"
./train >/dev/null 2>&1
./train fail >/dev/null 2>&1

# show [ARGS...]: begins to show, as $UI; its address is $AT
show() {
    rm -f ui.out ui.err # of the one before
    det ui --no-browser "$@" >ui.out 2>ui.err &
    UI=$!
    until_true grep -q '^http' ui.out
    AT=$(sed -n 's,^\(http.*\)/det/$,\1,p' ui.out)
}
get() { curl -sf "$AT$1"; }
is() { [ "$(get "$1" | jq -r "$2")" = "$3" ]; }

show
ok 'nobody has to sign in' is /api/v1/me .user.username determined
ok 'and a page knows that it only shows' is /api/v1/master .isReadOnly true
ok 'the page is there' get /det/
ok 'runs are listed' is '/api/v1/experiments?sortBy=SORT_BY_ID' '[.experiments[].state] | join(" ")' 'STATE_COMPLETED STATE_ERROR'
soon 'with what they have printed' sh -c "curl -sf '$AT/api/v1/trials/1/logs' | grep -q 'the last words'"
soon 'and reported' is /api/v1/trials/2 .trial.totalBatchesProcessed 100
same 'nothing can be changed' 403 "$(curl -s -o said -w '%{http_code}' -X POST "$AT/api/v1/experiments/1/archive")"
OUT=$T/said
says 'read-only'
OUT=$T/out

# ---- live

curl -sN "$AT/api/v1/det/changes" >changes &
LISTENER=$!
until_true grep -q hello changes
./train wait "$T/go" >/dev/null 2>&1 &
soon 'a run that begins appears' is /api/v1/experiments/3 .experiment.state STATE_RUNNING
soon 'a page hears of it' grep -q '"trials":\[3\]' changes
soon 'with its output' sh -c "curl -sf '$AT/api/v1/trials/3/logs' | grep -q waits"
touch go
soon 'its end is seen' is /api/v1/experiments/3 .experiment.state STATE_COMPLETED
soon 'with its last report' is /api/v1/trials/3 .trial.totalBatchesProcessed 101
soon 'and its last line' sh -c "curl -sf '$AT/api/v1/trials/3/logs' | grep -q 'goes on'"
rm -f go
kill $LISTENER

kill -INT $UI
wait $UI
same 'Ctrl-C ends it' 0 $?
OUT=$T/ui.err
says_not 'det:'
OUT=$T/out

# ---- elsewhere

mkdir -p empty broken/run
echo '{' >broken/run/run.json
DET_OFFLINE_DIR=$T/empty/first
export DET_OFFLINE_DIR
show empty
ok 'a folder may be empty at first' is /api/v1/experiments '.experiments | length' 0
./train >/dev/null 2>&1
soon 'and runs appear in it' is /api/v1/experiments/1 .experiment.name first
kill -TERM $UI
wait $UI
same 'so does SIGTERM' 0 $?
show empty/first
ok 'the folder of one run will do' is /api/v1/experiments '.experiments | length' 1
kill -INT $UI
wait $UI
show broken
OUT=$T/ui.err
until_true grep -q 'left out' "$OUT" # it is said beside what is served
says 'left out'
OUT=$T/out
kill -INT $UI
wait $UI
same 'a run that cannot be read hurts nobody' 0 $?
