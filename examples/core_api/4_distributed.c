/* SPDX-License-Identifier: Apache-2.0 */
/* 4_distributed.c - several processes count together: each has an x of its own, and the
 * sum is reported. */
#define _POSIX_C_SOURCE 199309L /* nanosleep() */
#include <det/det.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

struct state {
    int steps_completed;
    int x;
};

/* New: the platform, and the other processes. */
struct worker {
    det_context *det;
    det_distributed *group;
    int rank;
    int size;
};

static int fail(const struct worker *w, const char *what)
{
    fprintf(stderr, "ERROR: %s: %s\n", what, det_context_error(w->det));
    return 1;
}

static int fail_together(const struct worker *w, const char *what)
{
    fprintf(stderr, "ERROR: %s: %s\n", what, det_distributed_error(w->group));
    return 1;
}

/* New: the chief gets the state of every process, and puts them into one checkpoint. */
static int put_states(const struct worker *w, const det_part *states, int steps)
{
    det_checkpoint *checkpoint;
    int rank;

    if (det_checkpoint_begin(w->det, steps, NULL, &checkpoint) != DET_OK)
        return fail(w, "cannot save");
    for (rank = 0; rank < w->size; rank++) {
        struct state s;
        char name[32], text[64];
        int len;

        memcpy(&s, states[rank].data, sizeof(s));
        snprintf(name, sizeof(name), "state.%d", rank);
        len = snprintf(text, sizeof(text), "%d %d\n", s.steps_completed, s.x);
        if (det_checkpoint_put(checkpoint, name, text, (size_t)len) != DET_OK)
            break;
    }
    if (rank < w->size || det_checkpoint_commit(checkpoint) != DET_OK) {
        fail(w, "cannot save");
        det_checkpoint_abort(checkpoint);
        return 1;
    }
    printf("saved step %d\n", steps);
    return 0;
}

static int save_state(const struct worker *w, const struct state *s)
{
    const det_part *states;

    if (det_distributed_gather(w->group, s, sizeof(*s), &states) != DET_OK)
        return fail_together(w, "cannot save");
    return w->rank == 0 ? put_states(w, states, s->steps_completed) : 0;
}

static int load_state(const struct worker *w, struct state *s)
{
    char path[4096], name[4200];
    int read = 0;
    FILE *file;

    if (det_checkpoint_restore(w->det, NULL, 0, path, sizeof(path)) != DET_OK)
        return fail(w, "cannot restore");
    snprintf(name, sizeof(name), "%s/state.%d", path, w->rank);
    file = fopen(name, "r");
    if (file) {
        read = fscanf(file, "%d %d", &s->steps_completed, &s->x);
        fclose(file);
    }
    if (read == 2)
        return 0;
    fprintf(stderr, "ERROR: '%s' is not a state of this program\n", name);
    return 1;
}

/* New: what every process has comes to the chief, which alone reports. */
static int report(const struct worker *w, const struct state *s)
{
    det_metric metrics[2] = {{"x", 0}, {"steps", 0}};
    const det_part *all_x;
    int rank, sum = 0;

    if (det_distributed_gather(w->group, &s->x, sizeof(s->x), &all_x) != DET_OK)
        return fail_together(w, "cannot report");
    if (w->rank != 0)
        return 0;
    for (rank = 0; rank < w->size; rank++)
        sum += *(const int *)all_x[rank].data;
    printf("x is now %d of %d processes\n", sum, w->size);
    metrics[0].value = sum;
    metrics[1].value = s->steps_completed;
    if (det_report_training(w->det, s->steps_completed, metrics, 1) != DET_OK ||
        det_report_validation(w->det, s->steps_completed, metrics, 2) != DET_OK ||
        det_report_progress(w->det, s->steps_completed / 100.0) != DET_OK)
        return fail(w, "cannot report");
    return 0;
}

/* New: only the chief is told; all hear what it says, and stop at the same step. */
static int ask(const struct worker *w, int *ret_preempted)
{
    int preempted = w->rank == 0 && det_preempted(w->det);
    det_part answer;

    if (det_distributed_broadcast(w->group, &preempted, sizeof(preempted), &answer) !=
        DET_OK)
        return fail_together(w, "cannot ask");
    *ret_preempted = *(const int *)answer.data;
    return 0;
}

static int train(const struct worker *w, int increment_by)
{
    struct timespec pause = {0, 20000000};
    struct state s = {0, 0};
    int preempted = 0;

    if (det_get_info(w->det)->latest_checkpoint) {
        if (load_state(w, &s))
            return 1;
        printf("going on after step %d\n", s.steps_completed);
    }
    while (s.steps_completed < 100 && !preempted) {
        s.x += increment_by * (w->rank + 1); /* so that one sees whose x is whose */
        s.steps_completed++;
        nanosleep(&pause, NULL);
        if (s.steps_completed % 10 == 0 && report(w, &s))
            return 1;
        if (s.steps_completed < 100 && ask(w, &preempted))
            return 1;
        if ((s.steps_completed % 50 == 0 || preempted) && save_state(w, &s))
            return 1;
    }
    if (preempted && w->rank == 0 && det_preempt_ack(w->det, 0) != DET_OK)
        return fail(w, "cannot stop");
    /* New: who leaves early looks dead to the others, so all leave together. */
    if (det_distributed_barrier(w->group) != DET_OK)
        return fail_together(w, "cannot end");
    return 0;
}

static int run(const struct worker *w)
{
    int64_t increment_by;

    if (det_hparam_int(w->det, "increment_by", &increment_by) != DET_OK)
        return fail(w, "cannot begin");
    if (increment_by != 0)
        return train(w, (int)increment_by);
    if (w->rank == 0 && det_report_early_exit(w->det, DET_EXIT_INVALID_HP) != DET_OK)
        return fail(w, "cannot report");
    return 0;
}

int main(void)
{
    char error[512] = "";
    det_distributed_options joining = {0};
    det_init_options options = {0};
    struct worker w;
    int code;

    setvbuf(stdout, NULL, _IOLBF, 0);
    /* New: which of how many this is, from what the launcher says; without one a group
     * of one. */
    joining.size = sizeof(joining);
    joining.from = DET_RANKS_ANY;
    joining.error = error;
    joining.error_size = sizeof(error);
    if (det_distributed_open(&joining, &w.group) != DET_OK) {
        fprintf(stderr, "ERROR: %s\n", error);
        return 1;
    }
    w.rank = det_distributed_ranks(w.group)->rank;
    w.size = det_distributed_ranks(w.group)->size;
    options.size = sizeof(options);
    options.flags = w.rank ? DET_INIT_QUIET : 0; /* only the chief asks the master */
    options.error = error;
    options.error_size = sizeof(error);
    options.hparams = "{\"increment_by\": 1}";
    if (det_init(&options, &w.det) != DET_OK) {
        fprintf(stderr, "ERROR: %s\n", error);
        det_distributed_close(w.group);
        return 1;
    }
    code = run(&w);
    det_close(w.det);
    det_distributed_close(w.group);
    return code;
}
