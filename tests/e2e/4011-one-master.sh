# SPDX-License-Identifier: Apache-2.0
# One master and one agent work in a folder, whatever happens to the files beside the database.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"

platform --slots 1
PID=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$DATA/master.json")
rm "$DATA/master.lock"
fails 6 'a second master is refused, though the lock file was deleted' timeout 30 det serve --port 0 --no-agent
says 'a master already uses'
ok 'the first one is found' det master info
rm -f "$DATA/master.lock"
ok 'also without a new lock file' det master info
rm "$DATA/agent/lock"
fails 6 'a second agent is refused' timeout 30 det agent run --id b --data-dir "$DATA/agent" --token-file "$DATA/agent.token" --master "$(url)"
says 'another agent works in'
rm -f "$DATA/agent/lock" "$DATA/master.lock"
ok 'both are found and stopped' det stop
ok 'the master has ended' is_dead "$PID"

det serve --port 0 --no-agent >one.log 2>&1 &
A=$!
soon 'a master runs' test -e "$DATA/master.json"
mv "$DATA" "$DATA.moved"
soon 'when its folder is moved away it ends' is_dead $A
ok 'and says why' cat one.log
says 'was removed or replaced'
mv "$DATA.moved" "$DATA"
rm -f "$DATA/master.json"

det serve --port 0 --no-agent >two.log 2>&1 &
A=$!
soon 'with the folder in its place a master runs' test -e "$DATA/master.json" # det master info might start one
rm "$DATA/det.db"
det user create anne >"$OUT" 2>&1
ok 'nothing is acknowledged into a database that was deleted' test $? != 0
soon 'and the master ends' is_dead $A
ok 'saying which file is gone' cat two.log
says "det.db' was removed or replaced"

fails 8 'a master does not begin anew where its database is missing' timeout 30 det serve --port 0 --no-agent
says "det.db' is empty or missing, but a master has worked here"
says "restore a backup with 'det restore'"
