/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h - tests with real processes: what a fake master was told, tasks' directories,
 * and supervisors to run in them.
 *
 * The test executable is also the program that is run: with the arguments `task run
 * DIR` it is a supervisor, with `report N` a training process that reports. */
#ifndef TESTS_UNIT_AGENT_STAGE_H
#define TESTS_UNIT_AGENT_STAGE_H

#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/env/enter.h"
#include "agent/task/supervisor.h"
#include "agent/task/task_dir.h"
#include "base/thread/lock.h"
#include "data/archive/archive.h"
#include "data/base64.h"
#include "libdet/ring/ring.h"
#include "tests/unit/agent/fake_master.h"

enum { PATIENCE_MS = 60 * 1000 };

/* ---- the program ----------------------------------------------------------------- */

/* Into the ring that its environment names. */
static inline int put_reports(int count)
{
    const struct ring_config config = {.io = io_system(),
                                       .dir = getenv("DET_REPORT_RING"),
                                       .makes = RING_MAKES_NOTHING};
    const struct report report = {
        .kind = REPORT_STATUS, .run = 1, .time_us = 1, .payload = "{}", .len = 2};
    struct ring *ring;

    if (!config.dir || ring_open(&config, &ring, NULL))
        return 90;
    while (count--)
        if (ring_put(ring, &report, NULL))
            return 91;
    return 0; /* it is not closed: what was accepted needs nothing more */
}

/* As the command line would have it. */
static int enter_as_told(char **words)
{
    struct enter_options options = {0};

    for (; *words && strcmp(*words, "--") != 0; words += 2) {
        if (strcmp(*words, "--envs") == 0)
            options.envs = words[1];
        else if (strcmp(*words, "--record") == 0)
            options.record = words[1];
        else if (strcmp(*words, "--failure") == 0)
            options.failure = words[1];
        else if (strcmp(*words, "--python") == 0)
            options.python = words[1];
        else if (strcmp(*words, "--requirements") == 0)
            options.requirements = words[1];
    }
    return *words ? enter_run(&options, (const char *const *)(words + 1)) : 2;
}

__attribute__((constructor)) static void be_the_program(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "task") == 0 && strcmp(argv[2], "run") == 0)
        exit(supervisor_run(argv[3]));
    if (argc > 3 && strcmp(argv[1], "task") == 0 && strcmp(argv[2], "enter") == 0)
        exit(enter_as_told(argv + 3));
    if (argc == 3 && strcmp(argv[1], "report") == 0)
        _exit(put_reports((int)strtol(argv[2], NULL, 10))); /* its ring stays open */
}

/* ---- asking ---------------------------------------------------------------------- */

/* How many calls had `path` at their end and `part` in their body. */
static inline size_t fake_count(struct fake_master *m, const char *path,
                                const char *part)
{
    size_t count = 0;

    lock_take(&m->lock);
    for (size_t i = 0; i < m->calls.count; i++)
        count += ends_with(m->calls.at[i].path, path) &&
                 strstr(m->calls.at[i].body, part) != NULL;
    lock_give(&m->lock);
    return count;
}

/* The bodies of all calls that end with `path`, each on a line. */
static inline void fake_bodies(struct fake_master *m, const char *path, struct buf *out)
{
    lock_take(&m->lock);
    for (size_t i = 0; i < m->calls.count; i++)
        if (ends_with(m->calls.at[i].path, path)) {
            buf_puts(out, m->calls.at[i].body);
            buf_putc(out, '\n');
        }
    lock_give(&m->lock);
}

/* Until `x` is true; a test that waits for nothing fails after a minute. */
#define WAIT_UNTIL(x)                                                                  \
    do {                                                                               \
        int wait_left = PATIENCE_MS / 5;                                               \
        while (!(x) && wait_left-- > 0)                                                \
            poll(NULL, 0, 5);                                                          \
        if (!(x))                                                                      \
            fail_msg("waited in vain for %s", #x);                                     \
    } while (0)

/* What was set before is seen by its threads, and what they did by us. */
static inline void fake_sync(struct fake_master *m)
{
    lock_take(&m->lock);
    lock_give(&m->lock);
}

/* Where it is with stdout. */
static inline uint64_t fake_offset(struct fake_master *m)
{
    uint64_t offset;

    lock_take(&m->lock);
    offset = m->offset[0];
    lock_give(&m->lock);
    return offset;
}

static inline size_t fake_held(struct fake_master *m)
{
    size_t held;

    lock_take(&m->lock);
    held = m->held_count;
    lock_give(&m->lock);
    return held;
}

/* ---- supervisors ----------------------------------------------------------------- */

/* A task's directory with its spec; `more` is further members, with a comma in front.
 */
static inline void fake_place(struct fake_master *m, const char *entrypoint,
                              const char *more, char dir[128])
{
    CLEANUP(buf_done) struct buf spec = BUF_INIT;
    char path[160];

    fake_sync(m);
    snprintf(dir, 128, "%s/t", m->dir);
    CHECK_OK(io_mkdir(io_system(), dir, true, &test_err));
    buf_printf(&spec,
               "{\"allocation\":\"3.u.1\",\"rank\":0,\"taskId\":\"3.u\","
               "\"containerId\":\"c\",\"slots\":[0],\"entrypoint\":%s,"
               "\"environment\":{\"DET_MASTER\":\"http://127.0.0.1:%u\","
               "\"DET_SESSION_TOKEN\":\"secret\",\"MARK\":\"here\"}%s}",
               entrypoint, m->port, more);
    snprintf(path, sizeof(path), "%s/" TASK_DIR_SPEC, dir);
    CHECK_OK(io_replace(io_system(), path, spec.data, spec.len, true, &test_err));
}

static inline pid_t fake_spawn(const char *dir)
{
    pid_t pid = fork();

    if (pid == 0) {
        close(STDOUT_FILENO); /* a sentence there would not be TAP */
        execl("/proc/self/exe", "det", "task", "run", dir, (char *)NULL);
        _exit(99);
    }
    CHECK(pid > 0);
    return pid;
}

static inline int fake_wait(struct fake_master *m, pid_t pid)
{
    int status;

    CHECK_EQ(waitpid(pid, &status, 0), pid);
    fake_sync(m);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static inline bool file_is_there(const char *dir, const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

/* ---- whole tasks -------------------------------------------------------------------
 */

/* A model definition as the master sends it: {"b64Tgz": ...}. */
static inline char *pack(const char *path, const char *text)
{
    const struct archive_entry_in entry = {
        .path = path, .mode = 0755, .bytes = text, .size_bytes = strlen(text)};
    struct archive_writer *writer;
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;
    struct buf reply = BUF_INIT;

    CHECK_OK(archive_writer_new(ARCHIVE_TGZ, &writer, &test_err));
    CHECK_OK(archive_add(writer, &entry, &test_err));
    CHECK_OK(archive_finish(writer, &tgz, &test_err));
    archive_writer_free(writer);
    buf_puts(&reply, "{\"b64Tgz\":\"");
    base64_encode(&reply, tgz.data, tgz.len);
    buf_puts(&reply, "\"}");
    return buf_take(&reply);
}

static inline void check_exit(const char *dir, const char *exit, int code,
                              const char *reason)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct task_exit found;

    CHECK_OK(task_dir_read_exit(io_system(), dir, &mem, &found, &test_err));
    CHECK_STR(found.exit, exit);
    CHECK_EQ(found.code, code);
    CHECK_HAS(found.reason, reason);
}

/* Runs a task to its end. */
static inline void run(struct fake_master *m, const char *entrypoint, const char *more,
                       char dir[128])
{
    fake_place(m, entrypoint, more, dir);
    CHECK_EQ(fake_wait(m, fake_spawn(dir)), 0);
    CHECK_NULL(m->problem);
}

/* "\"PROGRAM report COUNT; MORE\"": an entrypoint that reports. */
static inline const char *reporting(char text[512], int count, const char *more)
{
    char program[300];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

    CHECK(len > 0);
    program[len] = '\0';
    snprintf(text, 512, "\"%s report %d; %s\"", program, count, more);
    return text;
}

/* Where the first call with that end stands among all; -1: there was none. */
static inline int fake_place_of(struct fake_master *m, const char *path)
{
    int found = -1;

    lock_take(&m->lock);
    for (size_t i = 0; i < m->calls.count && found < 0; i++)
        if (ends_with(m->calls.at[i].path, path))
            found = (int)i;
    lock_give(&m->lock);
    return found;
}

/* Whether a file of /proc contains this text. */
static inline bool proc_has(const char *pid, const char *file, const char *text)
{
    CLEANUP(buf_done) struct buf all = BUF_INIT;
    char path[300];

    snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
    return io_read_file(io_system(), path, &all, NULL) == DET_OK &&
           memmem(all.data, all.len, text, strlen(text)) != NULL;
}

/* Whether no task of this master has this word in its command line any more.  Other
 * tests may run tasks with the same word at the same time. */
static inline bool nobody_has(const struct fake_master *m, const char *word)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4 << 20);
    const char **names;
    char master[64];

    snprintf(master, sizeof(master), "DET_MASTER=http://127.0.0.1:%u", m->port);
    CHECK_OK(io_list(io_system(), "/proc", &mem, &names, &test_err));
    for (; *names; names++)
        if (proc_has(*names, "cmdline", word) && proc_has(*names, "environ", master))
            return false;
    return true;
}

/* Ignores SIGTERM, and has a grandchild in a session of its own whose parent left. */
#define STUBBORN(word)                                                                 \
    "\"trap '' TERM; (setsid sh -c 'trap \\\"\\\" TERM; echo $$; while :; do sleep "   \
    "0.05; done' " word " &) ; echo up; while :; do sleep 0.05; done\""

#endif
