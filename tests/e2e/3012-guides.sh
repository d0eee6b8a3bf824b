# SPDX-License-Identifier: Apache-2.0
# The chapters on training in Python and in C: what stands there runs as it stands there.
. "$(dirname "$0")/lib.sh"
need python3 jq cc
BUILD=$(dirname "$DET")
if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ]; then
    skip 'the guides run' 'the Python package is not built'
    exit 0
fi
platform --slots 2

# blocks PAGE LANGUAGE: each into LANGUAGE.1, LANGUAGE.2, ... of a folder named after the page
blocks() {
    mkdir -p "$1"
    awk -v to="$1/$2." -v begin="\`\`\`$2" '
        $0 == begin { n++; inside = 1; next }
        /^```/ { inside = 0 }
        inside { print > (to n) }' "$HERE/../../docs/guide/$1.md"
}

# ---- Python

page=core-api-in-python
blocks $page python
blocks $page yaml
mkdir first loop
cp $page/python.1 first/train.py
cp $page/yaml.1 first/const.yaml
ok 'the smallest trial in Python' det experiment create first/const.yaml first -f
ok 'its trials are listed' det experiment list-trials 1
says COMPLETED
ok 'and its metrics' det trial metrics 1
same 'all ten' 10 "$(det t metrics 1 --csv | grep -c ,validation,loss,)"
cp $page/python.2 loop/train.py
cp $page/yaml.2 loop/loop.yaml
ok 'the whole loop' det experiment create loop/loop.yaml loop -f
same 'each step once' 1000 "$(det t metrics 2 --csv | grep -c ,training,weight,)"

# ---- C

page=training-in-c
blocks $page c
blocks $page sh
blocks $page yaml
n=0
for program in "$page"/c.*; do
    grep -q 'int main' "$program" || continue
    n=$((n + 1))
    mkdir "c$n"
    cp "$program" "c$n/train.c"
    cp $page/sh.1 "c$n/startup-hook.sh"
    cp $page/yaml.1 "c$n/const.yaml"
    det e create "c$n/const.yaml" "c$n" >/dev/null
done
ok 'there are several programs in C' test "$n" -ge 6
experiment=2
while [ "$experiment" -lt $((n + 2)) ]; do
    experiment=$((experiment + 1))
    ok "program $((experiment - 2)) of the chapter on C" det e wait "$experiment"
done
same 'the smallest one reported' 10 "$(det t metrics 3 --csv | grep -c ,validation,loss,)"

# ---- without a platform

cd first || exit 99
ok 'the Python script alone' env PYTHONPATH="$BUILD/pylib" DET_OFFLINE_DIR=run1 python3 train.py
ok 'leaves its reports' test -e run1/run.json
cd ../c1 || exit 99
ok 'the program alone compiles' cc -o train train.c -I"$HERE/../../include" -L"$BUILD" -Wl,-rpath,"$BUILD" -l:libdet.so -lm
ok 'and runs' env DET_HPARAMS='{"lr": 0.1}' DET_OFFLINE_DIR=run1 ./train
fails 1 'without its hyperparameter it says so' env DET_OFFLINE_DIR=run1 ./train
says "there is no hyperparameter 'lr'"
