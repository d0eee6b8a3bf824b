/* SPDX-License-Identifier: Apache-2.0 */
/* Real supervisors, as processes of their own, against a master that remembers. */
#include <signal.h>

#include "agent/task/control.h"
#include "base/thread/lock.h"
#include "tests/unit/agent/stage.h"

TEST(a_task_runs_from_pulling_to_its_exit)
{
    struct fake_master *m = fake_new();
    CLEANUP(buf_done) struct buf states = BUF_INIT;
    CLEANUP(buf_done) struct buf exits = BUF_INIT;
    char dir[128];

    run(m, "\"echo one; echo two >&2; echo $MARK; printf three; exit 3\"", "", dir);
    fake_bodies(m, "/state", &states);
    fake_bodies(m, "/exit", &exits);

    CHECK_STR(m->output[0].data, "one\nhere\nthree\n");
    CHECK_STR(m->output[1].data, "two\n");
    CHECK_EQ(m->offset[0], 14);
    CHECK_STR(states.data, "{\"rank\":0,\"state\":\"PULLING\"}\n"
                           "{\"rank\":0,\"state\":\"STARTING\"}\n"
                           "{\"rank\":0,\"state\":\"RUNNING\"}\n");
    CHECK_STR(exits.data, "{\"rank\":0,\"exit\":\"FAILED\",\"code\":3,"
                          "\"reason\":\"exited with code 3\"}\n");
    CHECK(ends_with(m->calls.at[m->calls.count - 1].path, "/exit"));
    CHECK_STR(m->calls.at[m->calls.count - 1].path,
              "/api/v1/det/allocations/3.u.1/exit");
    check_exit(dir, "FAILED", 3, "exited with code 3");
    fake_free(m);
}

TEST(a_task_finds_its_world_around_it)
{
    struct fake_master *m = fake_new();
    char *context = pack("model/net.py", "print(1)\n");
    char dir[128];
    char want[512];

    m->context = context;
    run(m,
        "[\"sh\", \"-c\", \"pwd; cat model/net.py; echo $DET_RUN_DIR; "
        "ls $DET_RUN_DIR/info | tr '\\\\n' ' '; cat; ls /proc/self/fd | wc -l\"]",
        ",\"context\":true,\"info\":{\"trial\":{\"trial_id\":1}}", dir);

    /* ls has its three and the directory it lists. */
    snprintf(want, sizeof(want),
             "%s/work\nprint(1)\n%s/run\n"
             "cluster.json rendezvous.json resources.json trial.json 4\n",
             dir, dir);
    CHECK_STR(m->output[0].data, want);
    fake_free(m);
    mem_free(context);
}

TEST(what_a_startup_hook_exports_reaches_the_entrypoint)
{
    struct fake_master *m = fake_new();
    char *context =
        pack("startup-hook.sh", "export FROM_HOOK=\"yes $FROM_DEFAULTS\"\n");
    char dir[128];

    m->context = context;
    run(m, "[\"sh\", \"-c\", \"echo \\\"$0\\\" $FROM_HOOK\", \"a  b\"]",
        ",\"context\":true,\"tcdStartupHook\":\"export FROM_DEFAULTS=indeed\"", dir);

    CHECK_STR(m->output[0].data, "a  b yes indeed\n");
    fake_free(m);
    mem_free(context);
}

TEST(a_failing_startup_hook_fails_the_task)
{
    struct fake_master *m = fake_new();
    char *context = pack("startup-hook.sh", "false\n");
    char dir[128];

    m->context = context;
    run(m, "\"echo never\"", ",\"context\":true", dir);

    CHECK_STR(m->output[0].data, "");
    check_exit(dir, "FAILED", 1, "exited with code 1");
    fake_free(m);
    mem_free(context);
}

TEST(a_program_that_cannot_run_is_said_in_the_log)
{
    static const struct {
        const char *entrypoint;
        int code;
    } table[] = {
        {"[\"no-such-program\", \"x\"]", 127},
        {"[\"./no-such-file\"]", 127},
        {"[\"/etc/passwd\"]", 126},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct fake_master *m = fake_new();
        char dir[128];

        run(m, table[i].entrypoint, "", dir);

        CHECK_HAS(m->output[1].data, "[det] cannot run '");
        CHECK_EQ(fake_count(m, "/state", "RUNNING"), 0);
        CHECK_EQ(fake_count(m, "/exit", "FAILED"), 1);
        check_exit(dir, "FAILED", table[i].code, "cannot run '");
        fake_free(m);
    }
}

/* A gzipped tar with one file called ../out, made by hand: our own writer refuses. */
static const char escaping[] =
    "{\"b64Tgz\":\""
    "H4sIAAAAAAACA9PT088vLWGgKTAAAjMTEzANBOg0EBgjsUHiZuZAIQUDBjqA0uKS"
    "xCKglQwjEyQlpjCMglEwCkbBKBh5AACCFxAhAAgAAA=="
    "\"}";

TEST(an_archive_that_escapes_fails_with_a_sentence)
{
    struct fake_master *m = fake_new();
    char dir[128];

    m->context = escaping;
    run(m, "\"echo never\"", ",\"context\":true", dir);

    CHECK_STR(m->output[0].data, "");
    CHECK_HAS(m->output[1].data, "[det] cannot unpack the model definition: ");
    CHECK_EQ(fake_count(m, "/exit", "FAILED"), 1);
    CHECK(!file_is_there(dir, "out"));
    fake_free(m);
}

TEST(several_nodes_meet_at_the_master)
{
    struct fake_master *m = fake_new();
    char dir[128];

    run(m, "\"cat $DET_RUN_DIR/info/rendezvous.json\"", ",\"shares\":2", dir);

    CHECK_STR(m->output[0].data, "{\"container_addrs\":[\"h0\",\"h1\"],"
                                 "\"container_rank\":1,"
                                 "\"container_slot_counts\":[1,1]}\n");
    CHECK_EQ(fake_count(m, "/allocations/3.u.1/resources/c/rendezvous", ""), 1);
    fake_free(m);
}

TEST(the_output_of_a_pipeline_is_not_cut_off)
{
    struct fake_master *m = fake_new();
    char dir[128];

    /* The reader at the end of the pipe outlives the first process for a moment. */
    run(m, "[\"bash\", \"-c\", \"exec > >(sleep 0.2; tr a-z A-Z); echo late\"]", "",
        dir);

    CHECK_STR(m->output[0].data, "LATE\n");
    fake_free(m);
}

TEST(a_master_that_is_away_is_waited_for)
{
    struct fake_master *m = fake_new();
    char dir[128];
    char go[160];
    pid_t pid;

    fake_place(m,
               "\"echo before; until [ -e ../go ]; do sleep 0.02; done; echo after\"",
               "", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_offset(m) == 7);
    fake_leave(m);
    snprintf(go, sizeof(go), "%s/go", dir);
    CHECK_OK(io_replace(io_system(), go, "", 0, false, &test_err));
    WAIT_UNTIL(file_is_there(dir, TASK_DIR_EXIT)); /* it did not notice */
    fake_serve(m);
    CHECK_EQ(fake_wait(m, pid), 0);

    CHECK_NULL(m->problem);
    CHECK_STR(m->output[0].data, "before\nafter\n");
    CHECK_EQ(fake_count(m, "/exit", "CLEAN"), 1);
    fake_free(m);
}

TEST(a_task_starts_when_its_master_comes_back)
{
    struct fake_master *m = fake_new();
    char dir[128];
    pid_t pid;

    fake_place(m, "\"echo hello\"", "", dir);
    fake_leave(m);
    pid = fake_spawn(dir);
    WAIT_UNTIL(control_send(dir, CONTROL_PING, 100, NULL) == DET_OK);
    fake_serve(m);
    CHECK_EQ(fake_wait(m, pid), 0);

    CHECK_STR(m->output[0].data, "hello\n");
    fake_free(m);
}

TEST(kill_ends_a_whole_tree_that_hides)
{
    struct fake_master *m = fake_new();
    char dir[128];
    pid_t pid;

    fake_place(m, STUBBORN("hidden-from-kill"), "", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_offset(m) > 4);
    CHECK(!nobody_has(m, "hidden-from-kill"));
    CHECK_OK(control_send(dir, CONTROL_KILL, 5000, &test_err));
    CHECK_EQ(fake_wait(m, pid), 0);

    CHECK(nobody_has(m, "hidden-from-kill"));
    CHECK_EQ(fake_count(m, "/exit", "\"exit\":\"KILLED\",\"code\":137"), 1);
    check_exit(dir, "KILLED", 137, "killed by signal SIGKILL");
    fake_free(m);
}

TEST(term_lets_a_task_end_by_itself)
{
    struct fake_master *m = fake_new();
    char dir[128];
    pid_t pid;

    fake_place(
        m, "\"trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done\"",
        "", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_offset(m) == 3);
    CHECK_OK(control_send(dir, CONTROL_TERM, 5000, &test_err));
    CHECK_EQ(fake_wait(m, pid), 0);

    CHECK_STR(m->output[0].data, "up\nbye\n");
    check_exit(dir, "KILLED", 0, "exited with code 0");
    fake_free(m);
}

TEST(what_the_first_process_leaves_behind_is_ended)
{
    struct fake_master *m = fake_new();
    char dir[128];

    run(m, "\"(setsid sleep 1000.25 &); echo done\"", "", dir);

    CHECK_STR(m->output[0].data, "done\n");
    CHECK(nobody_has(m, "1000.25"));
    check_exit(dir, "CLEAN", 0, "exited with code 0");
    fake_free(m);
}

TEST(a_kill_before_the_start_is_a_kill)
{
    struct fake_master *m = fake_new();
    char dir[128];
    pid_t pid;

    fake_place(m, "\"echo never\"", "", dir);
    fake_leave(m);
    pid = fake_spawn(dir);
    WAIT_UNTIL(control_send(dir, CONTROL_KILL, 100, NULL) == DET_OK);
    WAIT_UNTIL(file_is_there(dir, TASK_DIR_EXIT));
    fake_serve(m);
    CHECK_EQ(fake_wait(m, pid), 0);

    CHECK_STR(m->output[0].data, "");
    CHECK_EQ(fake_count(m, "/exit", "KILLED"), 1);
    fake_free(m);
}

TEST(a_run_that_is_over_for_the_master_is_killed)
{
    struct fake_master *m = fake_new();
    char dir[128];

    m->refusal = "{\"error\":{\"code\":9,\"error\":\"this run is over\"}}";
    run(m, "\"echo never; sleep 1000\"", "", dir);

    check_exit(dir, "KILLED", 137, "killed before it started");
    fake_free(m);
}

TEST(a_quiet_task_is_ended_when_the_master_says_so)
{
    struct fake_master *m = fake_new();
    char dir[128];

    m->alive = "{\"mustEnd\":true,\"againMs\":1000}";
    run(m, "\"sleep 1000.75\"", "", dir);

    check_exit(dir, "KILLED", 137, "killed by signal SIGKILL");
    CHECK(nobody_has(m, "1000.75"));
    CHECK_EQ(fake_count(m, "/alive", "\"rank\":0"), 1);
    fake_free(m);
}

TEST(a_quiet_task_whose_run_is_over_is_ended)
{
    struct fake_master *m = fake_new();
    char dir[128];

    m->alive = "{\"error\":{\"code\":9,\"error\":\"this run is over\"}}";
    m->alive_status = 400;
    run(m, "\"sleep 1000.75\"", "", dir);

    check_exit(dir, "KILLED", 137, "killed by signal SIGKILL");
    fake_free(m);
}

TEST(a_supervisor_says_as_often_as_it_is_told_that_it_is_there)
{
    struct fake_master *m = fake_new();
    char dir[128];
    pid_t pid;

    m->alive = "{\"mustEnd\":false,\"againMs\":200}";
    fake_place(m, "\"sleep 1000.75\"", "", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_count(m, "/alive", "") >= 3);
    fake_leave(m); /* which it survives */
    fake_serve(m);
    WAIT_UNTIL(fake_count(m, "/alive", "") >= 5);
    CHECK_OK(control_send(dir, CONTROL_KILL, 5000, &test_err));
    CHECK_EQ(fake_wait(m, pid), 0);
    CHECK_EQ(fake_count(m, "/exit", "KILLED"), 1);
    fake_free(m);
}

/* What the task can read, also one of another user. */
static void check_told(const char *dir, uint16_t old, uint16_t now)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct io_stat found;
    char path[160];
    char given[80];
    char is_now[80];

    snprintf(path, sizeof(path), "%s/master.json", dir);
    snprintf(given, sizeof(given), "\"given\":\"http://127.0.0.1:%u\"", old);
    snprintf(is_now, sizeof(is_now), "\"now\":\"http://127.0.0.1:%u\"", now);
    CHECK_OK(io_read_file(io_system(), path, &text, &test_err));
    CHECK_HAS(text.data, given);
    CHECK_HAS(text.data, is_now);
    CHECK_OK(io_stat(io_system(), path, &found, &test_err));
    CHECK_EQ(found.mode & 0777, 0644);
}

TEST(a_supervisor_follows_its_master)
{
    struct fake_master *m = fake_new();
    uint16_t old = m->port;
    char dir[128];
    char go[160];
    char url[64];
    pid_t pid;

    fake_place(m,
               "\"echo before; until [ -e ../go ]; do sleep 0.02; done; echo after\"",
               "", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_offset(m) == 7);
    fake_leave(m);
    do { /* the same one may be free again */
        m->port = 0;
        fake_serve(m);
        if (m->port == old)
            fake_leave(m);
    } while (m->port == old);
    snprintf(go, sizeof(go), "%s/go", dir);
    CHECK_OK(io_replace(io_system(), go, "", 0, false, &test_err));
    CHECK_OK(control_tell(dir, CONTROL_MASTER, "no address", 5000, &test_err));
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", m->port);
    CHECK_OK(control_tell(dir, CONTROL_MASTER, url, 5000, &test_err));
    CHECK_EQ(fake_wait(m, pid), 0);

    CHECK_NULL(m->problem);
    CHECK_STR(m->output[0].data, "before\nafter\n");
    check_told(dir, old, m->port);
    CHECK_EQ(fake_count(m, "/exit", "CLEAN"), 1);
    fake_free(m);
}

TEST(a_supervisor_that_was_told_to_end_does_not_wait_for_a_master_for_ever)
{
    struct fake_master *m = fake_new();
    char dir[128];
    pid_t pid;

    fake_place(m, "\"echo up; exec sleep 1000.75\"", "", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_offset(m) == 3);
    fake_leave(m);
    CHECK_OK(control_send(dir, CONTROL_TERM, 5000, &test_err));
    CHECK_EQ(fake_wait(m, pid), 0);
    check_exit(dir, "KILLED", 143, "killed by signal SIGTERM"); /* for the next agent */
    fake_serve(m);
    fake_free(m);
}

/* Both orders are there before it looks at the first. */
TEST(a_supervisor_that_was_told_to_kill_and_then_to_end_does_not_wait_either)
{
    struct fake_master *m = fake_new();
    char dir[128];
    pid_t pid;

    fake_place(m, "\"echo up; exec sleep 1000.875\"", "", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_offset(m) == 3);
    fake_leave(m);
    CHECK_EQ(kill(pid, SIGSTOP), 0);
    CHECK(control_send(dir, CONTROL_KILL, 10, NULL) != DET_OK);
    CHECK(control_send(dir, CONTROL_TERM, 10, NULL) != DET_OK);
    CHECK_EQ(kill(pid, SIGCONT), 0);
    CHECK_EQ(fake_wait(m, pid), 0);
    check_exit(dir, "KILLED", 137, "killed by signal SIGKILL");
    fake_serve(m);
    fake_free(m);
}

TEST(output_of_a_run_that_is_over_ends_it)
{
    struct fake_master *m = fake_new();
    char dir[128];

    m->logs_refusal = "{\"error\":{\"code\":9,\"error\":\"this run is over\"}}";
    run(m, "\"echo up; sleep 1000\"", "", dir);

    check_exit(dir, "KILLED", 137, "killed by signal SIGKILL");
    fake_free(m);
}

TEST(output_that_nobody_wants_does_not_end_a_task)
{
    struct fake_master *m = fake_new();
    char dir[128];

    m->logs_refusal = "{\"error\":{\"code\":5,\"error\":\"what task is that\"}}";
    run(m, "\"echo up; exit 4\"", "", dir);

    CHECK_EQ(fake_count(m, "/exit", "exited with code 4"), 1);
    fake_free(m);
}

/* ---- reports --------------------------------------------------------------------- */

TEST(reports_reach_the_master_before_the_exit_does)
{
    struct fake_master *m = fake_new();
    char entrypoint[512];
    char dir[128];

    run(m, reporting(entrypoint, 2000, "exit 3"), "", dir);

    CHECK_EQ(m->reports, 2000);
    CHECK_EQ(m->records, 2000);
    CHECK(fake_place_of(m, "/reports") < fake_place_of(m, "/exit"));
    CHECK_EQ(fake_count(m, "/exit", "exited with code 3"), 1);
    fake_free(m);
}

#define NO_MODULE "echo 'ModuleNotFoundError: No module named tnsr' >&2; exit 1"

TEST(a_program_that_would_fail_again_is_known_by_its_last_words)
{
    struct fake_master *m = fake_new();
    char dir[128];

    run(m, "\"" NO_MODULE "\"", "", dir);

    CHECK_EQ(fake_count(m, "/exit", "\"isFinal\":true"), 1);
    CHECK_EQ(fake_count(m, "/exit", "ModuleNotFoundError: No module named tnsr"), 1);
    fake_free(m);
}

TEST(a_program_that_reported_may_work_the_next_time)
{
    struct fake_master *m = fake_new();
    char entrypoint[512];
    char dir[128];

    run(m, reporting(entrypoint, 1, NO_MODULE), "", dir);

    CHECK_EQ(fake_count(m, "/exit", "exited with code 1"), 1);
    CHECK_EQ(fake_count(m, "/exit", "isFinal"), 0);
    fake_free(m);
}

TEST(a_program_that_reported_cannot_claim_that_its_machine_lacks_something)
{
    struct fake_master *m = fake_new();
    char entrypoint[512];
    char dir[128];

    run(m,
        reporting(
            entrypoint, 1,
            "echo '{\\\"sentence\\\":\\\"no\\\",\\\"code\\\":1,\\\"isLacking\\\":true}'"
            " >$DET_RUN_DIR/failure.json; exit 1"),
        "", dir);
    check_exit(dir, "FAILED", 1, "no");
    CHECK_EQ(fake_count(m, "/exit", "LACKING"), 0);
    fake_free(m);
}

TEST(reports_wait_for_a_master_in_trouble_and_so_does_the_exit)
{
    struct fake_master *m = fake_new();
    char entrypoint[512];
    char dir[128];
    pid_t pid;

    m->is_busy = true;
    fake_place(m, reporting(entrypoint, 5, "echo done"), "", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(file_is_there(dir, TASK_DIR_EXIT) && fake_count(m, "/reports", "") >= 2);
    CHECK_EQ(fake_count(m, "/exit", ""), 0);
    lock_take(&m->lock);
    m->is_busy = false;
    lock_give(&m->lock);
    CHECK_EQ(fake_wait(m, pid), 0);
    CHECK_EQ(m->reports, 5);
    CHECK_EQ(m->records, 5);
    CHECK_EQ(fake_count(m, "/exit", "CLEAN"), 1);
    CHECK_NULL(m->problem);
    fake_free(m);
}

TEST(a_refused_report_is_named_in_the_tasks_log)
{
    struct fake_master *m = fake_new();
    char entrypoint[512];
    char dir[128];

    m->report_error = "loss was 1 before";
    run(m, reporting(entrypoint, 1, "echo done"), "", dir);

    CHECK_STR(m->output[0].data, "done\n");
    CHECK_STR(m->output[1].data, "[det] a report was refused: loss was 1 before\n");
    fake_free(m);
}

TEST(reports_of_a_run_that_is_over_end_it)
{
    struct fake_master *m = fake_new();
    char entrypoint[512];
    char dir[128];

    m->reports_refusal = "{\"error\":{\"code\":9,\"error\":\"this run is over\"}}";
    run(m, reporting(entrypoint, 1, "sleep 1000"), "", dir);

    check_exit(dir, "KILLED", 137, "killed by signal SIGKILL");
    fake_free(m);
}

TEST(a_task_whose_directory_is_removed_is_ended_and_delivers_what_is_open)
{
    struct fake_master *m = fake_new();
    char entrypoint[512];
    char dir[128];
    pid_t pid;

    m->is_busy = true; /* so the reports are open, and not delivered yet */
    fake_place(m, reporting(entrypoint, 5, "echo up; sleep 1000"), "", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_offset(m) == 3 && fake_count(m, "/reports", "") >= 1);
    /* It may fail where the supervisor makes a file at the same time. */
    WAIT_UNTIL(io_remove_tree(io_system(), dir, NULL) == DET_OK);
    lock_take(&m->lock);
    m->is_busy = false;
    lock_give(&m->lock);
    CHECK_EQ(fake_wait(m, pid), 0);

    CHECK_EQ(m->reports, 5);
    CHECK_EQ(m->records, 5);
    CHECK_EQ(fake_count(m, "/exit", "TRANSIENT"), 1);
    CHECK_EQ(fake_count(m, "/exit", "its directory was removed"), 1);
    CHECK(!file_is_there(dir, "."));
    CHECK_NULL(m->problem);
    fake_free(m);
}

TEST(a_program_that_fails_since_its_directory_was_removed_is_not_to_blame)
{
    struct fake_master *m = fake_new();
    char dir[128];

    run(m, "\"rm -rf \\\"$(dirname \\\"$DET_RUN_DIR\\\")\\\"; exit 3\"", "", dir);
    CHECK_EQ(fake_count(m, "/exit", "its directory was removed"), 1);
    CHECK_EQ(fake_count(m, "/exit", "TRANSIENT"), 1);
    fake_free(m);
}

TEST(a_run_that_was_given_up_is_ended_and_delivers_all_the_same)
{
    struct fake_master *m = fake_new();
    char entrypoint[512];
    char dir[128];

    m->has_given_up = true;
    run(m, reporting(entrypoint, 2000, "sleep 1000"), "", dir);

    check_exit(dir, "KILLED", 137, "killed by signal SIGKILL");
    CHECK_EQ(m->reports, m->records);
    CHECK(fake_place_of(m, "/reports") < fake_place_of(m, "/exit"));
    CHECK_NULL(m->problem);
    fake_free(m);
}

TEST(another_refusal_of_a_state_does_not_matter)
{
    struct fake_master *m = fake_new();
    char dir[128];

    m->refusal = "{\"error\":{\"code\":3,\"error\":\"what state is that\"}}";
    run(m, "\"echo fine\"", "", dir);

    CHECK_STR(m->output[0].data, "fine\n");
    fake_free(m);
}

TEST(bytes_that_are_no_text_arrive_as_replacements)
{
    struct fake_master *m = fake_new();
    char dir[128];

    run(m, "\"printf 'a\\\\377b\\\\000c\\\\n10%%\\\\r20%%\\\\n'\"", "", dir);

    CHECK_STR(m->output[0].data, "a\uFFFDb\uFFFDc\n20%\n");
    CHECK_EQ(m->offset[0], 14);
    fake_free(m);
}

TEST(a_master_that_does_not_answer_never_holds_the_task_up)
{
    const uint64_t bytes = 200 * 1000 * 1000;
    struct fake_master *m = fake_new();
    char dir[128];
    pid_t pid;

    m->holds_logs = true;
    m->is_bulk = true;
    fake_place(
        m,
        "\"yes 'a line of output, neither long nor short, of which there are many' "
        "| head -c 200000000\"",
        "", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(file_is_there(dir, TASK_DIR_EXIT));
    CHECK(fake_offset(m) < bytes / 2);
    fake_release_logs(m);
    CHECK_EQ(fake_wait(m, pid), 0);

    CHECK_NULL(m->problem);
    CHECK_EQ(m->offset[0], bytes);
    check_exit(dir, "CLEAN", 0, "exited with code 0");
    fake_free(m);
}

TEST(a_directory_serves_one_task_once)
{
    struct fake_master *m = fake_new();
    char dir[128];

    run(m, "\"true\"", "", dir);

    CHECK_EQ(fake_wait(m, fake_spawn(dir)), det_status_exit(DET_STATE));
    CHECK_EQ(fake_wait(m, fake_spawn("/nowhere")), det_status_exit(DET_NOT_FOUND));
    fake_free(m);
}

TEST(nobody_answers_where_no_supervisor_is)
{
    struct fake_master *m = fake_new();
    char dir[128];

    fake_place(m, "\"true\"", "", dir);

    CHECK_EQ(control_send(dir, CONTROL_PING, 100, &test_err), DET_UNREACHABLE);
    CHECK_HAS(test_err.text, "no supervisor listens");
    fake_free(m);
}
