# SPDX-License-Identifier: Apache-2.0
# Paused, active, canceled, killed, archived, deleted.
. "$(dirname "$0")/lib.sh"
platform
# Goes on until it is asked to stop; remembers in the home what happened.
folder polite <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID" >>"$HOME/polite-$DET_EXPERIMENT_ID"
until det preempted; do
    [ -e "$HOME/end-$DET_EXPERIMENT_ID" ] && exit 0
    sleep 0.05
done
echo "run $DET_TRIAL_RUN_ID was asked to stop" >>"$HOME/polite-$DET_EXPERIMENT_ID"
exit 0
END
has() { grep -qxF -- "$2" "$HOME/polite-$1"; }

ok '--paused creates it without starting it' create polite --paused
says_line 'Created experiment 1'
says_not 'Activated'
same 'it is PAUSED' PAUSED "$(state 1)"
ok 'pausing it changes nothing' det e pause 1
says_line 'experiment 1 was already PAUSED'
ok 'activate starts it' det e activate 1
says_line 'Activated experiment 1'
soon 'its task runs' has 1 'run 1'
soon 'and is known to' is_state RUNNING 1
ok 'activating it again changes nothing' det e activate 1
says_line 'experiment 1 was already RUNNING'
ok 'pause asks it to stop' det e pause 1
says_line 'Paused experiment 1'
soon 'the task saw it' has 1 'run 1 was asked to stop'
soon 'and it rests' sh -c '! det task list --csv | grep -q "^1\."'
same 'it is PAUSED again' PAUSED "$(state 1)"
ok 'activate resumes it' det e activate 1
soon 'as its second run' has 1 'run 2'
touch "$HOME/end-1"
ok 'it goes on to its end' det e wait 1 --timeout 120
says 'COMPLETED'
same 'a pause is no restart' 0 "$(det e list-trials 1 --csv | sed -n 2p | cut -d, -f5)"
fails 5 'what is over cannot be paused' det e pause 1
says 'experiment 1 had already ended (COMPLETED)'
fails 5 'nor activated' det e activate 1
says 'experiment 1 had already ended (COMPLETED)'
fails 5 'nor given another priority' det e set priority 1 5
says 'experiment 1 had already ended (COMPLETED)'
ok 'but named' det e set name 1 polite-one
says 'Changed experiment 1'
for verb in cancel kill; do
    ok "$verb of what is over is no error" det e $verb 1
    says_line 'experiment 1 had already ended (COMPLETED)'
    says_not 'ed experiment 1'
done
ok 'nor is it of its trial' det t kill 1
says_line 'trial 1 had already ended (COMPLETED)'

create polite >/dev/null
soon 'another runs' has 2 'run 1'
soon 'and is known to' is_state RUNNING 2
fails 5 'of several each is tried' det e activate 1 2
says 'experiment 1 had already ended (COMPLETED)'
says 'experiment 2 was already RUNNING'
ok 'cancel asks it to stop' det e cancel 2
says_line 'Canceled experiment 2'
fails 1 'wait says how it ended' det e wait 2 --timeout 120
says 'CANCELED'
ok 'the task saw it' has 2 'run 1 was asked to stop'

# A task that does not listen, with a child that ran away twice.
folder stubborn <<'END'
#!/bin/sh
trap '' TERM INT
(setsid sh -c 'sleep 600 & echo $! >"$HOME/orphan"; exec sleep 600' >/dev/null 2>&1 &)
sleep 600 &
echo $! >"$HOME/child"
while :; do sleep 1; done
END
create stubborn >/dev/null
soon 'a stubborn task runs' sh -c 'test -s "$HOME/orphan" && test -s "$HOME/child"'
ok 'it can be canceled, which it does not heed' det e cancel 3
fails 5 'what is about to end cannot be paused' det e pause 3
says 'det: experiment 3 is stopping (STOPPING_CANCELED) and cannot be paused any more'
ok 'kill ends it' det e kill 3
says_line 'Killed experiment 3'
fails 1 'at once' det e wait 3 --timeout 120
soon 'its child is gone' is_dead "$(cat "$HOME/child")"
soon 'so is what it had sent into a session of its own' is_dead "$(cat "$HOME/orphan")"
same 'it is CANCELED' CANCELED "$(state 3)"

create polite >/dev/null
soon 'a trial runs' has 4 'run 1'
TRIAL=$(det e list-trials 4 --csv | sed -n '2s/,.*//p')
ok 'det trial kill kills a trial' det t kill "$TRIAL"
fails 1 'and with it a single experiment' det e wait 4 --timeout 120
create polite >/dev/null
soon 'a last one runs' has 5 'run 1'
fails 9 'wait gives up after --timeout' det e wait 5 --timeout 1
fails 5 'what runs cannot be archived' det e archive 5
says "and cannot be archived; stop it first with 'det e kill 5'"
says 'experiment 5 is '
fails 5 'nor deleted' det e delete 5 --yes
says "and cannot be deleted; stop it first with 'det e kill 5'"
ok 'one is killed and one was over in one command' det e kill 4,5
says_line 'experiment 4 had already ended (CANCELED)'
says_line 'Killed experiment 5'
det e wait 5 >/dev/null

ok 'archive hides one' det e archive 1
ok 'from the list' det e list --csv
same 'but for the others' '2 3 4 5' "$(sed -n 's/^\([0-9]*\),.*/\1/p' "$OUT" | sort -n | xargs)"
ok 'unarchive shows it again' det e unarchive 1
ok 'in the list' sh -c 'det e list --csv | grep -q ^1,'
fails 2 'delete asks first, and cannot without a terminal' det e delete 1
says "experiment 1 '"
says "of determined ("
says '--yes'
ok 'delete --yes does not ask' det e delete 1 --yes
says_line 'Deleting experiment 1'
soon 'it is gone' sh -c '! det e describe 1'
fails 4 'its trials too' det t describe 1
fails 4 'its logs too' det t logs 1
fails 4 'an experiment that never was is not found' det e kill 99
says "experiment '99' not found"
UUID=11111111-2222-4333-8444-555555555555
listed() { # COMMAND, and the command that lists what there is
    fails 4 "det $1" sh -c "det $1"
    says "hint: 'det $2' shows all"
    ok 'which is a command' sh -c "det $(echo "$2" | sed "s/EXPERIMENT/2/; s/WORKSPACE/Uncategorized/") >/dev/null"
}
listed 'e describe 99' 'experiment list --all'
listed 't describe 99' 'experiment list-trials EXPERIMENT'
listed "checkpoint describe $UUID" 'checkpoint list --experiment EXPERIMENT'
listed "task describe $UUID" 'task list --all'
listed '-u admin agent disable nowhere' 'agent list'
listed 'workspace describe nowhere' 'workspace list --all'
listed 'user activate nobody-here' 'user list --all'
listed 'user-group describe nobody-here' 'user-group list'
