# SPDX-License-Identifier: Apache-2.0
# Entrypoints: a command, a list, a class; and how they fail.
. "$(dirname "$0")/lib.sh"
platform
printf '#!/bin/sh\nfor a in "$@"; do echo "<$a>"; done\n' | folder entry
point() {
    printf 'name: entry\nentrypoint: %s\nsearcher: {name: single}\nmax_restarts: 0\n' "$1" >entry/const.yaml
}

point "echo one; echo \"\$DET_TRIAL_ID two\" | tr a-z A-Z"
ok 'a string is a command for the shell' create entry -f
says '|| one'
says '|| 1 TWO'
point "[./run.sh, 'a b', '\$HOME', ';']"
ok 'a list is taken word by word' create entry -f
says '<a b>'
says "<\$HOME>"
says '<;>'
point './run.sh --flag'
ok 'a string may have arguments' create entry -f
says '<--flag>'
point 'nowhere-to-be-found'
fails 1 'a command that does not exist fails' create entry -f
says 'code 127 (a command was not found)'
point '[./const.yaml]'
fails 1 'a file that cannot be run fails' create entry -f
says 'const.yaml'
point 'kill -9 $$'
fails 1 'a task that kills itself fails' create entry -f
says 'SIGKILL'
point 'model_def:MNISTTrial'
ok 'a class is taken' create entry
det e wait "$ID" >/dev/null 2>&1
same 'and ends' ERROR "$(state "$ID")"
ok 'its log says why: the package is not here' det e logs "$ID"
grep -q "determined\|model_def\|python3" "$OUT"
result $? '... and names it'
printf 'exit 7\n' >entry/startup-hook.sh
point 'echo never'
fails 1 'a hook that fails ends the task' create entry -f
says_not '|| never'
says 'code 7'
