# SPDX-License-Identifier: Apache-2.0
# The tiny BERT of examples/bert_hf through the real master: paused and resumed, its metrics, its checkpoints.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need_tensorflow
export HF_HUB_OFFLINE=1
platform --slots 2
cp -r "$HERE/../../examples/bert_hf" .
# The packages are those of the tests.
for file in bert_hf/*.yaml; do
    sed -i '/^environment:/,$d' "$file"
done

ok 'the example' det e create bert_hf/const.yaml bert_hf
trains() { det trial metrics 1 --csv | grep -q ',training,loss,'; }
soon 'it trains' trains
ok 'it is paused' det e pause 1
soon '... and stops' is_state PAUSED 1
ok 'it goes on' det e activate 1
ends_well() { det e wait "$1" || { det e logs "$1" | tail -30; return 1; }; }
ok '... to its end' ends_well 1
det e logs 1 >"$OUT"
says 'continuing after'
det trial metrics 1 --csv >metrics.csv
same 'each epoch is validated once' 3 "$(grep -c ',validation,eval_accuracy,' metrics.csv)"
same '... in steps of batches' '32 64 96' "$(sed -n 's/.*,validation,batches,//p' metrics.csv | xargs)"
good() { [ "$(sed -n 's/.*,validation,eval_accuracy,0\.\([0-9]\).*/\1/p' metrics.csv | tail -1)" -ge 7 ]; }
ok 'it learns' good
has_files() { find "$DATA" -path '*checkpoint-96/model.safetensors' | grep -q .; }
ok 'the last checkpoint holds the model' has_files

ok 'on two slots' det e create bert_hf/distributed.yaml bert_hf -f --config hyperparameters.epochs=1
det trial metrics 2 --csv >metrics.csv
same '... it is validated by both, and reported by one' 1 "$(grep -c ',validation,eval_accuracy,' metrics.csv)"
same '... after as many steps as with one' 32 "$(sed -n 's/.*,validation,batches,//p' metrics.csv)"
