# SPDX-License-Identifier: Apache-2.0
# Workspaces and projects from the command line: what they are, what is in them, and their end.
. "$(dirname "$0")/lib.sh"
need jq
platform
ok 'there is one workspace at the start' det workspace list
says 'Uncategorized'
ok 'a workspace is made' det w create Vision
says_line 'Created workspace Vision with id 2'
fails 5 'not twice' det w create Vision
says 'avoid names equal to other workspaces'
fails 2 'nor with a name like a path' det w create ../etc
says 'must not look like a path'
fails 2 'nor with a line break' det w create 'a
b'
says 'control characters'
ok 'its owner sees it pinned' sh -c 'det w list --csv | grep -q "^2,Vision,determined,0,0,yes,no$"'
ok 'and unpins it' det w unpin Vision
ok 'and pins it' det w pin Vision
ok 'a project is made in it' det p create Vision digits -d 'pictures of digits' -k dig
says_line 'Created project digits with id 2 and key DIG'
fails 5 'a key names one project' det p create Vision other --key DIG
says 'project key DIG is already in use'
fails 2 'a key is short' det p create Vision other --key TOOLONG
fails 4 'no project without a workspace' det p create Nowhere p
says "there is no workspace 'Nowhere'"
ok 'it is listed' det w list-projects Vision
says 'pictures of digits'
ok 'as JSON too' sh -c 'det p list Vision --json | jq -e ".[0].key == \"DIG\""'
ok 'an empty one says so' sh -c 'det p list-experiments Vision digits 2>&1 | grep -q "no experiments in project"'

printf '#!/bin/sh\nexit 0\n' | folder job
ok 'an experiment is submitted into it' create job --project_id 2
det e wait "$ID" >/dev/null
ok 'and shown there' sh -c "det p list-experiments Vision digits --csv | grep -q '^$ID,'"
ok 'it says where it is' det e describe "$ID"
says 'project      digits'
says 'workspace    Vision'
ok 'a configuration names its place' create job --config workspace=Vision --config project=digits
det e wait "$ID" >/dev/null
fails 4 'a place that must exist' create job --config workspace=Vision --config project=none
says "project 'none' not found"
ok 'another project' det p create Vision letters
ok 'gets an experiment' det e move 2 Vision letters
says_line 'Moved experiment 2 to project letters'
ok 'which is now there' sh -c "det p le Vision letters --json | jq -e '.[0].id == 2'"
fails 4 'not one that is unknown' det e move 99 Vision letters
ok 'a note is added' det p add-note Vision letters plan 'first A, then B'
ok 'and shown' det p describe Vision letters
says 'first A, then B'
ok 'it is renamed' det p edit Vision letters --name glyphs --description all
fails 2 'with nothing to change it says so' det p edit Vision glyphs
says 'nothing to change'
ok 'it is archived' det p archive Vision glyphs
fails 5 'and takes nothing more' det e move 1 Vision glyphs
says 'archived and cannot add new experiments'
ok 'it is hidden' sh -c '! det p list Vision | grep -q glyphs'
ok 'unless all are wanted' sh -c 'det p list Vision --all | grep -q glyphs'
ok 'and comes back' det p unarchive Vision glyphs
det w create Speech >/dev/null
ok 'it moves to another workspace' det p move Vision glyphs Speech
ok 'and is there' det p describe Speech glyphs
says 'workspace    Speech'

printf 'entrypoint: "true"\nresources: {slots: 0}\n' >job.yaml
ok 'a job is put into a workspace' det job run job.yaml --workspace-name Speech
ok 'and is there' sh -c 'det task list --all --json | jq -e ".[0].workspaceName == \"Speech\""'
fails 2 'not into a workspace and a project' det job run job.yaml -w Speech --project_id 1
says 'exclude each other'
fails 4 'nor into one that is not there' det job run job.yaml -w Nowhere
says "there is no workspace 'Nowhere'"
ok 'a TensorBoard too' det tensorboard start 2 -w Speech --detach
ok 'which the list of the workspace has' sh -c 'det tensorboard list --all --csv -w Speech | grep -q ",Speech$"'
ok 'and that of another has not' sh -c '! det tensorboard list --all --csv -w Vision | grep -q ",Speech$"'
fails 4 'a TensorBoard needs a workspace that is there' det tensorboard start 2 -w Nowhere --detach
ok 'it is killed' sh -c 'det tensorboard kill $(det tensorboard list --json | jq -r ".[0].id")'

ok 'another person is there' det -u admin user create anna --password 'first one'
det user login anna -p 'first one' >/dev/null
fails 3 'who may not rename it' det w edit Vision --name Mine
fails 3 'nor archive it' det w archive Vision
fails 3 'nor delete it' det w delete Vision -y
fails 3 'nor set the user of its tasks' det w edit Vision --agent-uid 0
ok 'but see it' det w describe Vision
says 'owner        determined'
det user logout >/dev/null
ok 'its owner sets where checkpoints go' det w edit Vision --checkpoint-storage-config "{type: shared_fs, host_path: $DATA/checkpoints/space}"
ok 'and sees it' sh -c 'det w describe Vision --json | jq -e ".checkpointStorageConfig.type == \"shared_fs\""'
fails 2 'an incomplete storage is refused' det w edit Vision --checkpoint-storage-config '{type: shared_fs}'
says 'host_path'
ok 'which is merged into what names none' sh -c "det e create job/const.yaml job --paused --project_id 2 >/dev/null && det e config 3 --json | jq -e '.checkpoint_storage.host_path == \"$DATA/checkpoints/space\"'"
fails 5 'a workspace with live experiments stays' det w delete Vision -y
says 'experiment 3'
det e kill 3 >/dev/null
until_true is_state CANCELED 3
fails 2 'it asks before it deletes' sh -c 'det w delete Vision </dev/null'
ok 'a workspace goes with all that is in it' det w delete Vision -y
says_line 'Deleted workspace Vision'
fails 4 'its experiments too' det e describe 1
fails 4 'and itself' det w describe Vision
ok 'but what was moved out stays' det e describe 2
ok 'a project goes' det p delete Speech glyphs -y
fails 4 'with its experiment' det e describe 2
