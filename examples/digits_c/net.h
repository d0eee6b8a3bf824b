/* SPDX-License-Identifier: Apache-2.0 */
/* net.h - a small convolutional network: two convolutions, each rectified and halved,
 * and a dense layer.
 *
 *   28x28 --5x5--> F of 24x24 --half--> 12x12 --5x5--> 2F of 8x8 --half--> 4x4 --> 10
 *
 * Everything it has learnt is one array of floats, and so is the momentum: what belongs
 * into a checkpoint is two arrays.  BLAS multiplies the matrices, on one thread and
 * always in the same order: equal inputs give equal bits. */
#ifndef NET_H
#define NET_H

#include <stddef.h>
#include <stdint.h>

struct net {
    int filters;   /* F */
    size_t count;  /* of weights */
    float *weight; /* and behind them, of the same size each: */
    float *momentum;
    float *gradient; /* sums over a batch */
    float *scratch;
};

/* 0: no memory.  The weights are to be set by net_begin() or read from somewhere. */
int net_init(struct net *net, int filters);
void net_done(struct net *net);
/* Fresh weights. */
void net_begin(struct net *net, uint64_t seed);

struct net_score {
    double loss;  /* the mean */
    double right; /* which part */
};
/* Looks at `count` pictures and, with `learns`, adds up their gradients. */
struct net_score net_look(struct net *net, const float *pictures, const int *labels,
                          int count, int learns);
/* Goes down the gradient of `count` pictures. */
void net_step(struct net *net, int count, float lr, float momentum);

#endif
