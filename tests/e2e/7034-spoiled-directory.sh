# SPDX-License-Identifier: Apache-2.0
# Tasks that make something else of the files that the agent reads: the agent goes on with all
# others, sets their directories aside and says so; each costs its trial a restart.
. "$(dirname "$0")/lib.sh"
need jq mkfifo
platform --slots 4
agent_pid() { jq .pid "$DATA/agent/agent.json"; }
folder sibling <<'END'
#!/bin/sh
touch "$HOME/sibling"
until [ -e "$HOME/end" ]; do det report loss=0.5 >/dev/null; sleep 0.05; done
echo "the sibling ended by itself"
END
# In its first run a task spoils its directory in the way that the file tells; a program of its
# own, because the agent ends the task.
folder spoil <<'END'
#!/bin/sh
[ "$DET_TRIAL_RUN_ID" = 1 ] || exit 0
det report loss=0.5
echo "before"
cp "$HOME/how" "$HOME/how-$DET_EXPERIMENT_ID"
exec sh "$HOME/how-$DET_EXPERIMENT_ID" "$(dirname "$DET_RUN_DIR")"
END
kill_supervisor='kill -9 "$(jq -Rr "fromjson? | .supervisor" "$1/pid")"'
spoil() { # SENTENCE COMMANDS PART-OF-THE-LOG
    printf 'cd "$1" || exit\n%s\n' "$2" >"$HOME/how"
    create spoil --config max_restarts=1 >/dev/null
    ok "$1: the trial runs again" det e wait "$ID" --timeout 120
    same 'and was charged a restart' 1 "$(det e list-trials "$ID" --csv | sed -n 2p | cut -d, -f5)"
    ok 'its log can be read' det t logs "$ID"
    says 'a process of the task spoiled its directory: '
    says "$3"
    ok 'what it left was set aside' sh -c "ls '$DATA/agent/quarantine' | grep -q -- '-$ID\\..*-0\$'"
    ok 'which the log of the agent says' grep -q "tasks/$ID\\..* was set aside" "$DATA/agent.log"
}

create sibling >/dev/null
soon 'a task runs beside them' test -e "$HOME/sibling"
spoil 'an exit status that is a pipe' "mkfifo exit.json; $kill_supervisor" "/exit.json' is a pipe"
spoil 'a lock that is a directory' 'rm lock; mkdir lock; sleep 600' "/lock' is a directory"
spoil 'output that is a link' "until ls stdout.spool.*; do :; done 2>/dev/null; ln -sf /dev/zero \"\$(ls stdout.spool.*)\"; $kill_supervisor" 'stdout.spool'
spoil 'reports that are a pipe' "rm reports/head; mkfifo reports/head; $kill_supervisor" "/head' is a pipe"

# The agent dies with the supervisor, and the next one finds what is there.
same 'the agent did not end meanwhile' 1 "$(grep -c 'joined the master' "$DATA/agent.log")"
spoil 'under the next agent, everything is a pipe' \
    "kill -9 $(agent_pid)
for f in spec.json lock control exit.json supervisor.log reports/head stdout.spool.*; do mv \$f x; mkfifo \$f; done
$kill_supervisor" "' is a pipe"
same 'which does not end either' 2 "$(grep -c 'joined the master' "$DATA/agent.log")"

touch "$HOME/end"
ok 'the task beside them ends as it wanted to' det e wait 1 --timeout 120
same 'in its first run' 0 "$(det e list-trials 1 --csv | sed -n 2p | cut -d, -f5)"
ok 'with all its output' det t logs 1
says 'the sibling ended by itself'
ok 'the agent is well' sh -c 'det agent list --csv | grep -q ",yes,yes,"'
