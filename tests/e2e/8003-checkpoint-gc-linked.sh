# SPDX-License-Identifier: Apache-2.0
# The files of a run are removed and sent with the identity that the run had, whatever links
# and configuration say later.
. "$(dirname "$0")/lib.sh"
need curl jq
[ "$(id -u)" = 0 ] || skip_all 'only a root agent runs tasks as other users'
chmod 755 "$T" # tasks of other users pass through it
mkdir -p "$HOME" && chmod 755 "$HOME"
mkdir -m 1777 "$T/storage"
cat >master.yaml <<END1
security: {default_task: {uid: 54320, gid: 54320}}
checkpoint_storage: {type: shared_fs, host_path: $T/storage}
checkpoint_storage_roots: ["$T/storage"]
END1
platform --config master.yaml
folder saves <<'END1'
#!/bin/sh
umask 077
mkdir state && echo "weights of $(id -u)" >state/w
det checkpoint save state --steps 1 --wait
END1
det -u admin user link-with-agent-user determined --agent-uid 54321 --agent-gid 54321 --agent-user visitor --agent-group visitors >/dev/null
ok 'a run of a linked user saves a checkpoint' create saves -f
U=$(det e list-checkpoints 1 --json | jq -r '.[0].uuid')
same 'as that user' 54321 "$(stat -c %u "$T/storage/$U")"
ok 'the link is ended' det -u admin user link-with-agent-user determined --remove
ok 'a run of nobody in particular saves one' create saves -f
V=$(det e list-checkpoints 2 --json | jq -r '.[0].uuid')
same 'as the user of the configuration' 54320 "$(stat -c %u "$T/storage/$V")"
ok 'the linked user has one again, another' det -u admin user link-with-agent-user determined --agent-uid 54322 --agent-gid 54322 --agent-user other --agent-group others
TOKEN=$(login)
sent() { curl -sf -H "Authorization: Bearer $TOKEN" -H 'Accept: application/x-tar' "$(url)/checkpoints/$1" | tar xO --wildcards '*w'; }
same 'the master sends the first checkpoint' 'weights of 54321' "$(sent "$U")"
same 'and the second' 'weights of 54320' "$(sent "$V")"
ok 'both are to be deleted' det c delete --yes "$U" "$V"
is_deleted() { [ "$(det c describe "$1" --json | jq -r .state)" = STATE_DELETED ]; }
soon 'the first is removed as its writer' is_deleted "$U"
soon 'the second too' is_deleted "$V"
same 'nothing is left' '' "$(ls -A "$T/storage")"
