# SPDX-License-Identifier: Apache-2.0
# The Keras examples through a real master: the configuration for one trial of each, those for
# two slots, a search; shortened, on small drawn data.  And the archives of the tutorials.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need jq tar gzip
DRAWN_DATA=640
need_tensorflow
platform --slots 2
ROOT=$(cd "$HERE/../.." && pwd)

# The environment of the tests has TensorFlow already.
example() { # NAME CONFIGURATION [ARGS...]: submits it; $ID is its number
    [ -d "$1" ] || cp -r "$ROOT/examples/$1" .
    sed -i '/requirements: requirements.txt/d' "$1/$2.yaml"
    name=$1
    file=$2
    shift 2
    det e create "$name/$file.yaml" "$name" --config max_restarts=0 "$@" >"$T/created" 2>&1
    code=$?
    cat "$T/created"
    ID=$(sed -n 's/^Created experiment //p' "$T/created")
    return $code
}
ends_well() {
    det e wait "$1" && return
    det e logs "$1" | tail -30
    return 1
}
trial_of() { det e list-trials "$1" --csv | sed -n '2s/,.*//p'; }
values() { det t metrics "$(trial_of "$1")" --csv -n "$2" | grep ",$3,$2," | cut -d, -f7; }
count() { values "$@" | wc -l | tr -d ' '; }
falls() { values "$1" "$2" "$3" | awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(NR > 1 && last < first) }'; }

# All are submitted before anybody waits: two slots never idle.
cp -r "$ROOT/examples/mnist_tf_keras" .
sed -i 's/max_steps: 40/max_steps: 2/; s/min_validation_period: 10/min_validation_period: 1/' mnist_tf_keras/const.yaml
ok 'the tutorial' example mnist_tf_keras const
MNIST=$ID
says 'Preparing files'
ok 'the clothes' example fashion_mnist_tf_keras const --config searcher.max_length.batches=60 \
    --config min_validation_period.batches=20 --config min_checkpoint_period.batches=20 --config scheduling_unit=10
FASHION=$ID
ok 'the colour pictures' example cifar10_cnn_tf_keras const --config searcher.max_length.batches=16 \
    --config min_validation_period.batches=8 --config min_checkpoint_period.batches=8 --config scheduling_unit=4 \
    --config hyperparameters.filters=4 --config hyperparameters.global_batch_size=32
CIFAR=$ID
ok 'the irises' example iris_tf_keras const --config hyperparameters.epochs=40
IRIS=$ID
ok 'the trainer' example keras_trainer const --config searcher.max_length.epochs=2
TRAINER=$ID
ok 'a search' example mnist_tf_keras search --config searcher.max_length.records=320 \
    --config min_validation_period.records=160 \
    --config 'hyperparameters.global_batch_size={"type":"categorical","vals":[32,64]}'
SEARCH=$ID

ok 'the tutorial is trained' ends_well "$MNIST"
same '... for 200 batches, in two reports' 2 "$(count "$MNIST" loss training)"
same '... validated after each hundred' 2 "$(count "$MNIST" val_accuracy validation)"
ok '... and learns' falls "$MNIST" loss training
ok '... from drawn digits, which it says' sh -c "det e logs $MNIST | grep 'mnist: drawn pictures take its place'"
ok 'the clothes are' ends_well "$FASHION"
same '... and validated' 3 "$(count "$FASHION" val_accuracy validation)"
ok '... and learned' falls "$FASHION" loss training
ok 'the colour pictures are' ends_well "$CIFAR"
same '... and validated' 2 "$(count "$CIFAR" val_accuracy validation)"
ok 'the irises are' ends_well "$IRIS"
same '... in every epoch' 40 "$(count "$IRIS" categorical_accuracy validation)"
ok '... and learned' falls "$IRIS" loss validation
ok 'the trainer trains' ends_well "$TRAINER"
same '... as long as the configuration says' 2 "$(count "$TRAINER" val_sparse_categorical_accuracy validation)"
ok '... and learns' falls "$TRAINER" loss training
ok 'the search is done' ends_well "$SEARCH"
same '... with two trials' 2 "$(det e list-trials "$SEARCH" --json | jq length)"

# ---- what a trained model sees

ok 'a model is loaded without its code' env PYTHONPATH="$build/pylib" python3 keras_trainer/predict.py "$(trial_of "$TRAINER")"
says 'seen: '

# ---- two slots

if command -v mpirun >/dev/null; then
    ok 'the tutorial on two slots' example mnist_tf_keras distributed --config searcher.max_length.batches=20 \
        --config min_validation_period.batches=10
    TWO=$ID
    ok '... is trained' ends_well "$TWO"
    same '... and validated' 2 "$(count "$TWO" val_accuracy validation)"
    ok 'the trainer on two slots' example keras_trainer distributed --config searcher.max_length.epochs=2
    ok '... trains' ends_well "$ID"
    same '... and validates' 2 "$(count "$ID" val_sparse_categorical_accuracy validation)"
    ok '... and learns' falls "$ID" loss training
    ok 'the irises on two slots' example iris_tf_keras distributed --config hyperparameters.epochs=3
    ok '... are trained' ends_well "$ID"
    same '... and validated' 3 "$(count "$ID" categorical_accuracy validation)"
else
    skip 'two slots' 'Open MPI is not here'
fi

# ---- what the tutorials offer for download

ok 'they are packed' "$ROOT/tools/pack-examples" one
says 'mnist_tf_keras.tgz'
says 'fashion_mnist_tf_keras.tgz'
says 'cifar10_cnn_tf_keras.tgz'
ok 'and again' "$ROOT/tools/pack-examples" two
ok 'the same files give the same bytes' diff -r one two
ok 'they hold the example' sh -c 'tar -tzf one/mnist_tf_keras.tgz | grep -qx mnist_tf_keras/model_def.py'
same 'and nobody' 0/0 "$(tar -tvzf one/mnist_tf_keras.tgz | awk '{ print $2 }' | sort -u)"
