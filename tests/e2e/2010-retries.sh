# SPDX-License-Identifier: Apache-2.0
# Runs that end too soon: for want of processes, at once, or for good.
ORDINARY_USER=1
. "$(dirname "$0")/lib.sh"
need jq prlimit python3
platform --slots 2
AGENT=$(jq .pid "$DATA/agent/agent.json")
MOST=$(prlimit --pid "$AGENT" --nproc --output HARD --noheadings --raw)
logs() { det t logs "$1" >"$OUT" 2>&1; }
has_log() { det t logs "$1" 2>/dev/null | grep -qF -- "$2"; }
restarts() { det e list-trials "$1" --json | jq '.[0].restarts'; }

# The agent may not start a process: the kernel answers fork() with EAGAIN.
printf '#!/bin/sh\necho it runs\n' | folder plain
ok 'the agent may have no more processes' prlimit --pid "$AGENT" --nproc=1:
create plain >/dev/null
FIRST=$ID
create plain >/dev/null
SECOND=$ID
for id in $FIRST $SECOND; do
    soon "experiment $id tries again, later and later" has_log "$id" 'runs again in 2 s, at'
    logs "$id"
    says 'runs again in 1 s, at'
    says 'lacks resources: cannot start a process: Resource temporarily unavailable; this costs no restart'
    same 'it has paid no restart' 0 "$(restarts "$id")"
done
soon 'its description says why it waits, and until when' \
    sh -c "det e describe $FIRST | grep -q 'waits  *until .*: agent .* lacks resources'"
ok 'it is paused while it waits' det e pause "$FIRST"
same 'at once' PAUSED "$(state "$FIRST")"
ok 'the other is killed while it waits' det e kill "$SECOND"
same 'at once, too' CANCELED "$(state "$SECOND")"
ok 'there are processes again' prlimit --pid "$AGENT" --nproc="$MOST:"
ok 'activated it runs at once' det e activate "$FIRST"
ok 'to its end' det e wait "$FIRST" --timeout 120
same 'without a restart' 0 "$(restarts "$FIRST")"

# A program that fails at once, with many restarts.
printf '#!/bin/sh\necho "run $DET_TRIAL_RUN_ID fails"\nexit 3\n' | folder failing
create failing --config max_restarts=100 >/dev/null
soon 'a program that fails at once is retried, later and later' has_log "$ID" 'runs again in 2 s, at'
logs "$ID"
says 'runs again in 0.25 s, at'
says 'its run ended too soon: exited with code 3'
same 'four runs have failed until then' 4 "$(sed '/runs again in 2 s/q' "$OUT" | grep -c 'run [0-9]* fails$')"
ok 'it is killed' det e kill "$ID"
same 'at once' CANCELED "$(state "$ID")"
same 'each failure but the last has cost a restart' "$(det t logs "$ID" | grep -c 'run [0-9]* fails$')" "$(restarts "$ID")"

# What would fail again runs once.
hopeless() {
    printf '#!/bin/sh\necho "run $DET_TRIAL_RUN_ID"\n%s\n' "$2" | folder hopeless
    fails 1 "$1 ends in an error" create hopeless -f --config max_restarts=5
    logs "$ID"
    same 'after one run' 1 "$(grep -c 'run [0-9]*$' "$OUT")"
    says 'is not retried, because it would fail again: exited with code'
    says "$3"
}
hopeless 'a missing command' 'no-such-command-here' 'no-such-command-here: not found'
hopeless 'a missing module' 'exec python3 -c "import no_such_module_here"' "ModuleNotFoundError: No module named 'no_such_module_here'"
hopeless 'a missing file' 'exec python3 no-such-file.py' "can't open file"
printf 'x = = 1\n' >bad.py
hopeless 'a syntax error' "exec python3 $T/bad.py" 'SyntaxError: invalid syntax'
hopeless 'what may not be executed' "$T/bad.py" 'ermission denied'
printf 'if true; then\n' >bad.sh
hopeless 'a syntax error of a shell' "exec sh $T/bad.sh" 'yntax error'
hopeless 'a missing script' 'exec sh no-such-file.sh' 'no-such-file.sh'
hopeless 'an import of a missing name' 'exec python3 -c "from os import no_such_name"' "cannot import name 'no_such_name'"
hopeless 'a missing command of det' 'exec det launch nowhere' "'det launch' has no command 'nowhere'"
ok 'the description shows the sentence and the last lines' det e describe "$ID"
says "  failed       exited with code 2: det: 'det launch' has no command 'nowhere'"
says 'last lines of trial'
printf 'import no_such_module_here\n' >gone.py
hopeless 'a missing module on two slots' "exec det launch torch_distributed python3 $T/gone.py" "fail again: exited with code 1: ModuleNotFoundError: No module named 'no_such_module_here'"
