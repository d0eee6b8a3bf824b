/* SPDX-License-Identifier: Apache-2.0 */
/* 2_checkpoints.c - x survives: it is saved, restored, and saved when the platform
 * wants the slot back. */
#define _POSIX_C_SOURCE 199309L /* nanosleep() */
#include <det/det.h>

#include <stdio.h>
#include <time.h>

struct state {
    int steps_completed;
    int x;
};

static int fail(const det_context *det, const char *what)
{
    fprintf(stderr, "ERROR: %s: %s\n", what, det_context_error(det));
    return 1;
}

/* New: a checkpoint is a folder; what was put into it is saved by the commit. */
static int save_state(det_context *det, const struct state *s)
{
    det_checkpoint *checkpoint;
    char text[64];
    int len = snprintf(text, sizeof(text), "%d %d\n", s->steps_completed, s->x);

    if (det_checkpoint_begin(det, s->steps_completed, NULL, &checkpoint) != DET_OK)
        return fail(det, "cannot save");
    if (det_checkpoint_put(checkpoint, "state", text, (size_t)len) != DET_OK ||
        det_checkpoint_commit(checkpoint) != DET_OK) {
        fail(det, "cannot save");
        det_checkpoint_abort(checkpoint);
        return 1;
    }
    printf("saved step %d\n", s->steps_completed);
    return 0;
}

/* New: the same folder again, with every file compared with its checksum. */
static int load_state(det_context *det, struct state *s)
{
    char path[4096], name[4200];
    int read = 0;
    FILE *file;

    if (det_checkpoint_restore(det, NULL, 0, path, sizeof(path)) != DET_OK)
        return fail(det, "cannot restore");
    snprintf(name, sizeof(name), "%s/state", path);
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

static int report(det_context *det, const struct state *s)
{
    det_metric metric = {"x", 0};

    printf("x is now %d\n", s->x);
    metric.value = s->x;
    if (det_report_training(det, s->steps_completed, &metric, 1) != DET_OK ||
        det_report_progress(det, s->steps_completed / 100.0) != DET_OK)
        return fail(det, "cannot report");
    return 0;
}

static int train(det_context *det, int increment_by)
{
    struct timespec pause = {0, 20000000}; /* long enough to be paused by hand */
    struct state s = {0, 0};
    det_metric metric = {"x", 0};

    if (det_get_info(det)->latest_checkpoint) {
        if (load_state(det, &s))
            return 1;
        printf("going on after step %d\n", s.steps_completed);
    }
    while (s.steps_completed < 100) {
        s.x += increment_by;
        s.steps_completed++;
        nanosleep(&pause, NULL);
        if (s.steps_completed % 10 == 0 && report(det, &s))
            return 1;
        if (s.steps_completed % 50 == 0 && save_state(det, &s))
            return 1;
        /* New: asking is one load from memory.  Who is asked saves, says so, and
         * leaves. */
        if (s.steps_completed < 100 && det_preempted(det)) {
            if (save_state(det, &s))
                return 1;
            return det_preempt_ack(det, 0) == DET_OK ? 0 : fail(det, "cannot stop");
        }
    }
    metric.value = s.x;
    if (det_report_validation(det, s.steps_completed, &metric, 1) != DET_OK)
        return fail(det, "cannot report");
    return 0;
}

int main(void)
{
    char error[512] = "";
    det_init_options options = {0};
    det_context *det;
    int code;

    setvbuf(stdout, NULL, _IOLBF, 0);
    options.size = sizeof(options);
    options.error = error;
    options.error_size = sizeof(error);
    if (det_init(&options, &det) != DET_OK) {
        fprintf(stderr, "ERROR: %s\n", error);
        return 1;
    }
    code = train(det, 1);
    det_close(det);
    return code;
}
