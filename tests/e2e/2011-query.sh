# SPDX-License-Identifier: Apache-2.0
# det experiment list --query: hyperparameters, metrics and other columns.
. "$(dirname "$0")/lib.sh"
need jq
platform
for rate in 0.5 0.25; do
    folder "rate-$rate" <<END
#!/bin/sh
det report --steps 10 --validation loss=$rate gain=4
END
    sed -i "s/lr: 0.1/rate: $rate/" "rate-$rate/const.yaml"
    create "rate-$rate" -f >/dev/null
done
det e label add 2 baseline >/dev/null

ok 'a hyperparameter' det e list --query 'rate < 0.4'
says 'rate-0.25'
says_not 'rate-0.5'
ok 'a metric, a label and a state' \
    sh -c "det e list --json --query 'gain = 4 and label:baseline and state:COMPLETED' | jq -e 'length == 1 and .[0].id == 2'"
ok 'JSON shows everything' \
    sh -c "det e list --json --query 'id = 1' | jq -e '.[0].config.searcher.metric == \"loss\"'"
ok 'in the order of a list' sh -c "det e list --json --query 'gain = 4' | jq -e 'map(.id) == [1, 2]'"
ok 'the newest ones' sh -c "det e list --json --limit 1 --query 'gain = 4' | jq -e 'map(.id) == [2]'"
ok 'with other filters' sh -c "det e list --json --label baseline --query 'gain = 4' | jq -e 'map(.id) == [2]'"
ok 'archived ones are asked for' sh -c "det e archive 1 >/dev/null && det e list --json --query 'gain = 4' | jq -e 'length == 1'"
ok 'and shown' sh -c "det e list -a --json --query 'gain = 4' | jq -e 'length == 2'"
ok 'no match is said' det e list --query 'rate > 9'
says 'no experiments of yours match'
fails 2 'a mistake names column and character' det e list --query 'gain = 4 and rat < 1'
says "column 'rat' at character 14: there is no such column; did you mean 'rate'?"
fails 2 'an unknown state is refused, and the known ones are named' det e list --query 'state = BOGUS'
says "column 'state': there is no 'BOGUS' (character 9); known are ACTIVE, PAUSED,"
says 'COMPLETED, CANCELED, ERROR'
says 'QUEUED, PULLING, STARTING, RUNNING'
fails 2 'a name belongs into the query' det e list --name rate --query 'gain = 4'
says "write name ~ 'rate' in the query"
