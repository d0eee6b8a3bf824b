# SPDX-License-Identifier: Apache-2.0
# The line that says how far something is: on a terminal only.
. "$(dirname "$0")/lib.sh"
need python3
tty() { python3 "$HERE/on_terminal.py" "$@"; }
platform --slots 1
folder search <<'END_OF_SCRIPT'
#!/bin/sh
x=$(det hparam x)
echo "trial $x begins"
until [ -e "$HOME/go$x" ]; do sleep 0.05; done
det report --steps 1 --validation loss="$x"
END_OF_SCRIPT
cat >search/const.yaml <<'END_OF_FILE'
name: search
entrypoint: ./run.sh
searcher: {name: grid, metric: loss, max_concurrent_trials: 1}
hyperparameters: {x: {type: categorical, vals: [1, 2, 3]}}
max_restarts: 0
END_OF_FILE

fails 130 'create -f shows how far the search is' \
    tty 'expect=begins' 'expect=experiment 1: ' 'expect=0 of 3 trials done, 1 running' 'send=\x03' \
    -- det e create search/const.yaml search -f
says 'keeps running'
fails 130 'so does wait' tty 'expect=experiment 1: 0 of 3 trials done, 1 running' 'send=\x03' -- det e wait 1
touch "$HOME/go1" "$HOME/go2" "$HOME/go3"
ok 'in a pipe, wait' det e wait 1
says_line 'experiment 1 is COMPLETED'
says_not 'trials done'
same '... says nothing else' 1 "$(wc -l <"$OUT")"
rm "$HOME"/go*
ok 'a search that goes on' create search
touch "$HOME/go1" "$HOME/go2" "$HOME/go3"
ok 'ends while a terminal waits' tty -- det e wait "$ID"
says "experiment $ID is COMPLETED"
ok 'create -f in a pipe' det e create search/const.yaml search -f
says_not 'trials done'
fails 0 'a terminal that cannot erase lines is left alone' tty -- env TERM=dumb det e create search/const.yaml search -f
says_not 'trials done'

# Uploads.
head -c 12000000 /dev/urandom >search/large
ok 'a large folder is sent' tty -- det e create search/const.yaml search --paused
says 'Reading files... '
says 'Sending '
says ' to the master... '
ok 'in a pipe' det e create search/const.yaml search --paused
says_not 'Sending '
says_not 'Reading files'
