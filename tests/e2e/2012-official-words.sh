# SPDX-License-Identifier: Apache-2.0
# Options and aliases that people know from Determined.
. "$(dirname "$0")/lib.sh"
need jq
platform
folder one <<'END_OF_SCRIPT'
#!/bin/sh
ls | sort | tr '\n' ' '
[ ! -d more ] || cat more/deep/file
det report --steps 1 --validation loss=0.5
END_OF_SCRIPT
mkdir -p extra/more/deep
echo 'from afar' >extra/more/deep/file
echo extra >extra/single.txt

# create
ok '--follow-first-trial follows' create one --follow-first-trial
says 'experiment 1 is COMPLETED'
ok '-i sends files and folders, too' create one -f -i extra/single.txt --include extra/more
says '|| const.yaml more run.sh single.txt'
says 'from afar'
fails 4 'a file that is not there is named' create one -i extra/nothing
says "--include: there is no file or folder 'extra/nothing'"
fails 5 'a name that the folder has is refused' create one -i one/run.sh
says "the folder that is sent has 'run.sh', too"
fails 2 'a fork without a folder cannot have more files' det e create --fork 1 -i extra/more
says '--include needs CONTEXT'
fails 2 'so with --local' det e create one/const.yaml one --local -i extra/more
fails 11 '--test-mode is --test' det e create one/const.yaml one --test-mode
says '--local --test'
fails 11 'a template is refused at once' det e create one/const.yaml one --template mine
says "'det experiment create --template' is not built"
says "'det experiment create --config KEY=VALUE' overrides keys"
fails 11 'ports are not forwarded' det e create one/const.yaml one --publish 80
says "'det experiment create --publish' is not built"
ok 'generic jobs take files, too' sh -c 'printf "entrypoint: cat single.txt\n" | det task create - -f -i extra/single.txt'
says '|| extra'
ok 'continue follows, too' det e continue 1 --follow-first-trial

# lists
create one >/dev/null
det e wait "$ID" --polling-interval 1 >/dev/null
ids() { det e list --csv "$@" | sed 1d | cut -d, -f1 | tr '\n' ' '; }
same 'list --limit is the newest' '3 ' "$(ids --limit 1)"
same '--offset leaves the newest out' '1 2 ' "$(ids --offset 1)"
same '--pages 1 is one page' '2 ' "$(ids --limit 1 --offset 1 --pages 1)"
same '--pages all is all' '1 2 3 ' "$(ids --limit 1 --pages all)"
same '--limit 0 is all' '1 2 3 ' "$(ids --limit 0)"
ok '--show_project shows the project' det e list --show_project
says 'WORKSPACE      PROJECT'
ok 'list-trials as the trace of the official client has it' det e list-trials 1 --limit 1 --pages 1
ok 'workspaces in the other order' sh -c 'det w create Beta >/dev/null; det w list --order-by desc --csv | sed -n 2p | grep -q Beta'
ok 'a project is renamed' sh -c 'det p create Beta old >/dev/null && det p edit Beta old --new_name new && det p describe Beta new'

# logs
ok 'logs of a source' det t logs 1 --source master
says 'Scheduling Trial 1'
says_not 'run.sh'
ok 'logs of another' det t logs 1 --source task
says 'run.sh'
says_not 'Scheduling'
RUN=$(det t logs 1 --source task --json | head -1 | jq -r .allocationId)
ok 'logs of a run' det t logs 1 --allocation-id "$RUN"
says 'run.sh'
ok 'and of none' det e logs 1 --allocation-id no.such.run
same '... are empty' 0 "$(wc -l <"$OUT")"
ok 'describe --metrics' det t describe 1 --metrics
says 'validation'
ok 'how long a trial keeps its logs' det t set log-retention 1 --days 9
says 'Changed trial 1'

# agents and jobs
ok 'all agents are disabled' det -u admin agent disable --all
says 'Disabled agent '
create one >/dev/null
JOB=$ID
ok 'the queue from its end' det job list --reverse --limit 1 --csv
ok '-rp names a pool' sh -c 'det job list -rp default --csv | grep -q ",default,"'
ok '--offset skips' sh -c 'test "$(det job list --offset 1 --csv | sed 1d | wc -l)" = 0'
ok 'job update -p' det job update "$JOB" -p 7
same '... sets the priority' 7 "$(det job list --csv | sed -n 2p | cut -d, -f4)"
ok 'all agents are enabled' det -u admin a enable --all
says 'Enabled agent '
fails 2 'an agent or all of them' det agent disable
says 'either AGENT or --all is needed'
ok 'the waiting one runs' det e wait "$JOB"

# checkpoints
folder saves <<'END_OF_SCRIPT'
#!/bin/sh
mkdir -p out/inner
echo weights >out/inner/model
head -c 300000 /dev/zero >out/zeros
det report --steps 1 --validation loss=0.5
det checkpoint save out --steps 1 --wait
END_OF_SCRIPT
create saves -f >/dev/null 2>&1
UUID=$(det e lc "$ID" --csv | sed -n 2p | tr ',' '\n' | grep -E '^[0-9a-f]{8}-')
ok 'a checkpoint through the master' det c download "$UUID" --mode master -o through
says ' 4 files, '
says 'checked against its manifest'
same '... is whole' weights "$(cat through/inner/model)"
ok 'nothing else is left' test "$(ls -A . | grep -c unfinished)" = 0
ok 'directly, and quietly' det c download "$UUID" --mode direct -q -o direct
same '... says nothing' 0 "$(wc -l <"$OUT")"
ok 'both are the same' diff -r through direct
TRIAL=$(det e lt "$ID" --csv | sed -n '2s/,.*//p')
ok 'the best of a trial' det t download "$TRIAL" --best -o best
ok '... is that one' diff -r direct best
ok 'its latest' det trial download "$TRIAL" --latest
ok '... is in its own folder' diff -r direct "checkpoints/$UUID"
fails 2 'one of them must be named' det t download "$TRIAL"
says 'exactly one of --best, --latest and --uuid'
fails 4 'a trial without checkpoints' det t download 1 --best
says 'trial 1 has no checkpoint'
ok 'the best of an experiment' det e download "$ID" --top-n 3 -o tops
ok '... are in folders' diff -r direct "tops/$UUID"
fails 11 'no other order' det e download "$ID" --sort-by loss
says "the searcher's metric decides"
PLACE=$(det c describe "$UUID" --json | jq -r '.uuid' | xargs -I{} find "$HOME" -type d -name {} | head -1)
mv "$PLACE" "$T/away"
fails 8 'what neither this machine nor the master has is missing' det c download "$UUID" -o gone
says "checkpoint $UUID is"
fails 4 'the master says what it lacks' det c download "$UUID" --mode master -o gone
says 'on the master'
ok '... and nothing is left' test ! -e gone

# What is not built says so, and names what to use.
for words in 'trial support-bundle 1' 'experiment delete-tb-files 1' 'c rm x' 'notebook start'; do
    # shellcheck disable=SC2086 # several words
    fails 11 "det $words" det $words
    says 'is not built'
    says 'hint: '
done

# The master's log, and who used the slots: for administrators.
ok 'the log of the master' det -u admin master logs
says 'serving http'
says "experiment $ID is over"
ok '... its last line' det -u admin master logs --tail 1
same '... is one line' 1 "$(wc -l <"$OUT" | tr -d ' ')"
ok '... as JSON' sh -c 'det -u admin master logs --json | jq -es ".[0].id == 0 and .[0].level == \"LOG_LEVEL_INFO\""'
det -u admin master logs -f --tail 1 >followed &
FOLLOWER=$!
create one -f >/dev/null
soon 'who follows sees new lines' grep -q "experiment $ID is over" followed
kill "$FOLLOWER"
wait "$FOLLOWER" 2>/dev/null
fails 3 'others may not' det master logs
says 'only an administrator'

DAY=$(date -u +%Y-%m-%d)
ok 'who used the slots' det -u admin resources raw "${DAY}T00:00:00Z" 2100-01-01T00:00:00Z
says 'experiment_id,kind,username,labels,slots,start_time,end_time,seconds'
says ",training,determined,"
ok '... per day' det -u admin res aggregated "$DAY" "$DAY" --by-experiment
says "username,determined,$DAY,"
says "experiment,$ID,$DAY,"
ok '... per month, as JSON' sh -c \
    "det -u admin res aggregated $(date -u +%Y-%m) $(date -u +%Y-%m) --monthly --json | jq -e '.[0].byUsername.determined > 0'"
fails 2 'a date must be one' det -u admin res aggregated yesterday "$DAY"
says "invalid start date 'yesterday'"
fails 3 'others may not see it' det res raw "${DAY}T00:00:00Z" 2100-01-01T00:00:00Z
