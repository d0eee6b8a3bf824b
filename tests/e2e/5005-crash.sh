# SPDX-License-Identifier: Apache-2.0
# A Python program that crashes in native code: the log shows where it was.
. "$(dirname "$0")/lib.sh"
need python3
platform
mkdir crash
cat >crash/train.py <<'PY'
import ctypes


def read_the_weights():
    ctypes.string_at(0)


read_the_weights()
PY
cat >crash/const.yaml <<'YAML'
name: crash
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
max_restarts: 0
YAML
create crash >/dev/null
det e wait 1 >/dev/null
same 'it fails' ERROR "$(state 1)"
ok 'its log is read' det t logs 1
says 'Segmentation fault'
says 'train.py", line 5 in read_the_weights'
says 'train.py", line 8 in <module>'
cat >>crash/const.yaml <<'YAML'
environment: {environment_variables: [PYTHONFAULTHANDLER=]}
YAML
create crash >/dev/null
det e wait 2 >/dev/null
ok 'who sets the variable decides' det t logs 2
says_not 'read_the_weights'
