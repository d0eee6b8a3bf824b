/* SPDX-License-Identifier: Apache-2.0 */
/* bench_libdet.c - what libdet costs a training program.
 *
 *   bench_libdet report DIR COUNT      ns of clock_gettime(), ns of det_report() with
 *                                      five numbers, and their ratio: the medians of
 *                                      rounds of COUNT
 *   bench_libdet many DIR N            seconds of a checkpoint of DIR/tree, N files of
 *                                      1 KiB, which stays
 *   bench_libdet checkpoint DIR MIB    seconds of write and fdatasync; of a checkpoint
 * put from memory; of one written as a file
 *   bench_libdet overlap DIR MIB       seconds of a memcpy into memory that was used
 * before; that training is held by a checkpoint, the first time, the first time with
 * memory made ready, and later; until such a one is whole
 *
 * Both without a master: what is measured is the training thread's side, which does not
 * know whether there is one. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory/mem.h"
#include "det/det.h"

enum { WRITE_BYTES = 1 << 20, METRICS = 5, ROUNDS = 101 };

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "bench_libdet: %s: %s\n", what, text);
    exit(1);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static det_context *open_context(const char *dir)
{
    char error[256] = "";
    det_init_options options = {.size = sizeof(options),
                                .directory = dir,
                                .error = error,
                                .error_size = sizeof(error)};
    det_context *det;

    if (det_init(&options, &det))
        fail("det_init", error);
    return det;
}

static void must(const det_context *det, det_status status)
{
    if (status)
        fail("libdet", det_context_error(det));
}

/* ---- reports --------------------------------------------------------------------- */

static double clock_ns(long count)
{
    struct timespec now;
    double begun = now_s();

    for (long i = 0; i < count; i++)
        clock_gettime(CLOCK_MONOTONIC, &now);
    return (now_s() - begun) * 1e9 / (double)count;
}

static double report_ns(det_context *det, long count)
{
    det_metric metrics[METRICS] = {{"loss", 0.6931471805},
                                   {"accuracy", 0.7512345},
                                   {"lr", 0.00123},
                                   {"grad_norm", 1.23456789},
                                   {"seconds", 12.5}};
    double begun = now_s();

    for (long i = 0; i < count; i++)
        must(det, det_report_training(det, i, metrics, METRICS));
    return (now_s() - begun) * 1e9 / (double)count;
}

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a;
    double other = *(const double *)b;

    return (one > other) - (one < other);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), by_size);
    return values[ROUNDS / 2];
}

/* In turns, since a machine's speed changes from second to second. */
static void bench_report(const char *dir, long count)
{
    double clocks[ROUNDS], reports[ROUNDS], ratios[ROUNDS];
    det_context *det = open_context(dir);

    for (int i = 0; i < ROUNDS; i++) {
        clocks[i] = clock_ns(count);
        reports[i] = report_ns(det, count);
        ratios[i] = reports[i] / clocks[i];
    }
    printf("%.1f %.1f %.2f\n", median(clocks), median(reports), median(ratios));
    det_close(det);
}

/* ---- checkpoints ----------------------------------------------------------------- */

static void write_file(const char *path, const char *bytes, size_t len, int syncs)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0)
        fail(path, strerror(errno));
    for (size_t at = 0; at < len; at += WRITE_BYTES)
        if (write(fd, bytes + at, WRITE_BYTES) != WRITE_BYTES)
            fail(path, strerror(errno));
    if (syncs && fdatasync(fd))
        fail(path, strerror(errno));
    close(fd);
}

static double floor_s(const char *dir, const char *bytes, size_t len)
{
    char path[4096];
    double begun;

    snprintf(path, sizeof(path), "%s/floor", dir);
    begun = now_s();
    write_file(path, bytes, len, 1);
    begun = now_s() - begun;
    unlink(path);
    sync();
    return begun;
}

/* `is_put`: from memory; else as a program would that writes files. */
static double checkpoint_s(det_context *det, const char *bytes, size_t len, int is_put)
{
    det_checkpoint *checkpoint;
    char path[4096], command[4200];
    double begun = now_s();

    must(det, det_checkpoint_begin(det, 1, NULL, &checkpoint));
    snprintf(path, sizeof(path), "%s/weights", det_checkpoint_path(checkpoint));
    if (is_put)
        must(det, det_checkpoint_put(checkpoint, "weights", bytes, len));
    else
        write_file(path, bytes, len, 0);
    must(det, det_checkpoint_commit(checkpoint));
    begun = now_s() - begun;
    must(det,
         det_checkpoint_restore(det, NULL, DET_RESTORE_UNCHECKED, path, sizeof(path)));
    snprintf(command, sizeof(command), "%s/weights", path);
    unlink(command);
    sync();
    return begun;
}

static void bench_checkpoint(const char *dir, size_t mib)
{
    size_t len = mib << 20;
    char *bytes = mem_alloc(len);
    det_context *det = open_context(dir);
    double floor, put, files, again;

    if (!bytes)
        fail("memory", "there is not enough");
    for (size_t i = 0; i < len; i += 8)
        memcpy(bytes + i, &(uint64_t){i * 0x9e3779b97f4a7c15u}, 8);
    /* The floor before and after, and the better of both: the disk has its moods. */
    floor = floor_s(dir, bytes, len);
    put = checkpoint_s(det, bytes, len, 1);
    files = checkpoint_s(det, bytes, len, 0);
    again = floor_s(dir, bytes, len);
    if (again < floor)
        floor = again;
    printf("%.4f %.4f %.4f\n", floor, put, files);
    det_close(det);
    mem_free(bytes);
}

/* ---- many small files ------------------------------------------------------------ */

enum { SMALL = 1024, IN_FOLDER = 1000 };

static void make_tree(const char *root, long count)
{
    char path[4096], bytes[SMALL];
    FILE *file;

    memset(bytes, 'x', sizeof(bytes));
    mkdir(root, 0755);
    for (long i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%ld", root, i / IN_FOLDER);
        if (i % IN_FOLDER == 0)
            mkdir(path, 0755);
        snprintf(path, sizeof(path), "%s/%ld/%ld", root, i / IN_FOLDER, i);
        file = fopen(path, "we");
        if (!file || fwrite(bytes, 1, SMALL, file) != SMALL || fclose(file))
            fail(path, strerror(errno));
    }
}

/* Leaves the tree for whoever compares. */
static void bench_many(const char *dir, long count)
{
    det_context *det = open_context(dir);
    char tree[4096], uuid[DET_UUID_SIZE];
    double begun;

    snprintf(tree, sizeof(tree), "%s/tree", dir);
    make_tree(tree, count);
    sync();
    begun = now_s();
    must(det, det_checkpoint_store(det, tree, 1, NULL, uuid));
    printf("%.3f\n", now_s() - begun);
    det_close(det);
}

/* ---- behind the training's back -------------------------------------------------- */

static double memcpy_s(char *to, const char *from, size_t len)
{
    double best = 1e9;

    for (int i = 0; i < 5; i++) {
        double begun = now_s();

        memcpy(to, from, len);
        begun = now_s() - begun;
        best = begun < best ? begun : best;
    }
    return best;
}

/* Seconds that the caller is held; `ret_total` until the checkpoint is whole. */
static double held_s(det_context *det, const char *bytes, size_t len, double *ret_total)
{
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = 1, .flags = DET_CHECKPOINT_OVERLAPPED};
    det_checkpoint_outcome outcome = {.size = sizeof(outcome)};
    det_checkpoint *checkpoint;
    double begun = now_s(), held;
    char path[4096], file[4200];

    must(det, det_checkpoint_begin_with(det, &options, &checkpoint));
    must(det, det_checkpoint_put(checkpoint, "weights", bytes, len));
    must(det, det_checkpoint_commit(checkpoint));
    held = now_s() - begun;
    must(det, det_checkpoint_wait(det, -1, &outcome));
    *ret_total = now_s() - begun;
    if (outcome.waited_bytes)
        fail("memory", "there is not enough for the copy");
    must(det,
         det_checkpoint_restore(det, NULL, DET_RESTORE_UNCHECKED, path, sizeof(path)));
    snprintf(file, sizeof(file), "%s/weights", path);
    unlink(file);
    sync();
    return held;
}

static void bench_overlap(const char *dir, size_t mib)
{
    size_t len = mib << 20;
    char *bytes = mem_alloc(len);
    char *to = mem_alloc(len);
    double copy, cold, warm, held = 1e9, total = 0, whole = 1e9, again;
    det_context *det;

    if (!bytes || !to)
        fail("memory", "there is not enough");
    memset(bytes, 1, len);
    memset(to, 2, len);
    copy = memcpy_s(to, bytes, len);
    mem_free(to);
    det = open_context(dir);
    cold = held_s(det, bytes, len, &total);
    det_close(det);
    det = open_context(dir);
    must(det, det_checkpoint_reserve(det, len));
    must(det, det_checkpoint_wait(det, -1, NULL));
    warm = held_s(det, bytes, len, &total);
    for (int i = 0; i < 3; i++) {
        again = held_s(det, bytes, len, &total);
        held = again < held ? again : held;
        whole = total < whole ? total : whole;
    }
    printf("%.4f %.4f %.4f %.4f %.4f\n", copy, cold, warm, held, whole);
    det_close(det);
    mem_free(bytes);
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "report"))
        bench_report(argv[2], strtol(argv[3], NULL, 10));
    else if (argc == 4 && !strcmp(argv[1], "checkpoint"))
        bench_checkpoint(argv[2], (size_t)strtol(argv[3], NULL, 10));
    else if (argc == 4 && !strcmp(argv[1], "overlap"))
        bench_overlap(argv[2], (size_t)strtol(argv[3], NULL, 10));
    else if (argc == 4 && !strcmp(argv[1], "many"))
        bench_many(argv[2], strtol(argv[3], NULL, 10));
    else
        fail("usage", "bench_libdet report|checkpoint|many|overlap DIR N");
    return 0;
}
