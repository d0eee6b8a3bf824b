# SPDX-License-Identifier: Apache-2.0
# SIGKILL for a task's supervisor: the trial starts again, and it costs no restart.
. "$(dirname "$0")/lib.sh"
platform
# The numbers of its processes mean others out here if the task is isolated, so it is found by
# what it runs.
folder wait <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID"
sleep "600.$DET_EXPERIMENT_ID$DET_TRIAL_RUN_ID" &
echo "$DET_TRIAL_RUN_ID " >>"$HOME/runs"
until [ -e "$HOME/end" ]; do sleep 0.05; done
kill $!
END
# find_run EXPERIMENT RUN: sets SLEEP, and SHELL_PID to its parent
find_run() {
    SLEEP=
    for pid in $(ours); do
        [ "$(cat "/proc/$pid/cmdline" 2>/dev/null | tr '\0' ' ')" != "sleep 600.$1$2 " ] || SLEEP=$pid
    done
    [ -n "$SLEEP" ] && SHELL_PID=$(sed -n 's/^PPid:\t//p' "/proc/$SLEEP/status")
}
both_dead() { is_dead "$1" && is_dead "$2"; }
create wait >/dev/null
soon 'a task runs' grep -q '^1 ' "$HOME/runs"
soon 'and is found' find_run 1 1
for pid in $(ours); do
    case $(cat "/proc/$pid/cmdline" 2>/dev/null | tr '\0' ' ') in
    *" task run "*) kill -9 "$pid" ;;
    esac
done
soon 'the trial starts again' grep -q '^2 ' "$HOME/runs"
soon 'what the first run left is gone' both_dead "$SLEEP" "$SHELL_PID"
touch "$HOME/end"
ok 'it completes although it may not be restarted' det e wait 1 --timeout 120
same 'no restart is counted' 0 "$(det e list-trials 1 --csv | sed -n 2p | cut -d, -f5)"
ok 'the log has both runs' det t logs 1
says 'run 1'
says 'run 2'
says 'supervisor'

# A task whose own process is killed is an ordinary failure.
rm -f "$HOME/end" "$HOME/runs"
create wait >/dev/null
soon 'another runs' grep -q '^1 ' "$HOME/runs"
soon 'and is found, too' find_run 2 1
kill -9 "$SHELL_PID"
fails 1 'a task that is killed has failed' det e wait 2 --timeout 120
soon 'and leaves nothing behind' is_dead "$SLEEP"
