/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - a network of one hidden layer learns the exclusive or, in plain C.
 *
 * It asks for its hyperparameters, reports its metrics, saves its state and stops when
 * the platform wants the slot back.  All of its state is one struct, and the noise in
 * the data is a function of (seed, step): a run that was stopped at any step and went
 * on ends with the very same bits as one that was never disturbed.
 *
 *   cc -O2 -o train train.c -ldet -lm */
#include <det/det.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 2, HIDDEN_MOST = 64, SAMPLES = 4 };
enum { REPORTS = 100, VALIDATIONS = 20, CHECKPOINTS = 2 }; /* of a whole run */

struct state {
    int64_t step;
    int64_t hidden;
    double in[HIDDEN_MOST][INPUTS + 1]; /* the last of each is its bias */
    double out[HIDDEN_MOST + 1];
};

struct settings {
    double lr;
    int64_t hidden;
    int64_t steps;
    uint64_t seed;
};

static const double samples[SAMPLES][INPUTS] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
static const double wanted[SAMPLES] = {0, 1, 1, 0};

/* ---- the network ----------------------------------------------------------------- */

/* Uniform in [-1, 1): the n-th number of a seed, whatever was asked before. */
static double noise(uint64_t seed, uint64_t n)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + n * 0xd1342543de82ef95u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) / 4503599627370496.0 - 1;
}

static void begin(struct state *s, const struct settings *set)
{
    uint64_t n = 0;
    int64_t h;
    int i;

    memset(s, 0, sizeof(*s));
    s->hidden = set->hidden;
    for (h = 0; h < s->hidden; h++) {
        for (i = 0; i <= INPUTS; i++)
            s->in[h][i] = noise(set->seed, n++);
        s->out[h] = noise(set->seed, n++);
    }
}

static double forward(const struct state *s, const double *x, double *h)
{
    double sum = s->out[s->hidden];
    int64_t k;

    for (k = 0; k < s->hidden; k++) {
        h[k] = tanh(s->in[k][0] * x[0] + s->in[k][1] * x[1] + s->in[k][2]);
        sum += s->out[k] * h[k];
    }
    return 1 / (1 + exp(-sum));
}

/* One step of gradient descent on one sample, a little blurred; returns its loss. */
static double train_step(struct state *s, const struct settings *set)
{
    uint64_t n = UINT64_C(1) << 32 | (uint64_t)s->step * INPUTS;
    int pick = (int)(s->step % SAMPLES);
    double h[HIDDEN_MOST], x[INPUTS], y, error;
    int64_t k;

    x[0] = samples[pick][0] + 0.05 * noise(set->seed, n);
    x[1] = samples[pick][1] + 0.05 * noise(set->seed, n + 1);
    y = forward(s, x, h);
    error = y - wanted[pick]; /* of cross entropy behind a sigmoid */
    for (k = 0; k < s->hidden; k++) {
        double back = error * s->out[k] * (1 - h[k] * h[k]);

        s->in[k][0] -= set->lr * back * x[0];
        s->in[k][1] -= set->lr * back * x[1];
        s->in[k][2] -= set->lr * back;
        s->out[k] -= set->lr * error * h[k];
    }
    s->out[s->hidden] -= set->lr * error;
    s->step++;
    return error * error;
}

static void evaluate(const struct state *s, double *ret_loss, double *ret_accuracy)
{
    double h[HIDDEN_MOST];
    int i;

    *ret_loss = *ret_accuracy = 0;
    for (i = 0; i < SAMPLES; i++) {
        double error = forward(s, samples[i], h) - wanted[i];

        *ret_loss += error * error / SAMPLES;
        *ret_accuracy += (fabs(error) < 0.5) / (double)SAMPLES;
    }
}

/* ---- the platform ---------------------------------------------------------------- */

static int fail(const det_context *det, const char *what)
{
    fprintf(stderr, "ERROR: %s: %s\n", what, det_context_error(det));
    return 0;
}

enum verdict { BROKEN, FINE, UNTRAINABLE };

static enum verdict read_settings(det_context *det, struct settings *set)
{
    set->seed = (uint64_t)det_get_info(det)->seed;
    if (det_hparam_double(det, "lr", &set->lr) != DET_OK ||
        det_hparam_int(det, "hidden", &set->hidden) != DET_OK ||
        det_hparam_int(det, "steps", &set->steps) != DET_OK) {
        fail(det, "cannot begin");
        return BROKEN;
    }
    if (set->hidden >= 1 && set->hidden <= HIDDEN_MOST && set->steps >= 1)
        return FINE;
    fprintf(stderr, "ERROR: hidden must be 1 to %d, steps at least 1\n", HIDDEN_MOST);
    if (det_report_early_exit(det, DET_EXIT_INIT_INVALID_HP) != DET_OK) {
        fail(det, "cannot report");
        return BROKEN;
    }
    return UNTRAINABLE;
}

static int save(det_context *det, const struct state *s)
{
    det_checkpoint *checkpoint;

    if (det_checkpoint_begin(det, s->step, NULL, &checkpoint) != DET_OK)
        return fail(det, "cannot save");
    if (det_checkpoint_put(checkpoint, "state", s, sizeof(*s)) == DET_OK &&
        det_checkpoint_commit(checkpoint) == DET_OK) {
        printf("saved step %" PRId64 "\n", s->step);
        return 1;
    }
    fail(det, "cannot save");
    det_checkpoint_abort(checkpoint);
    return 0;
}

/* 1 also when there is nothing to restore. */
static int restore(det_context *det, struct state *s)
{
    char path[4096], name[4200];
    struct state found;
    size_t got = 0;
    FILE *file;

    if (!det_get_info(det)->latest_checkpoint)
        return 1;
    if (det_checkpoint_restore(det, NULL, 0, path, sizeof(path)) != DET_OK)
        return fail(det, "cannot restore");
    snprintf(name, sizeof(name), "%s/state", path);
    file = fopen(name, "rb");
    if (file) {
        got = fread(&found, sizeof(found), 1, file);
        fclose(file);
    }
    if (got != 1 || found.hidden != s->hidden) {
        fprintf(stderr, "ERROR: '%s' is not the state of this network\n", name);
        return 0;
    }
    *s = found;
    return 1;
}

static int report(det_context *det, const struct state *s, double loss)
{
    det_metric metric = {"loss", 0};

    metric.value = loss;
    return det_report_training(det, s->step, &metric, 1) == DET_OK ||
           fail(det, "cannot report");
}

static int validate(det_context *det, const struct state *s, int64_t steps)
{
    det_metric metrics[2] = {{"loss", 0}, {"accuracy", 0}};

    evaluate(s, &metrics[0].value, &metrics[1].value);
    if (det_report_validation(det, s->step, metrics, 2) != DET_OK ||
        det_report_progress(det, (double)s->step / (double)steps) != DET_OK)
        return fail(det, "cannot report");
    return 1;
}

/* Until the last step, or until the platform wants the slot back. */
static int train(det_context *det, struct state *s, const struct settings *set)
{
    int64_t every = set->steps > REPORTS ? set->steps / REPORTS : 1;
    int64_t often = set->steps > VALIDATIONS ? set->steps / VALIDATIONS : 1;
    int64_t rarely = set->steps > CHECKPOINTS ? set->steps / CHECKPOINTS : 1;

    while (s->step < set->steps) {
        double loss = train_step(s, set);
        int is_last = s->step == set->steps;
        int is_asked;

        if ((s->step % every == 0 || is_last) && !report(det, s, loss))
            return 0;
        if ((s->step % often == 0 || is_last) && !validate(det, s, set->steps))
            return 0;
        is_asked = !is_last && det_preempted(det);
        if ((s->step % rarely == 0 || is_last || is_asked) && !save(det, s))
            return 0;
        if (is_asked)
            return det_preempt_ack(det, 0) == DET_OK || fail(det, "cannot stop");
    }
    return 1;
}

/* From where the trial is, or from its beginning. */
static int run(det_context *det, const struct settings *set)
{
    struct state s;

    begin(&s, set);
    if (!restore(det, &s))
        return 0;
    printf("run %" PRId64 " begins at step %" PRId64 "\n", det_get_info(det)->run_id,
           s.step);
    if (!train(det, &s, set))
        return 0;
    if (s.step == set->steps)
        printf("finished: the first weight is %a\n", s.out[0]);
    return 1;
}

int main(void)
{
    char error[512] = "";
    det_init_options options = {0};
    det_context *det;
    struct settings set;
    enum verdict verdict;

    setvbuf(stdout, NULL, _IOLBF, 0);
    options.size = sizeof(options);
    options.error = error;
    options.error_size = sizeof(error);
    options.hparams =
        "{\"lr\": 0.5, \"hidden\": 4, \"steps\": 20000}"; /* off a cluster */
    if (det_init(&options, &det) != DET_OK) {
        fprintf(stderr, "ERROR: %s\n", error);
        return 1;
    }
    verdict = read_settings(det, &set);
    if (verdict == FINE && !run(det, &set))
        verdict = BROKEN;
    det_close(det);
    return verdict == BROKEN; /* who has said that it cannot be trained exits with 0 */
}
