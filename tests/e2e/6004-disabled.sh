# SPDX-License-Identifier: Apache-2.0
# A disabled agent stays disabled, and an experiment that waits for it says so.
. "$(dirname "$0")/lib.sh"
need jq
platform --slots 2
until_true sh -c "det agent list --csv | grep -q ',yes,'"
AGENT=$(det agent list --csv | sed -n 2p | cut -d, -f1)
enabled() { det agent list --json | jq -r '.[0].enabled'; }

ok 'an agent is disabled' det -u admin agent disable "$AGENT"
ok 'the platform is stopped' det stop
platform --slots 1
same 'with another number of slots the agent is still disabled' false "$(enabled)"
ok 'a slot of it is enabled' det -u admin slot enable "$AGENT" 0
says "agent $AGENT is disabled"
same 'which does not enable the agent' false "$(enabled)"

printf '#!/bin/sh\necho here I am\n' | folder quick
det e create quick/const.yaml quick -f >follow 2>&1 &
FOLLOW=$!
soon 'who follows is told what is waited for' grep -q "no enabled slot in pool 'default'" follow
ok 'the agent is enabled' det -u admin agent enable "$AGENT"
wait $FOLLOW
same 'and the experiment runs' 0 $?
same 'it was said once' 1 "$(grep -c 'no enabled slot' follow)"
ok 'a slot of an enabled agent is enabled' det -u admin slot enable "$AGENT" 0
says_not 'disabled'
