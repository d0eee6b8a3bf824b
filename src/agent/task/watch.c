/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - one loop over pipes, children, a socket and deadlines.
 *
 *   PREPARING  the steps lane fetches files, writes info, meets the other nodes
 *   RUNNING    the entrypoint was executed; its output goes to the spools
 *   LEAVING    its first process ended; what is left of the tree may finish, then must
 *   DRAINING   nobody is left; what the pipes still hold is read
 *   SHIPPING   exit.json is written; the drain lane sends the reports that the master
 * has not got, then the ship lane the output, with what there is to say of them
 *   REPORTING  the steps lane reports the exit
 *   OVER
 *
 * A supervisor that was told to end its task softly (the agent stops, the machine goes
 * down) leaves after LEAVE_US even when the master has not got everything: the spools
 * and exit.json are there for the next agent, and nobody wants to find us left over.
 *
 * The loop never waits for the master, nor for a disk any longer than a write takes:
 * the lanes do (steps.h, ship.h, drain.h), and wake it through an eventfd.  Each phase
 * is left by one function, step_<phase>(), asked again after everything that happens.
 *
 * Ending a task: its first process and whoever came from it are found by walking /proc
 * (family.h), again and again until wait(2) knows no child any more; as the subreaper
 * we inherit everybody whose parent died, so nobody slips away.  A first process that
 * ends by itself leaves the others two seconds: a `tee` behind a pipe has only to see
 * its end. */
#include "agent/task/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/talk.h"
#include "agent/task/child.h"
#include "agent/task/control.h"
#include "agent/task/doorway.h"
#include "agent/task/drain.h"
#include "agent/task/entrypoint.h"
#include "agent/task/family.h"
#include "agent/task/identity.h"
#include "agent/task/steps.h"
#include "agent/task/world.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "data/json.h"

enum {
    READS_A_ROUND = 16, /* of one pipe, before the others have their turn */
    TERM_US = 10 * 1000 * 1000,
    GRACE_US = 2 * 1000 * 1000,
    ASK_US = 10 * 1000 * 1000,
    KILL_AGAIN_US = 20 * 1000,
    KILL_LAST_US = 30 * 1000 * 1000, /* processes that even SIGKILL does not end */
    DRAIN_US = 1000 * 1000,
    LOOK_US = 5 * 1000 * 1000, /* whether DIR is still there */
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

void watch_wake(void *arg)
{
    const struct supervisor *s = arg;
    const uint64_t one = 1;

    (void)!write(s->wake_fd, &one, sizeof(one));
}

/* A sentence of ours in the task's log. */
static void say(struct supervisor *s, const char *text)
{
    char line[ERR_TEXT_SIZE + 16];
    int len = snprintf(line, sizeof(line), "[det] %s\n", text);

    log_error("%s", text);
    spool_write(s->spool[1], wall_us(), line, MIN((size_t)len, sizeof(line) - 1));
    ship_wake(s->ship);
}

/* What is to be said of the reports, while the log can still take it. */
static void take_notes(struct supervisor *s)
{
    char text[ERR_TEXT_SIZE];

    while (s->phase <= SHIPPING && drain_take_note(s->drain, text))
        say(s, text);
}

/* ---- output ---------------------------------------------------------------------- */

/* Reads some of a pipe; what is too much for one round comes in the next. */
static void read_output(struct supervisor *s, size_t i)
{
    for (int round = 0; round < READS_A_ROUND && s->output[i] >= 0; round++) {
        ssize_t len = read(s->output[i], s->bytes, sizeof(s->bytes));

        if (len > 0) {
            spool_write(s->spool[i], wall_us(), s->bytes, (size_t)len);
            ship_wake(s->ship);
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

    if (family_signal(getpid(), SIGKILL, &count, &err)) {
        log_error("%s", err.text);
        if (s->pid)
            kill(-s->pid, SIGKILL);
    }
    s->kill_us = mono_us() + KILL_AGAIN_US;
}

static void ask_to_stop(struct supervisor *s, enum stop how)
{
    if (how == STOP_TERM && s->phase >= SHIPPING && !s->deadline_us)
        s->deadline_us = mono_us() + LEAVE_US;
    if (how <= s->stop || s->phase > LEAVING)
        return;
    log_info("told to end the task %s", how == STOP_KILL ? "at once" : "soon");
    s->stop = how;
    if (!s->exit.exit)
        s->was_asked = true;
    if (s->phase == PREPARING) {
        steps_stop(s->steps);
    } else if (how == STOP_KILL) {
        kill_all(s);
    } else {
        if (s->pid)
            kill(-s->pid, SIGTERM);
        s->kill_us = mono_us() + TERM_US;
    }
}

/* What is under way is given up and tried again there, at once. */
static void follow_master(struct supervisor *s, const char *url)
{
    struct err err = {0};
    det_status status = talk_move(s->steps_talk, url, &err);

    if (!status)
        status = talk_move(s->ship_talk, url, &err);
    if (!status)
        status = talk_move(s->drain_talk, url, &err);
    if (status) {
        log_error("%s", err.text);
        return;
    }
    log_info("the master is at %s now", url);
    if (world_write_master(s->io, &s->spec, s->dir, url, &err))
        log_warn("the task is not told where the master is: %s", err.text);
    steps_hurry(s->steps);
    ship_hurry(s->ship);
    drain_hurry(s->drain);
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

static void reap(struct supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != s->pid)
            continue;
        s->exit = exit_classify(status, s->was_asked, &s->mem);
        doorway_explain(s->io, s->dir, &s->mem, &s->exit);
        s->exit.boot_id = s->boot_id;
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

static bool is_there(struct supervisor *s, const char *name)
{
    char *path = place_path(&s->mem, s->dir, name);
    struct io_stat found;

    return path && io_stat(s->io, path, &found, NULL) == DET_OK;
}

/* Behind the doorway `python3` is what the configuration asks for. */
static const char *python_of(const struct task_spec *spec)
{
    const char *variable = spec_variable(spec, "DET_PYTHON_EXECUTABLE");

    if (spec->python || !json_is_null(spec->requirements) || !variable)
        return "python3";
    return variable;
}

static det_status build_command(struct supervisor *s, struct child_config *config,
                                struct err *err)
{
    const char *code = steps_code(s->steps);
    const struct doorway doorway = {.spec = &s->spec,
                                    .dir = s->dir,
                                    .program = s->program,
                                    .code = code[0] ? code : NULL,
                                    .who = steps_who(s->steps)};
    struct entrypoint_hooks hooks = {0};
    const char *const *inherited;
    const char **environment;
    const char **argv;
    const char *bash;
    det_status status;

    *config = (struct child_config){
        .directory = place_path(&s->mem, s->dir, PLACE_WORK),
        .run = place_path(&s->mem, s->dir, PLACE_RUN),
        .who = steps_who(s->steps),
    };
    if (!config->directory || !config->run)
        return err_default(err, DET_NOMEM);
    status = identity_environment(config->who, (const char *const *)(uintptr_t)environ,
                                  config->directory, &s->mem, &inherited, err);
    if (!status)
        status = world_environment(&s->spec, s->dir, s->program, inherited, &s->mem,
                                   &environment, err);
    if (!status)
        status = entrypoint_argv(s->spec.entrypoint, python_of(&s->spec), &s->mem,
                                 &argv, err);
    if (!status)
        status = doorway_argv(&doorway, argv, &s->mem, &argv, err);
    if (status)
        return status;
    if (is_there(s, PLACE_HOOK))
        hooks.defaults = place_path(&s->mem, s->dir, PLACE_HOOK);
    if (is_there(s, PLACE_WORK "/startup-hook.sh"))
        hooks.own = "./startup-hook.sh";
    hooks.has_bash = child_find("bash", environment, &s->mem, &bash, NULL) == DET_OK;
    status = entrypoint_behind_hooks(argv, &hooks, &s->mem, &argv, err);
    config->argv = argv;
    config->environment = environment;
    return status;
}

det_status watch_write_pid(struct supervisor *s, struct err *err)
{
    const struct place_pid pid = {
        .supervisor = getpid(),
        .group = s->pid,
        .group_start = s->pid ? family_start(s->pid) : 0,
        .boot_id = s->boot_id,
    };

    return place_write_pid(s->io, s->dir, &pid, err);
}

/* As shells have it. */
static int64_t code_of(det_status status)
{
    if (status == DET_NOT_FOUND)
        return 127;
    return status == DET_FORBIDDEN ? 126 : 1;
}

/* The task ends without having run. */
static void end_unstarted(struct supervisor *s, det_status status, const char *sentence)
{
    const char *reason = arena_strdup(&s->mem, sentence);

    s->exit = (struct task_exit){
        .exit = s->was_asked ? "KILLED" : "FAILED",
        .code = s->was_asked ? 128 + SIGKILL : code_of(status),
        .reason = reason ? reason : "could not be started",
        .boot_id = s->boot_id,
    };
    s->phase = DRAINING;
}

static void start(struct supervisor *s)
{
    struct child_config config;
    struct child child;
    struct err err = {0};
    det_status status = build_command(s, &config, &err);

    if (!status)
        status = child_start(&config, &s->mem, &child, &err);
    if (status) {
        say(s, err.text);
        end_unstarted(s, status, err.text);
        return;
    }
    s->pid = child.pid;
    s->has_children = true;
    memcpy(s->output, child.output, sizeof(s->output));
    s->phase = RUNNING;
    steps_running(s->steps);
    drain_start(s->drain);
    /* Without it the agent could not clean up behind us; the task can run all the same.
     */
    if (watch_write_pid(s, &err))
        log_error("%s", err.text);
}

/* ---- phases ---------------------------------------------------------------------- */

static void step_preparing(struct supervisor *s)
{
    struct err why = {0};
    struct steps_view view = steps_look(s->steps, &why);

    if (view.is_superseded)
        s->was_asked = true;
    if (view.has_failed && s->was_asked) {
        end_unstarted(s, DET_OK, "killed before it started");
    } else if (view.has_failed) {
        say(s, why.text);
        end_unstarted(s, DET_FAILED, why.text);
    } else if (view.is_ready && !s->was_asked) {
        start(s);
    }
}

/* How long what is left of a task may go on by itself: longer while the process that
 * asks what it ran on is among that. */
static int64_t grace_us(struct supervisor *s)
{
    if (s->stop == STOP_KILL)
        return 0;
    return doorway_is_asking(s->io, s->dir, &s->mem) ? ASK_US : GRACE_US;
}

static void step_running(struct supervisor *s)
{
    struct err err = {0};

    if (steps_look(s->steps, NULL).is_superseded ||
        (ship_is_over(s->ship) && ship_outcome(s->ship, &err) == DET_STATE) ||
        (drain_is_over(s->drain) && drain_outcome(s->drain, &err) == DET_STATE))
        ask_to_stop(s, STOP_KILL);
    if (!s->exit.exit)
        return;
    log_info("the task %s", s->exit.reason);
    s->phase = LEAVING;
    /* Asked to end, the whole family has its time, not only a shell that heads it. */
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

/* Again when a full disk has room: our own report may be all there is, but it may also
 * never arrive. */
static void write_record(struct supervisor *s)
{
    struct err err = {0};

    if (s->has_record)
        return;
    s->has_record = place_write_exit(s->io, s->dir, &s->exit, &err) == DET_OK;
    if (!s->has_record)
        log_error("%s", err.text);
}

/* A pipe may have got out of the family, through a socket; nobody waits for that one.
 */
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
    s->phase = SHIPPING;
    s->deadline_us = s->stop == STOP_TERM ? mono_us() + LEAVE_US : 0;
    drain_end(s->drain);
}

/* The output ends after the reports: there may be something to say about them. */
static bool is_shipped(struct supervisor *s)
{
    if (!drain_is_over(s->drain))
        return false;
    if (!s->has_ended_output) {
        take_notes(s);
        for (size_t i = 0; i < SHIP_STREAMS; i++)
            spool_end(s->spool[i], wall_us());
        s->has_ended_output = true;
        ship_end(s->ship);
    }
    return ship_is_over(s->ship);
}

/* We were told to end, and the master has had its time. */
static void leave_when_due(struct supervisor *s)
{
    if (!s->deadline_us || mono_us() < s->deadline_us)
        return;
    log_warn("the master does not answer; the next agent will report the end");
    write_record(s);
    s->phase = OVER;
}

/* The master does not take our token, and something was left unsent. */
static bool is_stranger(const struct supervisor *s)
{
    return ship_outcome(s->ship, NULL) == DET_UNAUTHENTICATED ||
           drain_outcome(s->drain, NULL) == DET_UNAUTHENTICATED;
}

static void report(struct supervisor *s)
{
    struct err err = {0};

    /* The end comes last: what is left would be refused after it. */
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
    if (steps_exit(s->steps, &s->exit, &err)) {
        log_error("%s", err.text); /* the agent will report it */
        s->phase = OVER;
    }
}

/* One step; true when there may be another at once. */
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
    case SHIPPING:
        if (is_shipped(s))
            report(s);
        else
            leave_when_due(s);
        break;
    case REPORTING:
        if (steps_look(s->steps, NULL).is_over)
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

/* A directory that was removed behind our back means that nobody wants the rest. */
static void look_after_dir(struct supervisor *s)
{
    if (mono_us() < s->look_us)
        return;
    s->look_us = mono_us() + LOOK_US;
    if (s->phase >= SHIPPING)
        write_record(s);
    if (access(s->dir, F_OK) == 0 || errno != ENOENT)
        return;
    log_error("the task's directory was removed");
    if (s->phase >= SHIPPING)
        s->phase = OVER;
    else
        ask_to_stop(s, STOP_KILL);
}

static int until_next(const struct supervisor *s)
{
    int64_t next_us = s->look_us;
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
    enum { WAKE, SIGNAL, CONTROL, OUTPUT };
    struct pollfd fds[OUTPUT + SHIP_STREAMS] = {
        {.fd = s->wake_fd, .events = POLLIN},
        {.fd = s->signal_fd, .events = POLLIN},
        {.fd = s->control_fd, .events = POLLIN},
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

void watch_task(struct supervisor *s)
{
    s->look_us = mono_us() + LOOK_US;
    while (s->phase != OVER) {
        while (advance(s))
            continue;
        if (s->phase == OVER)
            break;
        wait_and_read(s);
        take_notes(s);
        kill_when_due(s);
        look_after_dir(s);
    }
}
