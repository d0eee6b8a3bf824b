# SPDX-License-Identifier: Apache-2.0
# A master dies and comes back with TLS: tasks that began without it go on.
. "$(dirname "$0")/lib.sh"
need jq
platform --slots 1
folder long <<'END'
#!/bin/sh
echo begun >>"$HOME/begun"
until [ -e "$HOME/go" ]; do sleep 0.05; done
det report --wait --steps 1 --validation loss=0.5
det master info
END
create long >/dev/null
soon 'a task begins without TLS' test -e "$HOME/begun"
slay "$(jq .pid "$DATA/master.json")"
PORT=$(url | sed 's/.*://')
platform --slots 1 --tls
same 'the next master speaks TLS' https "$(url | cut -d: -f1)"
soon 'the agent has put the certificate into the directory of the task' sh -c "ls '$DATA'/agent/tasks/*/master.crt"
touch "$HOME/go"
ok 'and the task ends well' det e wait "$ID" --timeout 60
same 'its report arrived' COMPLETED "$(state "$ID")"
same 'it was not started again' 1 "$(grep -c . "$HOME/begun")"
ok 'its own calls found the master' sh -c "det t logs 1 | grep -q 'https://127.0.0.1:$PORT'"
