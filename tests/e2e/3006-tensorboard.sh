# SPDX-License-Identifier: Apache-2.0
# Event files of libdet, read by TensorBoard itself: its accumulators, its server with both
# loaders; runs that were killed, files that were damaged.
. "$(dirname "$0")/lib.sh"
need cc python3
BUILD=$(cd "$(dirname "$DET")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
PY=$BUILD/venv/bin/python3
export DET_HPARAMS='{"lr": 0.5, "opt": {"name": "sgd", "nesterov": true}, "layers": [8, 16], "none": null}'
export DET_OFFLINE_DIR=$T/offline

ok 'a program is compiled' cc -O1 -Wall -I"$ROOT/include" -o events "$HERE/events.c" \
    -L"$BUILD" -ldet -lm -Wl,-rpath,"$BUILD"
ok 'it writes a run' ./events run
FILE=$(cat "$OUT")
case $FILE in run/events.out.tfevents.[0-9]*) true ;; *) false ;; esac
result $? 'under the name that TensorBoard looks for'

"$ROOT/tools/venv" "$BUILD/venv" >"$T/venv" 2>&1 || {
    sed 's/^/# /' "$T/venv"
    skip 'TensorBoard reads it' 'TensorBoard could not be installed'
    exit 0
}
reads() { "$PY" -W ignore "$HERE/read_events.py" "$@" 2>"$T/complaints"; }

ok 'both accumulators read it' "$PY" -W ignore "$HERE/read_events.py" accumulators run
ok 'TensorBoard shows it' "$PY" -W ignore "$HERE/read_events.py" server "$T/run" false
ok 'also with its fast loader' "$PY" -W ignore "$HERE/read_events.py" server "$T/run" true

# ---- killed, and going on

sh -c 'ulimit -c 0; ./events run 40' >/dev/null 2>&1
left='35:0.0278 36:0.027 37:0.0263 38:0.0256 39:0.025 40:2 41:2 42:2 43:2 44:2'
same 'a run that goes on takes back what it had said' "$left" "$(reads steps run)"
same 'also as TensorBoard shows it' "$left" "$(reads shown run false)"
same 'and its fast loader' "$left" "$(reads shown run true)"

# ---- damaged

mkdir cut flipped
all=$(reads count "$FILE")
head -c -5 "$FILE" >cut/events.out.tfevents.1.a
same 'of a file that is cut short all but the last event is read' $((all - 1)) "$(reads count cut/events.out.tfevents.1.a)"
cp "$FILE" flipped/events.out.tfevents.1.a
printf '\377' | dd of=flipped/events.out.tfevents.1.a bs=1 seek=1500 conv=notrunc 2>/dev/null
some=$(reads count flipped/events.out.tfevents.1.a)
[ "$some" -gt 5 ] && [ "$some" -lt "$all" ]
result $? 'of one with a flipped byte those in front of it'
