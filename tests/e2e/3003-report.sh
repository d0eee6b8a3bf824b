# SPDX-License-Identifier: Apache-2.0
# det report, hparam and preempted inside a task; odd numbers; the example.
. "$(dirname "$0")/lib.sh"
need jq
platform
folder report <<'END'
#!/bin/sh
try() { "$@" 2>&1; echo "exit code $?"; }
det hparam lr
det hparam opt.momentum
det hparam text
det hparam list
det hparam opt
try det hparam lrr
try det report
try det report loss
try det report --progress 3
try det report --validation --group x loss=1
try det report --steps -1 loss=1
try det preempted
det report --steps 1 loss=nan acc=inf worse=-Infinity word:=hello whole=7 tiny=1e-300
det report --steps 2 loss=0.5
det report --steps 2 --validation loss=0.25
det report --steps 2 --group mine speed=3
det report --progress 0.5
try det report --steps 2 loss=0.75 --wait
try env DET_TRIAL_RUN_ID=7 det report --steps 3 loss=1 --wait
try env DET_TRIAL_ID=x det report --steps 3 loss=1
try env -u DET_REPORT_RING det report --steps 3 loss=1
try det report --steps 4 loss=1,5
try det report --steps 4 loss=1e999
try det report --steps 4 loss=1 loss=2
try det report --steps 4 "$(printf 'two\nlines')=1"
try det report --steps 4 --validation loss:=abc
try det report --status "$(printf '%01500d' 0)"
try det hparam 'list[1]'
try det hparam list.0
END
sed -i 's/hyperparameters: .*/hyperparameters: {lr: 0.125, opt: {momentum: 0.9}, text: some words, list: [1, 2]}/' report/const.yaml
ok 'it runs' create report -f
det t logs 1 | sed 's/^[^|]*|| //' >log
line() { sed -n "/^$1/,\$p" log | sed -n "$2"; }
says '|| 0.125'
says '|| 0.9'
says '|| some words'
says '|| [1,2]'
says '|| {"momentum":0.9}'
says "there is no hyperparameter 'lrr'"
says "did you mean 'lr'?"
says 'there is nothing to report'
says "'loss' is not of the form NAME=VALUE"
says 'expected 0 to 1'
says '--validation and --group cannot be used together'
same 'preempted exits 1 when nothing was asked' 'exit code 1' "$(grep 'exit code' log | sed -n 7p)"
same 'who waits hears that the master refused' 'exit code 5' "$(grep 'exit code' log | sed -n 8p)"
says 'a report was refused: '
says 'the master refused a report: '
same 'also one of another run' 'exit code 3' "$(grep 'exit code' log | sed -n 9p)"
same 'a variable that makes no sense is refused' 'exit code 2' "$(grep 'exit code' log | sed -n 10p)"
says "DET_TRIAL_ID is 'x'; expected a whole number"
same 'so is one that is missing' 'exit code 2' "$(grep 'exit code' log | sed -n 11p)"
says 'DET_REPORT_RING is not set'
same 'values and names that are none are refused' '2 2 2 2 2 2' \
    "$(sed -n 's/^exit code //p' log | sed -n 12,17p | tr '\n' ' ' | sed 's/ $//')"
says "the value '1,5' of 'loss' is not a number"
says "text is reported as 'loss:=1,5'"
says "the metric 'loss' is given twice"
says 'another control character'
says "the metric 'loss' is a string; the experiment's searcher uses it"
says 'the status has 1500 bytes'
same 'elements of lists are found' '2 1' "$(grep -B1 'exit code' log | grep -v -e '^--' -e exit | tail -2 | tr '\n' ' ' | sed 's/ $//')"

det t metrics 1 --csv >metrics
cp metrics "$OUT"
grep -qi ',1,.*,training,loss,nan' metrics
result $? 'NaN is stored as such'
grep -qi ',training,acc,inf' metrics
result $? 'infinity too'
grep -qi ',training,worse,-inf' metrics
result $? 'also below zero'
grep -q ',training,word,hello' metrics
result $? 'words too'
grep -q ',training,tiny,1e-300' metrics
result $? 'very small numbers too'
grep -q ',2,.*,training,loss,0.5$' metrics
result $? 'the refused value has changed nothing'
grep -q ',2,.*,mine,speed,3' metrics
result $? 'a group of its own is there'
grep -q ',validation,loss,0.25' metrics
result $? 'validation is there'
ok 'JSON with NaN in it is JSON' sh -c 'det t metrics 1 --json | jq -e . >/dev/null'

cp -r "$HERE/../../examples/shell_search" shell_search
ok 'the example runs' det e create shell_search/search.yaml shell_search -f
says 'experiment 2 is COMPLETED'
same 'with six trials' 6 "$(det e list-trials 2 --csv | grep -c ,COMPLETED,)"
same 'each with 20 training reports' 20 "$(det t metrics 2 --csv | grep -c ,training,loss,)"
same 'and four validations' 4 "$(det t metrics 2 --csv | grep -c ,validation,slope,)"
ok 'its metrics can be drawn' det e metrics 2
says 'loss'
