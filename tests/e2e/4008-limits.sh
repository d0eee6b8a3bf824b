# SPDX-License-Identifier: Apache-2.0
# task_limits: tasks that take as many processes, as much memory, as many files and as much disk as
# they can get, under an agent that is root.
. "$(dirname "$0")/lib.sh"
need python3
if [ "$(id -u)" != 0 ]; then
    skip 'limits of tasks under a root agent' 'needs root; 4009-limits-without-root.sh tests the rest'
    exit 0
fi
USER_ID=54322
chmod 711 "$T"
mkdir storage
chown $USER_ID storage
cat >master.yaml <<END1
security: {default_task: {uid: $USER_ID, gid: $USER_ID}}
checkpoint_storage_roots: ["$T/storage"]
END1
cat >agent.yaml <<END1
master_host: 127.0.0.1
task_limits: {processes: 60, memory: 300MiB, open_files: 128, disk: 20MiB}
END1
det master run --config master.yaml --port 0 --data-dir "$T/m" >master.log 2>&1 &
MASTER=$!
soon 'the master answers' test -s "$T/m/master.json"
DET_MASTER=$(url "$T/m")
export DET_MASTER
DATA=$T/m
# As a service manager does, where the kernel has cgroup v2 with the two controllers.
GROUP=/sys/fs/cgroup/det-e2e-$$
if grep -q 'memory.*pids' /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null && mkdir "$GROUP" 2>/dev/null; then
    echo "# the agent is in $GROUP"
else
    GROUP=
fi
sh -c '[ -z "$0" ] || echo $$ >"$0/cgroup.procs"; exec "$@"' "$GROUP" \
    det agent run --config agent.yaml --master "$DET_MASTER" --token-file "$T/m/agent.token" --data-dir "$T/a" --slots 2 >agent.log 2>&1 &
AGENT=$!
soon 'an agent has joined' sh -c 'det agent list --csv | grep -q ",2,"'
try() {
    create "$@" >/dev/null
    det e wait "$ID" >"$T/waited" 2>&1
    det t logs "$ID" >"$OUT" 2>&1
}
# Whether the agent limits tasks as a whole; it says so once if it cannot.
if [ -z "$GROUP" ]; then
    same 'the agent says once which limits it lacks, why, and what to do' 1 \
        "$(grep -c 'the memory of each process only.*(task_limits.memory); all processes of a user.*because.*Delegate=yes' agent.log)"
else
    same 'the agent says nothing of limits that it lacks' 0 "$(grep -c task_limits agent.log)"
    ok 'the agent has a control group for its tasks' test -n "$GROUP"
fi

# ---- processes

folder bomb <<'END1'
#!/bin/sh
exec python3 - <<'END2'
import os, time
children = 0
try:
    while children < 300:
        if os.fork() == 0:
            time.sleep(60)
        children += 1
except OSError as error:
    print("stopped:", error.strerror, "below 60" if children < 60 else children, flush=True)
os.kill(0, 9)
END2
END1
try bomb
says 'stopped: Resource temporarily unavailable below 60'
same 'the bomb ends with its task' 0 "$(ps -u $USER_ID -o pid= | wc -l)"

# ---- memory

folder hog <<'END1'
#!/bin/sh
exec python3 - <<'END2'
try:
    print("got", len(bytearray(500 << 20)))
except MemoryError:
    print("one process is limited")
END2
END1
try hog
says 'one process is limited'

# Each of them is below the limit, together they are far above.
folder hogs <<'END1'
#!/bin/sh
exec python3 - <<'END2'
import os, time
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        memory = bytearray(100 << 20)
        memory[::4096] = b"x" * len(memory[::4096])
        time.sleep(30)
        os._exit(0)
    children.append(child)
lived = sum(os.waitpid(child, 0)[1] == 0 for child in children)
print("together they are limited" if lived < 4 else f"{lived} lived")
END2
END1
try hogs
says 'more memory than task_limits.memory of this agent allows'
says_not ' lived'
# Pages that processes share count once.
folder shares <<'END1'
#!/bin/sh
exec python3 - <<'END2'
import os, time
memory = bytearray(100 << 20)
memory[::4096] = b"x" * len(memory[::4096])
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        time.sleep(3)
        os._exit(0)
    children.append(child)
print(sum(os.waitpid(child, 0)[1] == 0 for child in children), "share it")
END2
END1
try shares
says '8 share it'
[ -n "$GROUP" ] || skip 'the kernel limits the memory of the whole task' 'no cgroup v2 with memory and pids at /sys/fs/cgroup'

# ---- open files

folder opener <<'END1'
#!/bin/sh
exec python3 - <<'END2'
import resource
files = []
try:
    while len(files) < 1000:
        files.append(open("/dev/null"))
except OSError as error:
    print("stopped:", error.strerror, "below 128" if len(files) < 128 else len(files))
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    print("RAISED")
except (ValueError, OSError):
    print("for good")
END2
END1
try opener
says 'stopped: Too many open files below 128'
says 'for good'
says_not 'RAISED'

# ---- disk

for place in . /tmp; do
    folder filler <<END1
#!/bin/sh
i=0
while [ \$i -lt 40 ]; do head -c 1000000 /dev/zero >$place/part-\$i || exit 1; i=\$((i+1)); done
echo written
while :; do sleep 0.1; done
END1
    try filler
    says 'more disk space than task_limits.disk'
    same "a task that fills $place with many files is ended" ERROR "$(state "$ID")"
done
folder one <<END1
#!/bin/sh
trap '' XFSZ
head -c 40000000 /dev/zero >$T/storage/one || echo stopped
END1
try one
says 'stopped'
same 'a single file is never larger, wherever it is' 20971520 "$(stat -c %s storage/one)"
folder shm <<'END1'
#!/bin/sh
head -c 100000000 /dev/zero >/dev/shm/one 2>/dev/null || echo "stopped at $(stat -c %s /dev/shm/one)"
END1
try shm --config resources.shm_size=8MiB
says 'stopped at 8388608'

kill $AGENT
wait $AGENT
kill $MASTER
wait $MASTER
if [ -n "$GROUP" ]; then
    same 'no control group of a task is left' 0 "$(find "$GROUP" -name 'det-task-*' | wc -l)"
    rmdir "$GROUP"/det-agent "$GROUP"
fi
