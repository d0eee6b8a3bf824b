# SPDX-License-Identifier: Apache-2.0
"""Runs as each of two ranks (det launch mpi) in an environment with TensorFlow; rank 0 prints, round by round,

    average_ranks.py vector FLOATS ROUNDS    ms of: DetAverage, numpy_function with MPI_Allreduce, MPI_Allreduce alone
    average_ranks.py training ROUNDS         steps a second of: two processes each for itself, two that average

What is compared is done in turns, all ranks at the same time."""
import ctypes
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from determined import core
from determined.keras import _distribute
from determined.keras._package import keras

dist = core.DistributedContext.from_deepspeed()


def together_ms(function, *arguments):
    """The longest of all ranks, begun together."""
    dist.allgather(None)
    began = time.perf_counter()
    function(*arguments)
    return max(dist.allgather(1e3 * (time.perf_counter() - began)))


def show(*figures):
    if dist.rank == 0:
        print(*(f"{each:.4f}" for each in figures), flush=True)


def mpi_allreduce():
    """MPI_Allreduce(from, into) of floats, as anybody would call it from Python."""
    mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
    handle = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
    kind, operation, world = map(handle, ("ompi_mpi_float", "ompi_mpi_op_sum", "ompi_mpi_comm_world"))

    def call(own, into):
        place = lambda array: ctypes.c_void_p(array.ctypes.data)
        code = mpi.MPI_Allreduce(place(own), place(into), own.size, kind, operation, world)
        assert code == 0, code

    return call


def vector(floats, rounds):
    _distribute.join(dist)
    op, allreduce = _distribute._op[0].module, mpi_allreduce()
    own = tf.constant(np.random.default_rng(dist.rank).normal(size=floats).astype("float32"))
    bare, into = own.numpy().copy(), np.empty(floats, "float32")

    def through_numpy(array):
        means = np.empty_like(array)
        allreduce(array, means)
        means *= np.float32(1 / dist.size)
        return means

    ours = tf.function(lambda x: op.det_average(gradients=[x], stream=1)[0])
    theirs = tf.function(lambda x: tf.numpy_function(through_numpy, [x], tf.float32))
    np.testing.assert_allclose(ours(own), theirs(own), rtol=1e-5, atol=1e-6)
    for _ in range(rounds):
        show(together_ms(ours, own), together_ms(theirs, own), together_ms(allreduce, bare, into))


def model():
    keras.utils.set_random_seed(1)
    layers = keras.layers
    made = keras.Sequential([keras.Input((28, 28)), layers.Flatten(), layers.Dense(128, activation="relu"),
                             layers.Dropout(0.2), layers.Dense(10)])
    return made


class Clock(keras.callbacks.Callback):
    """The steps alone.  When fit() ends, TensorFlow now and then waits for the thread that tunes its pipelines, which
    sleeps for up to 0.6 s."""

    def on_train_begin(self, logs=None):
        self.began = time.perf_counter()

    def on_train_end(self, logs=None):
        self.ms = 1e3 * (time.perf_counter() - self.began)


def epoch_ms(each, x, y):
    """The longest of all ranks, begun together."""
    clock = Clock()
    dist.allgather(None)
    each.fit(x, y, batch_size=32, verbose=0, shuffle=False, callbacks=[clock])
    return max(dist.allgather(clock.ms))


def training(rounds):
    x = np.random.default_rng(0).normal(size=(16384, 28, 28)).astype("float32")
    y = np.zeros(len(x))
    alone, averaging = model(), _distribute.wrap_model(model(), dist)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for each in (alone, averaging):
        each.compile(keras.optimizers.Adam(), loss)
        each.fit(x[:64], y[:64], batch_size=32, verbose=0)
    for _ in range(rounds):
        show(*(len(x) / 32 / epoch_ms(each, x, y) * 1e3 for each in (alone, averaging)))


if sys.argv[1] == "vector":
    vector(int(sys.argv[2]), int(sys.argv[3]))
else:
    training(int(sys.argv[2]))
