# SPDX-License-Identifier: Apache-2.0
# A checkpoint that an agent without root may not remove (8001 has root's side).
ORDINARY_USER=1
. "$(dirname "$0")/lib.sh"
need curl jq
mkdir "$T/storage"
cat >master.yaml <<END
checkpoint_storage:
  type: shared_fs
  host_path: $T/storage
END
platform --config master.yaml
U=00000001-0000-4000-8000-000000000001
is_deleted() { [ "$(det c describe "$U" --json | jq -r .state)" = STATE_DELETED ]; }
is_denied() { det c describe "$U" | grep -qi 'permission denied'; }

folder saves <<END
#!/bin/sh
mkdir -p "$T/storage/$U/sub"
echo more >"$T/storage/$U/sub/more"
curl -sf -X POST -H "Grpc-Metadata-x-allocation-token: Bearer \$DET_SESSION_TOKEN" \\
    "\$DET_MASTER/api/v1/checkpoints" -d '{"uuid":"$U","metadata":{"steps_completed":1},"resources":{"sub/":"0","sub/more":"5"},"state":"STATE_COMPLETED","training":{}}'
END
ok 'a trial saves a checkpoint' create saves -f
chmod 0 "$T/storage/$U/sub"
ok 'it is to be deleted' det c delete --yes "$U"
soon 'a directory that may not be read is said' is_denied
ok 'its files are still there' test -d "$T/storage/.det-trash-$U/sub"
chmod 700 "$T/storage/.det-trash-$U/sub"
soon 'it is removed as soon as that is allowed' is_deleted
ok 'nothing is left' test ! -e "$T/storage/.det-trash-$U"
