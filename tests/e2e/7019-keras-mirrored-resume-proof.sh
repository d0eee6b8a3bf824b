# SPDX-License-Identifier: Apache-2.0
# det resume-proof of Keras under MirroredStrategy: metrics and the running statistics of a BatchNormalization belong to
# each replica, and the trainer resumes with all of them.
# SOAK_KILLS: how often it is killed (2).  SEED: when.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need_tensorflow
platform --slots 1
cp -r "$HERE/scripts/keras_mirrored" .
ok 'killed in the middle of epochs, two replicas end with the same bits' \
    det resume-proof keras_mirrored/const.yaml keras_mirrored --kills "${SOAK_KILLS:-2}" --seed "${SEED:-1}"
says 'Proven: killed'
