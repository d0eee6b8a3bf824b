# SPDX-License-Identifier: Apache-2.0
# A search with many trials: lists that fit a screen, the best trials, and their order.
. "$(dirname "$0")/lib.sh"
need jq python3
tty() { python3 "$HERE/on_terminal.py" "$@"; }
platform
folder many <<'END_OF_SCRIPT'
#!/bin/sh
x=$(det hparam x)
[ "$x" != 3 ] || exit 0 # reports nothing
det report --steps "$x" --validation loss="$x"
END_OF_SCRIPT
cat >many/const.yaml <<'END_OF_FILE'
name: many
entrypoint: ./run.sh
searcher: {name: grid, metric: loss, max_concurrent_trials: 4}
hyperparameters:
  x: {type: categorical, vals: [8, 3, 30, 1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]}
max_restarts: 0
END_OF_FILE
ok 'a search of 30 trials ends' create many -f
rows() { grep -c ' COMPLETED ' "$OUT"; }
fits() { [ "$(wc -l <"$OUT")" -le "$1" ]; }

# On a terminal.
ok 'on a terminal, list-trials' env LINES=24 python3 "$HERE/on_terminal.py" -- det e list-trials 1
says '20 of 30 trials shown; --best 10 shows the best, --limit 0 shows all'
same 'as many as it says' 20 "$(rows)"
ok 'on a terminal, describe' env LINES=24 python3 "$HERE/on_terminal.py" -- det e describe 1
says ' of 30 trials shown; --best 10 shows the best, --limit 0 shows all'
fits 25 # with the line that on_terminal.py adds
result $? '... fits the screen'
ok 'a larger screen shows more' env LINES=50 python3 "$HERE/on_terminal.py" -- det e lt 1
same 'all of them' 30 "$(rows)"
says_not 'trials shown'
ok '--limit 0 shows all' env LINES=24 python3 "$HERE/on_terminal.py" -- det e lt 1 --limit 0
same 'all of them' 30 "$(rows)"
ok '--pages all too' env LINES=24 python3 "$HERE/on_terminal.py" -- det e lt 1 --pages all --limit 5
same 'all of them' 30 "$(rows)"
ok 'who limits the list is told how many there are' tty -- det e lt 1 --limit 3
says '3 of 30 trials shown'
says_not '--best 10'

# In pipes, nothing is hidden unless it was asked for.
for command in 'e describe 1' 'e list-trials 1'; do
    # shellcheck disable=SC2086 # several words
    ok "det $command in a pipe" env LINES=5 det $command
    same '... shows all trials' 30 "$(grep -c ' COMPLETED  ' "$OUT")"
    says_not 'trials shown'
done
ok 'CSV on a terminal has all' env LINES=10 python3 "$HERE/on_terminal.py" -- det e lt 1 --csv
same '... of them' 30 "$(grep -c ',COMPLETED,' "$OUT")"
says_not 'trials shown'

# The best, and other orders.
bests() { det e lt 1 --csv "$@" | sed 1d | cut -d, -f4 | tr '\n' ' '; }
same '--best gives the best first' '1 2 4 ' "$(bests --best 3)"
same 'and no trial without a metric' 29 "$(bests --best 100 | wc -w)"
same '--sort best puts a trial without a metric last' '29 30  ' "$(det e lt 1 --csv --sort best --offset 27 | sed 1d | cut -d, -f4 | tr '\n' ' ')"
same '--reverse turns an order round' '30 29 ' "$(bests --sort batches --reverse --limit 2)"
same '--offset leaves out the first' '3 4 ' "$(det e lt 1 --csv --limit 2 --offset 2 | sed 1d | cut -d, -f1 | tr '\n' ' ')"
ok 'describe takes them too' sh -c 'det e describe 1 --best 2 --json | jq -ce "[.[0].trials[].searcherMetricValue] == [1,2]"'
ok 'describe --metrics shows metrics' det e describe 1 --best 1 --metrics
says 'metrics of trial '
says 'LOWEST'
det e create many/const.yaml many --config searcher.smaller_is_better=false -f >/dev/null 2>&1
same 'where larger is better, the best are the largest' '30 29 ' \
    "$(det e lt 2 --csv --best 2 | sed 1d | cut -d, -f4 | tr '\n' ' ')"
fails 2 '--best and --limit contradict each other' det e lt 1 --best 3 --limit 2
says '--best sorts and limits the list'
fails 2 'an order that is none is refused' det e describe 1 --sort loss
says 'expected one of id, state, batches, best'
