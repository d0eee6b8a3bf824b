# SPDX-License-Identifier: Apache-2.0
# The machine restarts: nothing of its tasks is left, they run again, and it costs them no
# restart.  (Played: everything is killed, and the next start sees another boot id.)
. "$(dirname "$0")/lib.sh"
DET_TEST_BOOT_ID=first
export DET_TEST_BOOT_ID
platform --slots 2
folder work <<'END'
#!/bin/sh
echo "trial $DET_TRIAL_ID run $DET_TRIAL_RUN_ID" | tee -a "$HOME/runs"
[ "$DET_TRIAL_RUN_ID" -gt 1 ] || sleep 600
END
create work >/dev/null
create work >/dev/null
both() { grep -q 'trial 1 run 1' "$HOME/runs" && grep -q 'trial 2 run 1' "$HOME/runs"; }
soon 'two tasks run' both
shown() { det t logs 1 | grep -q 'trial 1 run 1'; }
soon 'and print' shown
off() {
    # shellcheck disable=SC2046
    kill -9 $(ours) 2>/dev/null
    is_alone
}
ok 'the machine is off' until_true off

# A process of ours now has the number of one that ran before.
sleep 600 &
STRANGER=$!
for pid in "$DATA"/agent/tasks/*/pid; do
    sed "s/\"group\": *[0-9]*/\"group\":$STRANGER/; /^check/d" "$pid" >pid.new
    cp pid.new "$pid"
done
DET_TEST_BOOT_ID=second
platform --slots 2
ok 'after the start the first runs again' det e wait 1 --timeout 120
ok 'and the second' det e wait 2 --timeout 120
same 'once more each' 4 "$(grep -c . "$HOME/runs")"
same 'at no cost for the first' 0 "$(det e list-trials 1 --csv | sed -n 2p | cut -d, -f5)"
same 'nor for the second' 0 "$(det e list-trials 2 --csv | sed -n 2p | cut -d, -f5)"
ok 'the log says why' det t logs 1
says 'its machine was restarted'
ok 'whoever has an old number by now is left alone' kill -0 $STRANGER
kill $STRANGER
soon 'the old directories are removed' sh -c "[ -z \"\$(ls '$DATA/agent/tasks')\" ]"
