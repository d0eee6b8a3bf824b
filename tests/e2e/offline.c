/* SPDX-License-Identifier: Apache-2.0 */
/* A training program for 3009-without-a-master.sh and the pages of det ui: 100 batches,
 * a checkpoint at 50 and at 100.  `hang` waits to be killed at the end, `fail` exits
 * with 3, `wait FILE` goes on with one more batch once the file is there. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "det/det.h"

static int save(det_context *det, int64_t steps)
{
    det_checkpoint *checkpoint;

    return det_checkpoint_begin(det, steps, NULL, &checkpoint) ||
           det_checkpoint_put(checkpoint, "weights", "abc", 3) ||
           det_checkpoint_commit(checkpoint);
}

static void await(const char *path)
{
    while (access(path, F_OK))
        usleep(10000);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    char error[512] = "";
    det_init_options options = {.size = sizeof(options),
                                .flags = DET_INIT_TENSORBOARD,
                                .hparams = "{\"lr\": 0.25}",
                                .error = error,
                                .error_size = sizeof(error)};
    det_context *det;
    int64_t at;

    if (det_init(&options, &det) != DET_OK) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    at = det_get_info(det)->steps_completed;
    printf("begins behind %d, terminal: %s\n", (int)at, isatty(1) ? "yes" : "no");
    for (int64_t i = at + 1; i <= at + 100; i++) {
        det_metric metric = {"loss", 1.0 / (double)i};

        if (det_report_training(det, i, &metric, 1) != DET_OK)
            return 2;
        if (i % 50 == 0 &&
            (det_report_validation(det, i, &metric, 1) != DET_OK || save(det, i)))
            return 2;
    }
    fprintf(stderr, "WARNING: nearly done\n");
    if (!strcmp(how, "wait")) {
        det_metric metric = {"loss", 0.001};

        printf("waits\n");
        fflush(stdout);
        await(argv[2]);
        printf("goes on\n");
        if (det_report_training(det, at + 101, &metric, 1) != DET_OK)
            return 2;
    }
    printf("the last words, without an end");
    if (!strcmp(how, "hang")) {
        fflush(stdout);
        pause();
    }
    if (!strcmp(how, "fail"))
        return 3;
    det_close(det);
    return 0;
}
