/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor_loop.c - one loop over pipes, children, a socket and deadlines.
 *
 *   PREPARING  the lifecycle's lane fetches files, writes info, meets the other nodes
 *   RUNNING    the entrypoint was executed; its output goes to the spools
 *   LEAVING    its first process ended; the rest of the tree may finish, then is killed
 *   DRAINING   no process is left; the loop reads the rest of the pipes
 *   KEEPING    only if new files are to be kept: `det task keep` saves them
 *   SHIPPING   exit.json is written; the drain sends the remaining reports, then the
 *              ship lane the remaining output, with notes about the reports
 *   REPORTING  the lifecycle's lane reports the exit
 *   OVER
 *
 * A supervisor that was told to end its task softly (the agent stops, the machine shuts
 * down) leaves after LEAVE_US even if the master has not received everything: the next
 * agent sends the spools and exit.json.
 *
 * The loop never waits for the master, and for a disk only as long as one write takes:
 * the lanes wait (lifecycle.h, ship.h, ring_drain.h) and wake the loop through an
 * eventfd.  One function per phase, step_<phase>(), decides whether the phase is over;
 * it is called after every event.
 *
 * Ending a task: the loop finds all its processes in /proc (process_tree.h) and kills
 * them until wait(2) knows no child.  As the subreaper we inherit every orphan, so no
 * process escapes.  When the first process ends by itself, the others get two seconds:
 * a `tee` behind a pipe needs only to see the end of its input. */
#include "agent/task/supervisor_loop.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/master_link.h"
#include "agent/task/control.h"
#include "agent/task/left_files.h"
#include "agent/task/lifecycle.h"
#include "agent/task/load_watch.h"
#include "agent/task/prepare/child.h"
#include "agent/task/prepare/env_entry.h"
#include "agent/task/prepare/limits.h"
#include "agent/task/prepare/task_layout.h"
#include "agent/task/prepare/task_start.h"
#include "agent/task/process_tree.h"
#include "agent/task/ring_drain.h"
#include "agent/task/spec.h"
#include "base/clock.h"
#include "base/io/io.h"
#include "base/log.h"
#include "model/determinism.h"

enum {
    READS_A_ROUND = 16, /* of one pipe before the next */
    TERM_US = 10 * 1000 * 1000,
    GRACE_US = 2 * 1000 * 1000,
    ASK_US = 10 * 1000 * 1000,
    KILL_AGAIN_US = 20 * 1000,
    KILL_LAST_US = 30 * 1000 * 1000, /* limit for processes that SIGKILL does not end */
    DRAIN_US = 1000 * 1000,
    LOOK_US = 5 * 1000 * 1000,        /* how often to look at what DIR uses */
    LOOK_AT_DIR_US = 1 * 1000 * 1000, /* ... and whether it is there */
    LOOK_AT_MEMORY_US = 500 * 1000,
    LEAVE_US = 3 * 1000 * 1000,
};

static int64_t mono_us(void)
{
    return clock_mono_us(&clock_system);
}

static int64_t wall_us(void)
{
    return clock_wall_us(&clock_system);
}

/* ---- waking ---------------------------------------------------------------------- */

void supervisor_loop_wake(void *arg)
{
    const struct supervisor *s = arg;
    const uint64_t one = 1;

    (void)!write(s->wake_fd, &one, sizeof(one));
}

/* Writes a sentence of the supervisor into the task's log. */
static void tell_task(struct supervisor *s, const char *text)
{
    char line[ERR_TEXT_SIZE + 16];
    int len = snprintf(line, sizeof(line), "[det] %s\n", text);

    spool_write(s->spool[1], wall_us(), line, MIN((size_t)len, sizeof(line) - 1));
    ship_wake(s->ship);
}

static void log_to_task(struct supervisor *s, const char *text)
{
    log_error("%s", text);
    tell_task(s, text);
}

/* Moves the notes about reports into the log, while the log still accepts lines. */
static void take_notes(struct supervisor *s)
{
    char text[ERR_TEXT_SIZE];

    while (s->phase <= SHIPPING && ring_drain_take_note(s->drain, text))
        log_to_task(s, text);
}

/* ---- output ---------------------------------------------------------------------- */

/* Reads a bounded part of a pipe; the next round reads on. */
static void read_output(struct supervisor *s, size_t i)
{
    for (int round = 0; round < READS_A_ROUND && s->output[i] >= 0; round++) {
        ssize_t len = read(s->output[i], s->bytes, sizeof(s->bytes));

        if (len > 0) {
            spool_write(s->spool[i], wall_us(), s->bytes, (size_t)len);
            ship_wake(s->ship);
            if (i == 1)
                last_words_add(&s->last_words, s->bytes, (size_t)len);
        } else if (len == 0 || (errno != EAGAIN && errno != EINTR)) {
            close(s->output[i]);
            s->output[i] = -1;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/* ---- stopping -------------------------------------------------------------------- */

static void kill_all(struct supervisor *s)
{
    struct err err = {0};
    size_t count = 0;

    privileged_group_kill(&s->start.group);
    if (process_tree_signal(getpid(), SIGKILL, &count, &err)) {
        log_error("%s", err.text);
        if (s->pid)
            kill(-s->pid, SIGKILL);
    }
    s->kill_us = mono_us() + KILL_AGAIN_US;
}

static void ask_to_stop(struct supervisor *s, enum stop how)
{
    s->must_leave |= how == STOP_TERM;
    if (how == STOP_TERM && s->phase >= SHIPPING && !s->deadline_us)
        s->deadline_us = mono_us() + LEAVE_US;
    if (s->phase == KEEPING) {
        log_to_task(s, "files of 'keep' may be lost: the task was ended while they "
                       "were saved");
        kill_all(s);
    }
    if (how <= s->stop || s->phase > LEAVING)
        return;
    log_info("told to end the task %s", how == STOP_KILL ? "at once" : "soon");
    s->stop = how;
    if (!s->exit.exit)
        s->was_asked = true;
    if (s->phase == PREPARING) {
        lifecycle_stop(s->lifecycle);
    } else if (how == STOP_KILL) {
        kill_all(s);
    } else {
        if (s->pid)
            kill(-s->pid, SIGTERM);
        s->kill_us = mono_us() + TERM_US;
    }
}

/* Calls under way are interrupted and repeated at the new address.  A master that speaks
 * TLS since then is known by the file that the agent has put into the task's directory. */
static void follow_master(struct supervisor *s, const char *url)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
    const char *cert = task_dir_path(&mem, s->dir, TASK_DIR_CERT);
    struct io_stat found;
    struct err err = {0};
    det_status status;

    if (!cert || s->spec.master_cert_file || io_stat(s->io, cert, &found, NULL) ||
        found.kind != IO_FILE)
        cert = NULL;
    status = master_link_move(s->start.link, url, cert, &err);
    if (!status)
        status = master_link_move(s->ship_link, url, cert, &err);
    if (!status)
        status = master_link_move(s->drain_link, url, cert, &err);
    if (!status && s->load_link)
        status = master_link_move(s->load_link, url, cert, &err);
    if (status) {
        log_error("%s", err.text);
        return;
    }
    log_info("the master is at %s now", url);
    if (task_layout_write_master(s->io, &s->spec, s->dir, url, &err))
        log_warn("the task is not told where the master is: %s", err.text);
    lifecycle_hurry(s->lifecycle);
    ship_hurry(s->ship);
    ring_drain_hurry(s->drain);
}

static void take_commands(struct supervisor *s)
{
    char argument[CONTROL_TEXT];
    enum control_word word;

    while ((word = control_next(s->control_fd, argument)) != CONTROL_NONE) {
        if (word == CONTROL_KILL)
            ask_to_stop(s, STOP_KILL);
        else if (word == CONTROL_TERM)
            ask_to_stop(s, STOP_TERM);
        else if (word == CONTROL_MASTER)
            follow_master(s, argument);
    }
}

/* ---- children -------------------------------------------------------------------- */

/* The kernel says nothing to a task whose processes it kills for want of memory. */
static void tell_killed(struct supervisor *s)
{
    char text[ERR_TEXT_SIZE];
    int64_t killed = limits_killed(s->start.group.fd);

    if (killed <= s->killed_told)
        return;
    s->killed_told = killed;
    snprintf(text, sizeof(text),
             "the kernel killed %" PRId64 " process%s of the task, which used more "
             "memory than task_limits.memory of this agent allows",
             killed, killed == 1 ? "" : "es");
    log_to_task(s, text);
}

/* Whether the lock that we hold is still the one in DIR. */
static bool is_dir_removed(const struct supervisor *s)
{
    struct stat there;

    if (stat(s->lock_path, &there))
        return errno == ENOENT;
    return there.st_ino != s->lock_id.st_ino || there.st_dev != s->lock_id.st_dev;
}

/* A program whose files were removed is not to blame for its end, unless it has put
 * something else in their place. */
static void blame_removal(struct supervisor *s)
{
    struct err err = {0};
    const char *reason;

    if (!s->is_removed && !is_dir_removed(s))
        return;
    s->exit.exit = "TRANSIENT";
    s->exit.reason = "its directory was removed";
    if (task_dir_check(s->io, s->dir, &err) != DET_CORRUPT)
        return;
    reason = arena_printf(&s->mem, TASK_DIR_SPOILED "%s", err.text);
    s->exit.exit = "FAILED";
    s->exit.reason = reason ? reason : TASK_DIR_SPOILED "see the agent's log";
}

static void note_exit(struct supervisor *s, int status)
{
    tell_killed(s);
    s->exit = exit_classify(status, s->was_asked && !s->outgrown, &s->mem);
    env_entry_explain(s->io, s->dir, &s->mem, &s->exit);
    s->exit.boot_id = s->boot_id;
    if (s->outgrown)
        s->exit.reason = s->outgrown;
    blame_removal(s);
}

static void note_keeper(struct supervisor *s, int status)
{
    const char *text = left_files_keeper_ended(s, status);

    /* If we killed it, ask_to_stop() has said so. */
    if (!text || s->must_leave || s->stop == STOP_KILL)
        return;
    log_to_task(s, text);
    tell_killed(s);
}

/* A child that we watch has ended: the program, or the keeper after it. */
static void note_status(struct supervisor *s, int status)
{
    if (!s->exit.exit) {
        note_exit(s, status);
    } else if (s->phase == KEEPING && !s->has_keeper_ended) {
        s->has_keeper_ended = true;
        note_keeper(s, status);
    }
}

/* The program of an isolated task is not our child: the first process of its namespace
 * tells its status before it ends itself. */
static void read_exit(struct supervisor *s)
{
    ssize_t len;

    if (s->exit_fd < 0)
        return;
    len = read(s->exit_fd, &s->exit_status, sizeof(s->exit_status));
    if (len < 0 && errno == EAGAIN)
        return;
    if (len == (ssize_t)sizeof(s->exit_status))
        note_status(s, s->exit_status);
    close(s->exit_fd);
    s->exit_fd = -1;
}

static void reap(struct supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != s->pid)
            continue;
        read_exit(s);
        note_status(s, status);
        s->pid = 0;
    }
    s->has_children = pid == 0;
}

static void take_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;

    while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
            ask_to_stop(s, STOP_TERM);
    reap(s);
}

/* ---- starting -------------------------------------------------------------------- */

det_status supervisor_loop_write_pid(struct supervisor *s, struct err *err)
{
    const struct task_dir_pid pid = {
        .supervisor = getpid(),
        .group = s->pid,
        .group_start = s->pid ? process_tree_start(s->pid) : 0,
        .mark = s->mark,
        .groups = s->spec.control_group,
        .boot_id = s->boot_id,
    };

    return task_dir_write_pid(s->io, s->dir, &pid, err);
}

/* The task ends without having run. */
static void end_unstarted(struct supervisor *s, det_status status, const char *sentence)
{
    const char *reason = arena_strdup(&s->mem, sentence);

    s->exit = (struct task_exit){
        .exit = s->was_asked          ? "KILLED"
                : s->start.is_lacking ? "LACKING"
                                      : "FAILED",
        .is_final = status == DET_NOT_FOUND || status == DET_FORBIDDEN,
        .code = s->was_asked ? 128 + SIGKILL : child_exit_code(status),
        .reason = reason ? reason : "could not be started",
        .boot_id = s->boot_id,
    };
    blame_removal(s);
    s->phase = DRAINING;
}

static void watch_child(struct supervisor *s, const struct child *child)
{
    s->pid = child->pid;
    s->exit_fd = child->exit_fd;
    s->has_children = true;
    memcpy(s->output, child->output, sizeof(s->output));
}

static void start_entrypoint(struct supervisor *s)
{
    struct child child;
    struct err err = {0};
    det_status status;

    left_files_note(s);
    status = task_start_entrypoint(&s->start, &s->mem, &child, &err);
    if (status) {
        log_to_task(s, err.text);
        end_unstarted(s, status, err.text);
        return;
    }
    if (s->start.note)
        log_to_task(s, s->start.note);
    if (spec_variable(s->start.spec, DETERMINISM_MARK))
        log_to_task(
            s, "reproducibility.deterministic: the variables of libraries are set; "
               "the deterministic algorithms and seeds of NumPy, PyTorch and "
               "TensorFlow are set in Python programs that import determined");
    watch_child(s, &child);
    s->phase = RUNNING;
    s->memory_us = mono_us();
    lifecycle_set_running(s->lifecycle);
    ring_drain_start(s->drain);
    load_watch_start(s->load_watch);
    /* Without this file the agent could not clean up after us, but the task can run. */
    if (supervisor_loop_write_pid(s, &err))
        log_error("%s", err.text);
}

/* ---- phases ---------------------------------------------------------------------- */

static void step_preparing(struct supervisor *s)
{
    struct err why = {0};
    struct lifecycle_view view = lifecycle_look(s->lifecycle, &why);

    if (view.is_superseded)
        s->was_asked = true;
    if (view.has_failed && s->was_asked) {
        end_unstarted(s, DET_OK, "killed before it started");
    } else if (view.has_failed) {
        log_to_task(s, why.text);
        end_unstarted(s, DET_FAILED, why.text);
    } else if (view.is_ready && !s->was_asked) {
        start_entrypoint(s);
    }
}

/* How long the rest of a task may run: longer while the process that asks the
 * interpreter (env/enter.h) is part of it. */
static int64_t grace_us(struct supervisor *s)
{
    if (s->stop == STOP_KILL)
        return 0;
    return env_entry_is_asking(s->io, s->dir, &s->mem) ? ASK_US : GRACE_US;
}

static void step_running(struct supervisor *s)
{
    struct err err = {0};

    if (lifecycle_look(s->lifecycle, NULL).is_superseded ||
        ring_drain_must_end(s->drain) ||
        (ship_is_over(s->ship) && ship_outcome(s->ship, &err) == DET_STATE) ||
        (ring_drain_is_over(s->drain) &&
         ring_drain_outcome(s->drain, &err) == DET_STATE))
        ask_to_stop(s, STOP_KILL);
    if (!s->exit.exit)
        return;
    log_info("the task %s", s->exit.reason);
    load_watch_end(s->load_watch);
    s->phase = LEAVING;
    /* After SIGTERM the whole tree has its time, not only the shell at its head. */
    if (s->stop != STOP_TERM)
        s->kill_us = mono_us() + grace_us(s);
    s->deadline_us = mono_us() + KILL_LAST_US;
}

static void step_leaving(struct supervisor *s)
{
    if (s->has_children && mono_us() < s->deadline_us)
        return;
    if (s->has_children)
        log_error("some processes of the task cannot be killed");
    s->phase = DRAINING;
    s->kill_us = 0;
    s->deadline_us = mono_us() + DRAIN_US;
}

/* Repeated when a full disk has space again: the agent needs the file if our own
 * report does not arrive. */
static void write_record(struct supervisor *s)
{
    struct err err = {0};

    if (s->has_record || s->is_removed)
        return;
    s->has_record = task_dir_write_exit(s->io, s->dir, &s->exit, &err) == DET_OK;
    if (!s->has_record)
        log_error("%s", err.text);
}

static bool start_keeper(struct supervisor *s)
{
    struct child child;
    struct err err = {0};

    if (!left_files_keep(s, &child, &err)) {
        if (err.status)
            log_to_task(s, err.text);
        return false;
    }
    watch_child(s, &child);
    s->phase = KEEPING;
    return true;
}

/* A process outside the tree may hold a pipe, received through a socket; the
 * deadline ends the wait for it. */
static void step_draining(struct supervisor *s)
{
    for (size_t i = 0; i < SHIP_STREAMS; i++)
        if (s->output[i] >= 0 && mono_us() < s->deadline_us)
            return;
    for (size_t i = 0; i < SHIP_STREAMS; i++) {
        if (s->output[i] >= 0)
            close(s->output[i]);
        s->output[i] = -1;
    }
    write_record(s);
    if (!s->has_kept && start_keeper(s))
        return;
    s->phase = SHIPPING;
    s->deadline_us = s->must_leave ? mono_us() + LEAVE_US : 0;
    ring_drain_end(s->drain);
}

/* The keeper may take as long as the storage needs.  When it has ended, the rest of its
 * output is read as that of the program was. */
static void step_keeping(struct supervisor *s)
{
    if (s->has_children)
        return;
    s->phase = DRAINING;
    s->kill_us = 0;
    s->deadline_us = mono_us() + DRAIN_US;
}

/* The output ends after the reports, because there may be notes about them. */
static bool is_shipped(struct supervisor *s)
{
    const char *sentences[2];

    if (!ring_drain_is_over(s->drain))
        return false;
    if (!s->has_ended_output) {
        take_notes(s);
        sentences[0] = left_files_unmatched(s);
        sentences[1] = left_files_sentence(s);
        for (size_t i = 0; i < ARRAY_LEN(sentences); i++)
            if (sentences[i])
                tell_task(s, sentences[i]);
        for (size_t i = 0; i < SHIP_STREAMS; i++)
            spool_end(s->spool[i], wall_us());
        s->has_ended_output = true;
        ship_end(s->ship);
    }
    return ship_is_over(s->ship);
}

/* We were told to end, and the master had its time. */
static void leave_when_due(struct supervisor *s)
{
    if (!s->deadline_us || mono_us() < s->deadline_us)
        return;
    log_warn("the master does not answer; the next agent will report the end");
    write_record(s);
    s->phase = OVER;
}

/* The master refuses our token, and data was left unsent. */
static bool is_stranger(const struct supervisor *s)
{
    return ship_outcome(s->ship, NULL) == DET_UNAUTHENTICATED ||
           ring_drain_outcome(s->drain, NULL) == DET_UNAUTHENTICATED;
}

/* A program that made reports was executed, so no lack kept it from that: its own file
 * says so (env_entry.h). */
static void judge_end(struct supervisor *s)
{
    bool has_reports = ring_drain_has_reports(s->drain);

    if (has_reports && strcmp(s->exit.exit, "LACKING") == 0)
        s->exit.exit = "FAILED";
    else if (!last_words_judge(&s->last_words, has_reports, &s->exit, &s->mem))
        return;
    s->has_record = false; /* it says more now */
    write_record(s);
}

static void report_exit(struct supervisor *s)
{
    struct err err = {0};

    judge_end(s);

    /* The exit comes last: the master would refuse data after it. */
    if (is_stranger(s)) {
        log_warn(
            "the master does not know this task's token; the agent sends the rest");
        s->phase = OVER;
        return;
    }

    if (ship_outcome(s->ship, NULL) == DET_OK)
        for (size_t i = 0; i < SHIP_STREAMS; i++)
            spool_discard(s->spool[i]);
    s->phase = REPORTING;
    if (lifecycle_set_exit(s->lifecycle, &s->exit, &err)) {
        log_error("%s", err.text); /* the agent will report it */
        s->phase = OVER;
    }
}

/* One step; true if another may follow at once. */
static bool advance(struct supervisor *s)
{
    enum phase before = s->phase;

    switch (s->phase) {
    case PREPARING:
        step_preparing(s);
        break;
    case RUNNING:
        step_running(s);
        break;
    case LEAVING:
        step_leaving(s);
        break;
    case DRAINING:
        step_draining(s);
        break;
    case KEEPING:
        step_keeping(s);
        break;
    case SHIPPING:
        if (is_shipped(s))
            report_exit(s);
        else
            leave_when_due(s);
        break;
    case REPORTING:
        if (lifecycle_look(s->lifecycle, NULL).is_over)
            s->phase = OVER;
        else
            leave_when_due(s);
        break;
    case OVER:
        break;
    }
    return s->phase != before;
}

/* ---- the loop -------------------------------------------------------------------- */

static void end_outgrown(struct supervisor *s, const char *reason, const char *sentence)
{
    s->outgrown = reason;
    log_to_task(s, sentence);
    ask_to_stop(s, STOP_KILL);
}

/* A task that outgrew its disk space would fill the disk for all. */
static void look_at_size(struct supervisor *s)
{
    int64_t most = s->spec.limits.disk;

    if (most > 0 && s->phase == RUNNING && !s->outgrown &&
        limits_disk_used(s->dir, most) > most)
        end_outgrown(
            s, "it used more disk space than task_limits.disk allows",
            "the task used more disk space than task_limits.disk of this agent "
            "allows: write large files to the checkpoint storage");
}

/* Without a control group the kernel limits the memory of each process only. */
static void look_at_memory(struct supervisor *s)
{
    int64_t most = s->spec.limits.memory;
    int64_t used = 0;

    if (most <= 0 || s->phase != RUNNING || s->outgrown || s->start.group.has_limits) {
        s->memory_us = INT64_MAX;
        return;
    }
    if (mono_us() < s->memory_us)
        return;
    s->memory_us = mono_us() + LOOK_AT_MEMORY_US;
    if (!process_tree_memory(getpid(), most, &used, NULL) && used > most)
        end_outgrown(s, "it used more memory than task_limits.memory allows",
                     "the processes of the task together used more memory than "
                     "task_limits.memory of this agent allows");
}

static void look_after_dir(struct supervisor *s)
{
    if (mono_us() < s->look_us)
        return;
    s->look_us = mono_us() + LOOK_US;
    if (s->phase >= SHIPPING)
        write_record(s);
    look_at_size(s);
}

/* Somebody removed the directory: nothing can be kept there any more, and the task must not go
 * on.  What it has reported and printed is in open files, and is still delivered. */
static void look_for_dir(struct supervisor *s)
{
    if (s->is_removed || mono_us() < s->dir_us)
        return;
    s->dir_us = mono_us() + LOOK_AT_DIR_US;
    if (!is_dir_removed(s))
        return;
    s->is_removed = true;
    s->dir_us = INT64_MAX;
    log_error("the task's directory or its lock was removed");
    if (s->phase < SHIPPING)
        ask_to_stop(s, STOP_KILL);
}

static int until_next(const struct supervisor *s)
{
    int64_t next_us = MIN(MIN(s->look_us, s->dir_us), s->memory_us);
    int64_t left_us;

    if (s->deadline_us)
        next_us = MIN(next_us, s->deadline_us);
    if (s->kill_us)
        next_us = MIN(next_us, s->kill_us);
    left_us = next_us - mono_us();
    return left_us <= 0 ? 0 : (int)(left_us / 1000) + 1;
}

static void wait_and_read(struct supervisor *s)
{
    enum { WAKE, SIGNAL, CONTROL, EXIT, OUTPUT };
    struct pollfd fds[OUTPUT + SHIP_STREAMS] = {
        {.fd = s->wake_fd, .events = POLLIN},
        {.fd = s->signal_fd, .events = POLLIN},
        {.fd = s->control_fd, .events = POLLIN},
        {.fd = s->exit_fd, .events = POLLIN},
    };
    uint64_t count;

    for (size_t i = 0; i < SHIP_STREAMS; i++)
        fds[OUTPUT + i] = (struct pollfd){.fd = s->output[i], .events = POLLIN};
    if (poll(fds, ARRAY_LEN(fds), until_next(s)) < 0)
        return;
    if (fds[WAKE].revents)
        (void)!read(s->wake_fd, &count, sizeof(count));
    for (size_t i = 0; i < SHIP_STREAMS; i++)
        if (fds[OUTPUT + i].revents)
            read_output(s, i);
    if (fds[EXIT].revents)
        read_exit(s);
    if (fds[SIGNAL].revents)
        take_signals(s);
    if (fds[CONTROL].revents)
        take_commands(s);
}

static void kill_when_due(struct supervisor *s)
{
    if (!s->kill_us || mono_us() < s->kill_us)
        return;
    if (s->stop == STOP_TERM && s->phase == RUNNING)
        log_warn("the task did not end within %d s, killing it", TERM_US / 1000000);
    kill_all(s);
    reap(s);
}

void supervisor_loop_task(struct supervisor *s)
{
    s->look_us = mono_us() + LOOK_US;
    s->dir_us = mono_us() + LOOK_AT_DIR_US;
    s->memory_us = INT64_MAX;
    while (s->phase != OVER) {
        while (advance(s))
            continue;
        if (s->phase == OVER)
            break;
        wait_and_read(s);
        take_notes(s);
        kill_when_due(s);
        look_after_dir(s);
        look_for_dir(s);
        look_at_memory(s);
    }
}
