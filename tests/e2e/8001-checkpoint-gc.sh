# SPDX-License-Identifier: Apache-2.0
# Checkpoints are removed by policy while a trial runs, and on demand; the agent is killed in
# the middle; something that must not be touched is in their place.
. "$(dirname "$0")/lib.sh"
need curl jq
mkdir "$T/storage"
cat >master.yaml <<END
checkpoint_storage:
  type: shared_fs
  host_path: $T/storage
END
platform --no-agent --config master.yaml
agent() {
    det agent run --id a --slots 2 --data-dir "$T/agent" >>agent.log 2>&1 &
    A=$!
}
joined() { det agent list --csv | grep -q "^a,.*,yes,yes,"; }
uuid() { printf '%08d-0000-4000-8000-%012d' "$1" "$2"; } # STEPS TRIAL
exists() { [ -e "$T/storage/$1" ]; }
gone() { ! exists "$1" && ! exists ".det-trash-$1"; }
is() { [ "$(det c describe "$1" --json | jq -r .state)" = "STATE_$2" ]; }
went() { gone "$1" && is "$1" DELETED; }

# Saves after steps 1, 2, ... with the losses in the file, then waits for the file `end`.
folder saves <<'END'
#!/bin/sh
. ./save.sh
step=0
while read -r loss; do
    step=$((step + 1))
    save $step "$loss"
done <losses
until [ -e "$HOME/end" ]; do sleep 0.05; done
END
cat >saves/save.sh <<END
save() { # STEPS LOSS
    u=\$(printf '%08d-0000-4000-8000-%012d' "\$1" "\$DET_TRIAL_ID")
    mkdir -p "$T/storage/\$u/sub"
    echo weights >"$T/storage/\$u/model.bin"
    echo more >"$T/storage/\$u/sub/more"
    curl -sf -X POST -H "Grpc-Metadata-x-allocation-token: Bearer \$DET_SESSION_TOKEN" \\
        "\$DET_MASTER/api/v1/checkpoints" -d "{\"uuid\":\"\$u\",\"metadata\":{\"steps_completed\":\$1},\"resources\":{\"model.bin\":\"8\",\"sub/\":\"0\",\"sub/more\":\"5\"},\"state\":\"STATE_COMPLETED\",\"training\":{}}"
    det report --validation --steps "\$1" "loss=\$2"
}
END
printf '0.9\n0.1\n0.5\n0.7\n' >saves/losses
agent
soon 'an agent joins' joined
create saves >/dev/null
soon 'a checkpoint that is neither best nor last goes while the trial runs' went "$(uuid 1 1)"
soon 'so does one that was the last' went "$(uuid 3 1)"
ok 'the best stays' exists "$(uuid 2 1)/model.bin"
ok 'the last stays' exists "$(uuid 4 1)/model.bin"
fails 5 'what the trial would resume from cannot be deleted' det c delete --yes "$(uuid 4 1)"
says 'is not over and would resume from it'
ok 'they are listed' det checkpoint list --trial 1 --csv
says "$(uuid 2 1),1,2,COMPLETED,0.1,13,"
says "$(uuid 1 1),1,1,DELETED,"
fails 2 'a list of nobody is refused' det c list
fails 2 'so is one of two' det c list --experiment 1 --trial 1
says '--experiment and --trial cannot be used together'
ok 'one is described' det c describe "$(uuid 2 1)"
says "$T/storage/$(uuid 2 1)"
says 'model.bin'
ok 'also in capitals' det c describe "$(uuid 2 1 | tr a-f A-F)"
fails 2 'what is no uuid is refused' det c describe ../x
touch "$HOME/end"
ok 'the trial ends' det e wait 1 --timeout 120

# Downloading.
ok 'one is downloaded' det c download "$(uuid 2 1)" -o got
says '2 files'
same 'it is what was saved' weights "$(cat got/model.bin)"
same 'with what is inside' more "$(cat got/sub/more)"
fails 5 'nothing is overwritten' det c download "$(uuid 2 1)" -o got
fails 5 'a deleted one cannot be downloaded' det c download "$(uuid 1 1)" -o other
says 'nothing to download'
echo weightsX >"$T/storage/$(uuid 2 1)/model.bin"
det c download "$(uuid 2 1)" -o sized >"$OUT" 2>&1
result $((!$?)) 'a wrong size is noticed'
says 'has 9 bytes, not 8'

# A policy, previewed and set.
fails 2 'without a terminal nobody can be asked' det e set gc-policy 1 --save-trial-best 0 </dev/null
says "$(uuid 2 1)"
ok 'nothing has gone' exists "$(uuid 2 1)"
ok 'a policy is set' det e set gc-policy 1 --save-trial-best 0 --yes
soon 'and what it does not protect goes' went "$(uuid 2 1)"
ok 'the last stays still' exists "$(uuid 4 1)"

# On demand; the agent is killed, and does it when it is back.
slay $A
fails 2 'deleting asks' det c delete "$(uuid 4 1)" </dev/null
ok 'deleting is accepted without the agent' det c delete --yes "$(uuid 4 1)"
says "Deleting checkpoint $(uuid 4 1)"
ok 'it waits' det c describe "$(uuid 4 1)"
says 'DELETING'
says 'waits for'
ok 'its files are untouched: the master removes none' exists "$(uuid 4 1)/model.bin"
# As if it had been killed between hiding and removing.
mv "$T/storage/$(uuid 4 1)" "$T/storage/.det-trash-$(uuid 4 1)"
agent
soon 'the agent comes back' joined
soon 'and removes the rest' went "$(uuid 4 1)"

# A link in a checkpoint's place.
printf '0.9\n0.1\n' >saves/losses
create saves -f >/dev/null
mkdir "$T/precious"
echo precious >"$T/precious/file"
soon 'the first of another trial goes' went "$(uuid 1 2)"
mv "$T/storage/$(uuid 2 2)" "$T/moved"
ln -s "$T/precious" "$T/storage/$(uuid 2 2)"
ok 'it is to be deleted' det c delete --yes "$(uuid 2 2)"
failed() { det c describe "$1" | grep -q 'is a link'; }
soon 'a link is refused, and that is shown' failed "$(uuid 2 2)"
ok 'the link is there' test -L "$T/storage/$(uuid 2 2)"
same 'what it points to is untouched' precious "$(cat "$T/precious/file")"
same 'the log says it once' 1 "$(cat "$DATA"/*.log serve.log 2>/dev/null | grep -c 'could not be removed')"
rm "$T/storage/$(uuid 2 2)"
mv "$T/moved" "$T/storage/$(uuid 2 2)"
soon 'once it is a directory again it goes' went "$(uuid 2 2)"

# Only root may read it; 8002 has the case of an ordinary user.
if [ "$(id -u)" = 0 ]; then
    create saves -f >/dev/null
    soon 'the first of a third trial goes' went "$(uuid 1 3)"
    chmod 0 "$T/storage/$(uuid 2 3)/sub"
    ok 'it is to be deleted' det c delete --yes "$(uuid 2 3)"
    soon 'root removes a directory that nobody may read' went "$(uuid 2 3)"
else
    skip 'root removes a directory that nobody may read' 'needs root'
fi

# Unfinished checkpoints of a failed run.
folder torn <<END
#!/bin/sh
cluster=\$(curl -s "\$DET_MASTER/api/v1/master" | jq -r .clusterId | cut -c1-8)
mkdir -p "$T/storage/.det-\$cluster-\$DET_TRIAL_ID-\$DET_TRIAL_RUN_ID-$(uuid 7 7)/x"
mkdir -p "$T/storage/.det-\$cluster-999-1-$(uuid 8 8)"
exit 1
END
create torn -f >/dev/null
none_left() { ! find "$T/storage" -name "*$(uuid 7 7)" | grep -q .; }
soon 'what a failed run left unfinished goes' none_left
same "another's stays" 1 "$(find "$T/storage" -name "*$(uuid 8 8)" | grep -c .)"

# With its experiment.
ok 'an experiment is deleted' det e delete --yes 1
is_gone() { ! det e describe 1 >/dev/null 2>&1; }
soon 'with all it had' is_gone
kill $A
wait $A 2>/dev/null
