# SPDX-License-Identifier: Apache-2.0
# `det tensorboard`: the real TensorBoard as a task, reached through the master's address.
. "$(dirname "$0")/lib.sh"
need_tensorflow
need curl
platform --slots 1

folder plain <<'END'
#!/bin/sh
for step in 1 2 3; do det report --steps $step loss=0.$step; done
det report --steps 3 --validation accuracy=0.5 --wait
END
create plain
ok 'a script reports metrics, and writes no files for TensorBoard' det experiment wait "$ID"
folder busy <<'END'
#!/bin/sh
until [ -e "$DET_TEST_GO" ]; do sleep 0.1; done
END
DET_TEST_GO=$T/go create busy --config environment.environment_variables="[DET_TEST_GO=$T/go]"
BUSY=$ID
until_true is_state RUNNING "$BUSY" || until_true is_state ACTIVE "$BUSY"

# ---- one is started, on a cluster whose slot is taken

ok 'TensorBoard starts' det tensorboard start 1 --no-browser
has 'and says where it is' '/proxy/'
BOARD=$(sed -n 's/^Launched TensorBoard //p' "$OUT")
URL=$(url)
TOKEN=
api GET /api/v1/me >/dev/null
page() { curl -sS -H "Authorization: Bearer $TOKEN" "$@"; }
scalars() { page "$URL/proxy/$BOARD/data/plugin/scalars/tags"; }
shows() { scalars | grep -q 'training/loss' && scalars | grep -q 'validation/accuracy'; }
ok 'its page comes through the master' page -f "$URL/proxy/$BOARD/"
has 'and is TensorBoard' 'tb-relative-root'
until_true shows
result $? 'it shows what was reported'
same 'nobody gets it without a session' 401 "$(curl -s -o /dev/null -w '%{http_code}' "$URL/proxy/$BOARD/")"
ok 'it is listed' det tb list
has 'as running' RUNNING
ok 'its log is there' det tensorboard logs "$BOARD"
has 'and says which TensorBoard it is' 'is used'

# ---- the master goes and comes back

det stop --master-only >/dev/null 2>&1 || true
ok 'killed ones are gone' det tensorboard kill "$BOARD"
over() { det tensorboard list --all --json | grep -q '"STATE_TERMINATED"'; }
until_true over
result $? 'and TERMINATED'
same 'their address says so' 404 "$(page -o /dev/null -w '%{http_code}' "$URL/proxy/$BOARD/")"

# ---- nobody looks

ok 'one that nobody looks at' det tensorboard start --trial-ids 1 --timeout 1 --detach
idle() { det task list --all | grep -q COMPLETED; }
until_true idle
result $? 'ends by itself, COMPLETED'

# ---- what is wrong

fails 'one of nothing is refused' 2 det tensorboard start
fails 'and one of an unknown experiment' 4 det tensorboard start 999
touch "$T/go"
