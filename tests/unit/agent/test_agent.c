/* SPDX-License-Identifier: Apache-2.0 */
/* A real agent and real supervisors against a master that remembers. */
#include <signal.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "agent/task/control.h"
#include "base/thread/lock.h"
#include "tests/unit/agent/stage.h"

struct fixture {
    struct fake_master *m;
    struct agent *agent;
    char data[96];
    char dir[128]; /* of share 0 of allocation 3.u.1 */
    char program[256];
    char commands[2048];
};

static void start_agent(struct fixture *f)
{
    char url[64];
    const struct agent_config config = {
        .io = io_system(),
        .exec = f->m->exec,
        .net = f->m->net,
        .master_url = url,
        .id = "a 1",
        .slots = 2,
        .resource_pool = "default",
        .data_dir = f->data,
        .token = "agents",
        .program = f->program,
    };

    fake_sync(f->m);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", f->m->port);
    CHECK_OK(agent_new(&config, &f->agent, &test_err));
}

static struct fixture fixture(void)
{
    struct fixture f = {.m = fake_new()};
    ssize_t len = readlink("/proc/self/exe", f.program, sizeof(f.program) - 1);

    CHECK(len > 0);
    snprintf(f.data, sizeof(f.data), "%s/agent", f.m->dir);
    snprintf(f.dir, sizeof(f.dir), "%s/tasks/3.u.1-0", f.data);
    return f;
}

static void done(struct fixture *f)
{
    agent_free(f->agent);
    fake_free(f->m);
}

static bool has_no_commands(struct fake_master *m)
{
    bool has_none;

    lock_take(&m->lock);
    has_none = !m->commands;
    lock_give(&m->lock);
    return has_none;
}

/* Hands the commands to the poll that waits, or to the next. */
static void command(struct fixture *f, const char *commands)
{
    lock_take(&f->m->lock);
    snprintf(f->commands, sizeof(f->commands), "%s", commands);
    f->m->commands = f->commands;
    lock_give(&f->m->lock);
    WAIT_UNTIL((fake_release_poll(f->m), has_no_commands(f->m)));
}

#define START(seq, entrypoint)                                                         \
    "[{\"seq\":" #seq ",\"kind\":\"START\",\"allocation\":\"3.u.1\",\"rank\":0,"       \
    "\"spec\":{\"allocation\":\"3.u.1\",\"rank\":0,\"taskId\":\"3.u\","                \
    "\"containerId\":\"c\",\"slots\":[1],\"deviceType\":\"cpu\",\"entrypoint\":"       \
    "\"" entrypoint "\",\"environment\":{\"DET_SESSION_TOKEN\":\"t\"}}}]"
#define KILL(seq)                                                                      \
    "[{\"seq\":" #seq ",\"kind\":\"KILL\",\"allocation\":\"3.u.1\",\"rank\":0}]"
#define AGENT_EXIT "/agents/a%201/allocations/3.u.1/exit"

TEST(an_agent_says_hello_and_runs_a_task)
{
    struct fixture f = fixture();
    CLEANUP(buf_done) struct buf hello = BUF_INIT;

    start_agent(&f);
    command(&f, START(1, "echo $DET_AGENT_ID $DET_SLOT_IDS $DET_CLUSTER_ID"));
    WAIT_UNTIL(fake_count(f.m, AGENT_EXIT, "CLEAN") == 1);
    fake_bodies(f.m, "/hello", &hello);

    CHECK_HAS(hello.data, "{\"resourcePool\":\"default\",\"devices\":[{\"id\":0,");
    CHECK_HAS(hello.data, "\"addresses\":[\"127.0.0.1\"],\"bootId\":\"");
    CHECK_HAS(hello.data, "\"tasks\":[]}");
    CHECK_STR(f.m->output[0].data, "a 1 [1] cl\n");
    /* The supervisor reports first, the agent confirms, and nothing is left. */
    CHECK_EQ(fake_count(f.m, "/det/allocations/3.u.1/exit", "CLEAN"), 1);
    WAIT_UNTIL(!file_is_there(f.dir, ""));
    done(&f);
}

TEST(an_agent_opens_the_way_for_tasks_of_another_user_only)
{
    struct fixture f;
    struct stat st;
    char path[160];

    UNLESS(geteuid() == 0, "needs root");
    f = fixture();
    CHECK(chmod(f.m->dir, 0711) == 0);
    start_agent(&f);
    command(&f, START(1, "true"));
    WAIT_UNTIL(fake_count(f.m, AGENT_EXIT, "CLEAN") == 1);
    CHECK(stat(f.data, &st) == 0);
    CHECK_EQ(st.st_mode & 07777, 0700);
    command(&f, "[{\"seq\":2,\"kind\":\"START\",\"allocation\":\"4.u.1\",\"rank\":0,"
                "\"spec\":{\"allocation\":\"4.u.1\",\"rank\":0,\"taskId\":\"4.u\","
                "\"user\":{\"uid\":54321,\"gid\":54322},\"entrypoint\":\"id -u\","
                "\"environment\":{\"DET_SESSION_TOKEN\":\"t\"}}}]");
    WAIT_UNTIL(fake_count(f.m, "/allocations/4.u.1/exit", "CLEAN") == 2);

    CHECK_STR(f.m->output[0].data, "54321\n");
    CHECK(stat(f.data, &st) == 0);
    CHECK_EQ(st.st_mode & 07777, 0711);
    snprintf(path, sizeof(path), "%s/tasks", f.data);
    CHECK(stat(path, &st) == 0);
    CHECK_EQ(st.st_mode & 07777, 0711);
    WAIT_UNTIL(!file_is_there(path, "4.u.1-0"));
    done(&f);
}

TEST(a_task_that_exists_is_not_started_twice)
{
    struct fixture f = fixture();

    start_agent(&f);
    command(&f, START(1, "echo up; sleep 1000"));
    command(&f, START(2, "echo twice"));
    WAIT_UNTIL(fake_offset(f.m) == 3);
    command(&f, KILL(3));
    WAIT_UNTIL(fake_count(f.m, AGENT_EXIT, "KILLED") == 1);

    CHECK_STR(f.m->output[0].data, "up\n");
    CHECK_EQ(fake_count(f.m, "/state", "PULLING"), 1);
    done(&f);
}

TEST(killing_what_is_not_there_is_reported)
{
    struct fixture f = fixture();

    start_agent(&f);
    command(&f, KILL(1));
    WAIT_UNTIL(fake_count(f.m, AGENT_EXIT, "\"exit\":\"KILLED\",\"code\":137") == 1);
    done(&f);
}

TEST(the_poll_goes_on_after_the_last_command)
{
    struct fixture f = fixture();
    bool has_seen = false;

    start_agent(&f);
    command(&f, KILL(7));
    WAIT_UNTIL(fake_count(f.m, "/commands", "") >= 2);
    lock_take(&f.m->lock);
    for (size_t i = 0; i < f.m->calls.count; i++)
        has_seen =
            has_seen || strstr(f.m->calls.at[i].query,
                               "after=7&timeoutSeconds=15&epoch=e1&instance=") != NULL;
    lock_give(&f.m->lock);

    CHECK(has_seen);
    done(&f);
}

TEST(a_task_outlives_its_agent_and_is_adopted)
{
    struct fixture f = fixture();

    start_agent(&f);
    command(&f, START(1, "echo up; until [ -e ../go ]; do sleep 0.02; done; echo end"));
    WAIT_UNTIL(fake_offset(f.m) == 3);
    agent_free(f.agent);
    fake_release_poll(f.m);
    start_agent(&f);
    WAIT_UNTIL(fake_count(f.m, "/hello", "\"tasks\":[\"3.u.1/0\"]") == 1);
    CHECK_EQ(fake_count(f.m, AGENT_EXIT, ""), 0);
    snprintf(f.commands, sizeof(f.commands), "%s/go", f.dir);
    CHECK_OK(io_replace(io_system(), f.commands, "", 0, false, &test_err));
    WAIT_UNTIL(fake_count(f.m, AGENT_EXIT, "CLEAN") == 1);

    CHECK_STR(f.m->output[0].data, "up\nend\n");
    done(&f);
}

TEST(a_supervisor_that_vanishes_is_a_transient_failure)
{
    struct fixture f = fixture();
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct task_dir_pid pid = {0};

    f.m->holds_logs = true; /* so that there is output which only the spool has */
    start_agent(&f);
    command(&f, START(1, "(setsid sleep 1000 &); echo last words; sleep 1000"));
    WAIT_UNTIL(fake_held(f.m) == 1);
    CHECK_OK(task_dir_read_pid(io_system(), f.dir, &mem, &pid, &test_err));
    CHECK(pid.group > 0);
    kill((pid_t)pid.supervisor, SIGKILL);
    fake_release_logs(f.m);
    WAIT_UNTIL(fake_count(f.m, AGENT_EXIT, "TRANSIENT") == 1);

    CHECK_STR(f.m->output[0].data, "last words\n");
    WAIT_UNTIL(kill(-(pid_t)pid.group, 0) != 0); /* nobody of the session is left */
    WAIT_UNTIL(!file_is_there(f.dir, ""));
    done(&f);
}

TEST(the_reports_of_a_supervisor_that_vanishes_are_sent)
{
    struct fixture f = fixture();
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct task_dir_pid pid = {0};
    char entrypoint[512];
    CLEANUP(buf_done) struct buf start = BUF_INIT;

    f.m->is_busy = true;
    start_agent(&f);
    reporting(entrypoint, 7, "sleep 1000");
    entrypoint[strlen(entrypoint) - 1] = '\0'; /* START() has quotes of its own */
    buf_printf(&start, START(1, "%s"), entrypoint + 1);
    command(&f, start.data);
    WAIT_UNTIL(fake_count(f.m, "/reports", "") >= 1);
    CHECK_OK(task_dir_read_pid(io_system(), f.dir, &mem, &pid, &test_err));
    kill((pid_t)pid.supervisor, SIGKILL);
    lock_take(&f.m->lock);
    f.m->is_busy = false;
    lock_give(&f.m->lock);
    WAIT_UNTIL(fake_count(f.m, AGENT_EXIT, "TRANSIENT") == 1);

    CHECK_EQ(f.m->reports, 7);
    CHECK_EQ(f.m->records, 7);
    CHECK(fake_place_of(f.m, "/reports") < fake_place_of(f.m, AGENT_EXIT));
    WAIT_UNTIL(!file_is_there(f.dir, ""));
    done(&f);
}

TEST(a_master_that_started_anew_is_greeted_again)
{
    struct fixture f = fixture();

    start_agent(&f);
    WAIT_UNTIL(fake_count(f.m, "/commands", "") == 1);
    fake_leave(f.m);
    f.m->epoch = "e2";
    fake_serve(f.m);
    WAIT_UNTIL((fake_release_poll(f.m), fake_count(f.m, "/hello", "") >= 2));
    done(&f);
}

TEST(a_refused_agent_ends_with_the_sentence)
{
    struct fixture f = fixture();

    f.m->hello_status = 401;
    start_agent(&f);

    CHECK_EQ(agent_wait(f.agent, 0, &test_err), DET_UNAUTHENTICATED);
    CHECK_HAS(test_err.text, "wrong token");
    done(&f);
}

TEST(a_graceful_stop_ends_the_tasks)
{
    struct fixture f = fixture();

    start_agent(&f);
    command(&f, START(1, "trap 'echo bye; exit 0' TERM; echo up; "
                         "while :; do sleep 0.05; done"));
    WAIT_UNTIL(fake_offset(f.m) == 3);
    agent_stop(f.agent, true);
    CHECK_OK(agent_wait(f.agent, 0, &test_err));

    WAIT_UNTIL(fake_count(f.m, "/det/allocations/3.u.1/exit", "KILLED") == 1);
    CHECK_STR(f.m->output[0].data, "up\nbye\n");
    CHECK_EQ(fake_count(f.m, "/agents/a%201/bye", "instance"), 1); /* it signed off */
    done(&f);
}

TEST(another_stop_may_be_a_restart_and_says_nothing)
{
    struct fixture f = fixture();

    start_agent(&f);
    WAIT_UNTIL(fake_count(f.m, "/commands", "") >= 1);
    agent_stop(f.agent, false);
    CHECK_OK(agent_wait(f.agent, 0, &test_err));
    CHECK_EQ(fake_count(f.m, "/bye", ""), 0);
    done(&f);
}

TEST(an_agent_tries_again_when_another_has_its_name)
{
    struct fixture f = fixture();

    f.m->hello_status = 409;
    start_agent(&f);
    WAIT_UNTIL(fake_count(f.m, "/hello", "") >= 3);
    lock_take(&f.m->lock);
    f.m->hello_status = 0;
    lock_give(&f.m->lock);
    WAIT_UNTIL(fake_count(f.m, "/commands", "") >= 1);
    done(&f);
}

TEST(an_agent_is_the_same_after_a_restart_and_another_in_another_directory)
{
    CLEANUP(buf_done) struct buf first = BUF_LIMITED(256);
    CLEANUP(buf_done) struct buf second = BUF_LIMITED(256);
    CLEANUP(buf_done) struct buf third = BUF_LIMITED(256);
    struct fixture f = fixture();
    char path[160];

    snprintf(path, sizeof(path), "%s/instance", f.data);
    for (int i = 0; i < 3; i++) {
        struct buf *text = i == 0 ? &first : i == 1 ? &second : &third;

        start_agent(&f);
        CHECK_OK(io_read_file(io_system(), path, text, &test_err));
        WAIT_UNTIL(fake_count(f.m, "/hello", "\"instance\":\"") >= (size_t)i + 1);
        WAIT_UNTIL(fake_count(f.m, "/commands", "") >= (size_t)i + 1);
        agent_free(f.agent);
        fake_release_poll(f.m); /* of whom nobody hears any more */
        if (i == 1)             /* damaged */
            CHECK_OK(io_replace(io_system(), path, "x", 1, true, &test_err));
    }
    f.agent = NULL;
    CHECK_EQ(first.len, 37);
    CHECK_STR(first.data, second.data);
    CHECK(strcmp(first.data, third.data) != 0);
    done(&f);
}

TEST(a_task_of_another_start_of_the_machine_is_a_transient_failure)
{
    struct fixture f = fixture();
    struct task_dir_pid pid = {getpid(), getpid(), 1, "an older boot"};

    CHECK_OK(io_mkdir(io_system(), f.dir, true, &test_err));
    CHECK_OK(task_dir_write_pid(io_system(), f.dir, &pid, &test_err));
    start_agent(&f);
    WAIT_UNTIL(fake_count(f.m, AGENT_EXIT, "\"exit\":\"TRANSIENT\"") == 1);
    CHECK_EQ(fake_count(f.m, AGENT_EXIT, "its machine was restarted"), 1);
    WAIT_UNTIL(!file_is_there(f.dir, "")); /* and we live, whose number it is now */
    done(&f);
}

TEST(who_has_the_number_of_a_dead_task_by_now_is_left_alone)
{
    struct fixture f = fixture();
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    pid_t stranger = fork();
    struct task_dir_pid pid = {stranger, stranger, 1, task_dir_boot_id(&mem)};

    if (stranger == 0) {
        setsid();
        pause();
        _exit(0);
    }
    WAIT_UNTIL(getsid(stranger) == stranger);
    CHECK_OK(io_mkdir(io_system(), f.dir, true, &test_err));
    CHECK_OK(task_dir_write_pid(io_system(), f.dir, &pid, &test_err));
    start_agent(&f);
    WAIT_UNTIL(fake_count(f.m, AGENT_EXIT, "its supervisor vanished") == 1);
    CHECK_EQ(waitpid(stranger, NULL, WNOHANG), 0); /* it lives */
    kill(stranger, SIGKILL);
    CHECK_EQ(waitpid(stranger, NULL, 0), stranger);
    done(&f);
}

TEST(one_agent_works_in_a_directory)
{
    struct fixture f = fixture();
    const struct agent_config config = {
        .io = io_system(),
        .exec = f.m->exec,
        .net = f.m->net,
        .master_url = "http://127.0.0.1:1",
        .id = "other",
        .slots = 1,
        .data_dir = f.data,
        .program = f.program,
    };
    struct agent *other;

    start_agent(&f);

    CHECK_EQ(agent_new(&config, &other, &test_err), DET_BUSY);
    CHECK_HAS(test_err.text, "another agent works in '");
    done(&f);
}

TEST(a_supervisor_that_is_not_there_is_no_failure_of_the_task)
{
    struct fixture f = fixture();

    snprintf(f.program, sizeof(f.program), "/nowhere/det");
    start_agent(&f);
    command(&f, START(1, "true"));
    WAIT_UNTIL(fake_count(f.m, AGENT_EXIT, "cannot be executed") == 1);
    CHECK_EQ(fake_count(f.m, AGENT_EXIT, "LACKING"), 1);
    done(&f);
}

TEST(the_agent_is_not_made_without_memory)
{
    struct fixture f = fixture();
    const struct agent_config config = {
        .io = io_system(),
        .exec = f.m->exec,
        .net = f.m->net,
        .master_url = "http://127.0.0.1:1",
        .id = "a",
        .slots = 1,
        .data_dir = f.data,
        .token = "t",
        .program = f.program,
    };

    EACH_ALLOCATION_FAILS() {
        struct agent *agent = NULL;
        det_status status = agent_new(&config, &agent, NULL);

        CHECK_EQ(status != DET_OK, agent == NULL);
        CHECK(status == DET_OK || fault_fired());
        agent_free(agent);
    }
    fake_free(f.m);
}
