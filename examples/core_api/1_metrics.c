/* SPDX-License-Identifier: Apache-2.0 */
/* 1_metrics.c - the platform hears of x: metrics of training and of a validation, and
 * the progress. */
#include <det/det.h>

#include <stdio.h>

/* New: everything that can fail returns a status, and the context has the sentence. */
static int fail(const det_context *det, const char *what)
{
    fprintf(stderr, "ERROR: %s: %s\n", what, det_context_error(det));
    return 1;
}

static int train(det_context *det, int increment_by)
{
    det_metric metric = {"x", 0};
    int x = 0, steps_completed = 0, batch;

    for (batch = 0; batch < 100; batch++) {
        x += increment_by;
        metric.value = x;
        steps_completed = batch + 1;
        if (steps_completed % 10 == 0) {
            printf("x is now %d\n", x);
            /* New: numbers of the group "training", at this step. */
            if (det_report_training(det, steps_completed, &metric, 1) != DET_OK ||
                det_report_progress(det, steps_completed / 100.0) != DET_OK)
                return fail(det, "cannot report");
        }
    }
    /* New: what the searcher looks at. */
    if (det_report_validation(det, steps_completed, &metric, 1) != DET_OK)
        return fail(det, "cannot report");
    return 0;
}

int main(void)
{
    char error[512] = "";
    det_init_options options = {0};
    det_context *det;
    int code;

    options.size = sizeof(options);
    options.error = error;
    options.error_size = sizeof(error);
    /* New: the context is this process's side of the platform. */
    if (det_init(&options, &det) != DET_OK) {
        fprintf(stderr, "ERROR: %s\n", error);
        return 1;
    }
    code = train(det, 1);
    det_close(det);
    return code;
}
