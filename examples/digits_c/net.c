/* SPDX-License-Identifier: Apache-2.0 */
/* net.c - forwards and back again, one picture at a time.
 *
 * A convolution is a product of matrices once its input is laid out in columns: column
 * p holds the 5x5 patches that the output pixel p looks at.  Backwards the same
 * columns, transposed, give the gradient of the weights, and the weights, transposed,
 * the gradient of the columns. */
#include "net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "draw.h"

enum { PATCH = 5, PATCH_PIXELS = PATCH * PATCH };

/* One convolution with what follows it: rectified, then the greatest of each 2x2. */
struct conv {
    int in, out;   /* channels */
    int side;      /* of the input */
    int wide;      /* of the output: side - 4 */
    size_t weight; /* where its weights begin: out rows of in * 25, then out biases */
};

enum { LAYERS = 2 };

struct shape {
    struct conv conv[LAYERS];
    int features; /* what the dense layer sees */
    size_t dense; /* where its weights begin: 10 rows, then 10 biases */
    size_t count;
};

static struct shape shape_of(int filters)
{
    struct shape s;
    int i, in = 1, side = SIDE;
    size_t at = 0;

    for (i = 0; i < LAYERS; i++) {
        struct conv *c = &s.conv[i];

        c->in = in;
        c->out = filters * (i + 1);
        c->side = side;
        c->wide = side - PATCH + 1;
        c->weight = at;
        at += (size_t)(c->out * c->in * PATCH_PIXELS + c->out);
        in = c->out;
        side = c->wide / 2;
    }
    s.features = in * side * side;
    s.dense = at;
    s.count = at + (size_t)(DIGITS * s.features + DIGITS);
    return s;
}

/* ---- a convolution -----------------------------------------------------------------
 */

/* What each layer keeps of a picture on its way, and what flows back. */
struct trace {
    float *columns; /* in * 25 rows of wide * wide */
    float *sum;     /* before it was rectified; later its gradient */
    float *half;    /* the layer's output; later its gradient */
    int *from;      /* which element of `sum` each one of `half` was */
};

static void to_columns(const struct conv *c, const float *in, float *columns)
{
    int k, dy, dx, y;

    for (k = 0; k < c->in; k++)
        for (dy = 0; dy < PATCH; dy++)
            for (dx = 0; dx < PATCH; dx++)
                for (y = 0; y < c->wide; y++, columns += c->wide)
                    memcpy(columns, in + (k * c->side + y + dy) * c->side + dx,
                           (size_t)c->wide * sizeof(*in));
}

static void from_columns(const struct conv *c, const float *columns, float *in)
{
    int k, dy, dx, y, x;

    memset(in, 0, (size_t)(c->in * c->side * c->side) * sizeof(*in));
    for (k = 0; k < c->in; k++)
        for (dy = 0; dy < PATCH; dy++)
            for (dx = 0; dx < PATCH; dx++)
                for (y = 0; y < c->wide; y++)
                    for (x = 0; x < c->wide; x++)
                        in[(k * c->side + y + dy) * c->side + x + dx] += *columns++;
}

static void halve(const struct conv *c, struct trace *t)
{
    int side = c->wide / 2, k, y, x, i;

    for (k = 0; k < c->out; k++)
        for (y = 0; y < side; y++)
            for (x = 0; x < side; x++) {
                int corner = (k * c->wide + 2 * y) * c->wide + 2 * x, best = corner;
                int at = (k * side + y) * side + x;

                for (i = 1; i < 4; i++) {
                    int other = corner + (i & 1) + (i >> 1) * c->wide;

                    if (t->sum[other] > t->sum[best])
                        best = other;
                }
                t->from[at] = best;
                t->half[at] = t->sum[best] > 0 ? t->sum[best] : 0;
            }
}

static void conv_forward(const struct conv *c, const float *weight, const float *in,
                         struct trace *t)
{
    int pixels = c->wide * c->wide, inputs = c->in * PATCH_PIXELS, k, i;
    const float *bias = weight + c->out * inputs;

    to_columns(c, in, t->columns);
    for (k = 0; k < c->out; k++)
        for (i = 0; i < pixels; i++)
            t->sum[k * pixels + i] = bias[k];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, c->out, pixels, inputs, 1,
                weight, inputs, t->columns, pixels, 1, t->sum, pixels);
    halve(c, t);
}

/* `t->half` holds the gradient of the layer's output.  `in` gets that of its input;
 * NULL: nobody needs it. */
static void conv_backward(const struct conv *c, const float *weight, float *gradient,
                          float *in, struct trace *t)
{
    int pixels = c->wide * c->wide, inputs = c->in * PATCH_PIXELS, k, i;
    int halves = c->out * (c->wide / 2) * (c->wide / 2);
    float *bias = gradient + c->out * inputs;

    for (i = 0; i < halves; i++) /* what was not above zero learns nothing */
        if (t->sum[t->from[i]] <= 0)
            t->half[i] = 0;
    memset(t->sum, 0, (size_t)(c->out * pixels) * sizeof(*t->sum));
    for (i = 0; i < halves; i++)
        t->sum[t->from[i]] = t->half[i];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, c->out, inputs, pixels, 1,
                t->sum, pixels, t->columns, pixels, 1, gradient, inputs);
    for (k = 0; k < c->out; k++)
        for (i = 0; i < pixels; i++)
            bias[k] += t->sum[k * pixels + i];
    if (!in)
        return;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, inputs, pixels, c->out, 1,
                weight, inputs, t->sum, pixels, 0, t->columns, pixels);
    from_columns(c, t->columns, in);
}

/* ---- the whole ---------------------------------------------------------------------
 */

/* Softmax in place; returns the loss. */
static double soften(float *score, int label)
{
    float most = score[0], sum = 0;
    int i;

    for (i = 1; i < DIGITS; i++)
        most = score[i] > most ? score[i] : most;
    for (i = 0; i < DIGITS; i++)
        sum += score[i] = expf(score[i] - most);
    for (i = 0; i < DIGITS; i++)
        score[i] /= sum;
    return -log(score[label] > 1e-12f ? score[label] : 1e-12);
}

static int is_right(const float *score, int label)
{
    int i;

    for (i = 0; i < DIGITS; i++)
        if (score[i] > score[label])
            return 0;
    return 1;
}

static size_t columns_of(const struct conv *c)
{
    return (size_t)(c->in * PATCH_PIXELS * c->wide * c->wide);
}

static size_t sums_of(const struct conv *c)
{
    return (size_t)(c->out * c->wide * c->wide);
}

static void lay_out(const struct shape *s, float *scratch, struct trace *trace)
{
    int i;

    for (i = 0; i < LAYERS; i++) {
        const struct conv *c = &s->conv[i];

        trace[i].columns = scratch;
        trace[i].sum = trace[i].columns + columns_of(c);
        trace[i].half = trace[i].sum + sums_of(c);
        trace[i].from = (int *)(trace[i].half + sums_of(c) / 4);
        scratch = (float *)(trace[i].from + sums_of(c) / 4);
    }
}

/* One picture; `score` gets how likely each digit is. */
static void look(const struct shape *s, const float *weight, const float *picture,
                 struct trace *trace, float *score)
{
    const float *dense = weight + s->dense;

    conv_forward(&s->conv[0], weight + s->conv[0].weight, picture, &trace[0]);
    conv_forward(&s->conv[1], weight + s->conv[1].weight, trace[0].half, &trace[1]);
    memcpy(score, dense + DIGITS * s->features, DIGITS * sizeof(*score));
    cblas_sgemv(CblasRowMajor, CblasNoTrans, DIGITS, s->features, 1, dense, s->features,
                trace[1].half, 1, 1, score, 1);
}

/* `error` is the gradient of the scores. */
static void learn(const struct shape *s, const struct net *net, struct trace *trace,
                  const float *error)
{
    float *gradient = net->gradient + s->dense;
    int i;

    cblas_sger(CblasRowMajor, DIGITS, s->features, 1, error, 1, trace[1].half, 1,
               gradient, s->features);
    for (i = 0; i < DIGITS; i++)
        gradient[DIGITS * s->features + i] += error[i];
    cblas_sgemv(CblasRowMajor, CblasTrans, DIGITS, s->features, 1,
                net->weight + s->dense, s->features, error, 1, 0, trace[1].half, 1);
    for (i = LAYERS - 1; i >= 0; i--)
        conv_backward(&s->conv[i], net->weight + s->conv[i].weight,
                      net->gradient + s->conv[i].weight, i ? trace[i - 1].half : NULL,
                      &trace[i]);
}

struct net_score net_look(struct net *net, const float *pictures, const int *labels,
                          int count, int learns)
{
    struct shape s = shape_of(net->filters);
    struct net_score result = {0, 0};
    struct trace trace[LAYERS];
    float score[DIGITS];
    int i, right = 0;

    lay_out(&s, net->scratch, trace);
    for (i = 0; i < count; i++) {
        look(&s, net->weight, pictures + (size_t)i * PIXELS, trace, score);
        right += is_right(score, labels[i]);
        result.loss += soften(score, labels[i]) / count;
        score[labels[i]] -= 1; /* cross entropy behind a softmax */
        if (learns)
            learn(&s, net, trace, score);
    }
    result.right = (double)right / count;
    return result;
}

void net_step(struct net *net, int count, float lr, float momentum)
{
    size_t i;

    for (i = 0; i < net->count; i++) {
        net->momentum[i] =
            momentum * net->momentum[i] - lr * net->gradient[i] / (float)count;
        net->weight[i] += net->momentum[i];
        net->gradient[i] = 0;
    }
}

int net_init(struct net *net, int filters)
{
    struct shape s = shape_of(filters);
    size_t scratch = 0;
    int i;

    for (i = 0; i < LAYERS; i++)
        scratch += columns_of(&s.conv[i]) + sums_of(&s.conv[i]) * 3 / 2;
    net->filters = filters;
    net->count = s.count;
    net->weight = (float *)calloc(3 * s.count + scratch, sizeof(float));
    if (!net->weight)
        return 0;
    net->momentum = net->weight + s.count;
    net->gradient = net->momentum + s.count;
    net->scratch = net->gradient + s.count;
    return 1;
}

void net_done(struct net *net)
{
    free(net->weight);
}

/* Uniform, so wide that sums keep their size from layer to layer. */
static void begin(float *weight, size_t count, int inputs, uint64_t *state)
{
    size_t i;

    for (i = 0; i < count; i++) {
        uint64_t x = *state += 0x9e3779b97f4a7c15u;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        weight[i] = ((float)(x >> 40) / 8388608.f - 1) * sqrtf(6.f / (float)inputs);
    }
}

void net_begin(struct net *net, uint64_t seed)
{
    struct shape s = shape_of(net->filters);
    int i;

    memset(net->weight, 0, 3 * s.count * sizeof(float));
    for (i = 0; i < LAYERS; i++) {
        const struct conv *c = &s.conv[i];
        int inputs = c->in * PATCH_PIXELS;

        begin(net->weight + c->weight, (size_t)(c->out * inputs), inputs, &seed);
    }
    begin(net->weight + s.dense, (size_t)(DIGITS * s.features), s.features, &seed);
}
