/* SPDX-License-Identifier: Apache-2.0 */
/* The master stops in the middle of its work and starts again; and data that it cannot
 * start from. */
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "tests/api/script.h"

static const char uuid_a[] = "11111111-1111-4111-8111-111111111111";

/* ---- nothing is lost ---------------------------------------------------------------
 */

TEST(a_restart_loses_nothing_and_gives_the_commands_again)
{
    static const struct step before[] = {
        PATCH("priority", "/api/v1/experiments/${share.experiment}",
              "{'resources': {'priority': 9}}", 200, NULL),
        POST("progress", "/api/v1/trials/${share.trial}/progress", "{'progress': 0.5}",
             200, NULL, TASK),
        END_STEPS};
    static const struct step after[] = {
        GET("experiment", "/api/v1/experiments/${share.experiment}", 200,
            "experiment.state=STATE_RUNNING; experiment.priority=9; "
            "experiment.progress=0.5; experiment.trialIds#1"),
        GET("trial", "/api/v1/trials/${share.trial}", 200,
            "trial.totalBatchesProcessed=10; "
            "trial.bestValidation.metrics.avgMetrics.loss=3; "
            "trial.checkpointCount=1"),
        GET("lines", "/api/v1/trials/${share.trial}/logs?sources=task", 200,
            "result.log=one line\n"),
        GET("files", "/api/v1/experiments/${share.experiment}/model_def", 200, NULL),
        GET("the task's token holds", "/api/v1/trials/${share.trial}", 200, NULL, TASK),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share running, of_grid[3];
    const char *epoch;

    agent_join(&agent, bed, "a1", 4);
    (void)create(bed, config_single);
    running = agent_run(&agent);
    bed_play(bed, before);
    share_report(&running, "training", 10, "{'loss': 4}", 200);
    share_report(&running, "validation", 10, "{'loss': 3}", 200);
    share_checkpoint(&running, uuid_a, 10);
    share_log(&running, "one line");
    (void)create(bed, config_grid); /* its STARTs are on their way */

    epoch = agent.epoch;
    bed_restart(bed);
    share_speak(&running);
    bed_play(bed, after);
    agent_hello(&agent, arena_printf(&bed->mem, "[\"%s/0\"]", running.allocation));
    CHECK(strcmp(epoch, agent.epoch));
    for (int i = 0; i < 3; i++) {
        of_grid[i] = agent_run(&agent);
        CHECK(of_grid[i].experiment != running.experiment);
    }
    share_log(&running, "another line"); /* from where the spool was */
    share_report(&running, "validation", 20, "{'loss': 2}", 200);
    share_exit(&running, "FAILED", 1);
    running = agent_run(&agent);
    CHECK_EQ(running.run, 2);
    CHECK_STR(share_env(&running, "DET_LATEST_CHECKPOINT"), uuid_a);
    share_exit(&running, "CLEAN", 0);
    await_experiment(bed, running.experiment, "COMPLETED");
    for (int i = 0; i < 3; i++)
        share_exit(&of_grid[i], "CLEAN", 0);
    await_experiment(bed, of_grid[0].experiment, "COMPLETED");
}

TEST(an_exit_reported_while_the_agent_was_unheard_is_not_lost)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id;

    agent_join(&agent, bed, "a1", 1);
    id = create(bed, config_single);
    share = agent_run(&agent);
    bed_restart(bed);
    share_exit(&share, "CLEAN", 0); /* the supervisor speaks before the agent does */
    await_experiment(bed, id, "COMPLETED");
    agent_hello(&agent, "[]");
    CHECK(agent_is_idle(&agent));
}

TEST(orders_to_stop_survive_a_restart)
{
    static const struct step orders[] = {
        POST("pause", "/api/v1/experiments/1/pause", NULL, 200, NULL),
        POST("kill", "/api/v1/experiments/2/kill", NULL, 200, NULL), END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share paused, killed;
    const char *tasks;

    agent_join(&agent, bed, "a1", 2);
    (void)create(bed, config_single);
    paused = agent_run(&agent);
    (void)create(bed, config_single);
    killed = agent_run(&agent);
    bed_play(bed, orders);
    bed_restart(bed);
    CHECK(share_is_preempted(&paused, 0));
    tasks = arena_printf(&bed->mem, "[\"%s/0\", \"%s/0\"]", paused.allocation,
                         killed.allocation);
    agent_hello(&agent, tasks);
    share_await_kill(&killed);
    share_exit(&killed, "KILLED", 137);
    await_experiment(bed, 2, "CANCELED");
    share_acknowledge(&paused);
    share_exit(&paused, "CLEAN", 0);
    await_trial(bed, paused.trial, "PAUSED");
}

TEST(a_deletion_goes_on_after_a_restart)
{
    static const struct step steps[] = {
        DELETE("delete", "/api/v1/experiments/${share.experiment}", 200, NULL),
        END_STEPS};
    static const struct step gone[] = {GET("gone",
                                           "/api/v1/experiments/${share.experiment}",
                                           404, NULL, .until = true),
                                       END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    for (int i = 0; i < 20; i++)
        share_report(&share, "training", i, "{'loss': 1}", 200);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, share.experiment, "COMPLETED");
    bed_play(bed, steps);
    bed_restart(bed);
    bed_play(bed, gone);
    /* its number is not given out again */
    CHECK(create(bed, config_single) > share.experiment);
}

TEST(ten_restarts_in_a_row_change_nothing)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id;

    agent_join(&agent, bed, "a1", 1);
    id = create(bed, config_random);
    for (int i = 0; i < 2; i++) {
        share = agent_run(&agent);
        for (int j = 0; j < 5; j++) {
            bed_restart(bed);
            agent_hello(&agent,
                        arena_printf(&bed->mem, "[\"%s/0\"]", share.allocation));
            share_report(&share, "validation", j, "{'loss': 1}", 200);
        }
        share_exit(&share, "CLEAN", 0);
    }
    await_experiment(bed, id, "COMPLETED");
    CHECK_EQ(bed_i64(bed, "awaited.experiment.numTrials"), 2);
}

/* ---- data it cannot start from
 * ------------------------------------------------------- */

static const char *database(struct bed *bed)
{
    return arena_printf(&bed->mem, "%s/det.db", bed->data_dir);
}

/* Stopped, changed by `bytes` at `offset`, started: the sentence. */
static const char *start_with(struct bed *bed, uint64_t offset, const char *bytes,
                              size_t len, det_status *ret_status)
{
    struct err *err = arena_new(&bed->mem, struct err);
    struct io_file *file;

    bed_stop(bed);
    CHECK_OK(io_open(io_system(), database(bed), IO_WRITE, &file, &test_err));
    CHECK_OK(io_write_at(file, offset, bytes, len, &test_err));
    io_close(file);
    *ret_status = bed_start(bed, err);
    return err->text;
}

TEST(a_garbled_database_is_refused_in_a_sentence_that_names_it)
{
    BED(bed, NULL);
    char noise[8192];
    const char *text;
    det_status st;

    memset(noise, 0x5a, sizeof(noise));
    text = start_with(bed, 0, noise, sizeof(noise), &st);
    CHECK(st == DET_CORRUPT || st == DET_INVALID);
    CHECK_HAS(text, "det.db");
}

TEST(a_database_that_is_only_half_there_is_refused)
{
    BED(bed, NULL);
    struct io_file *file;
    struct err err = {0};
    uint64_t size;
    det_status st;

    bed_stop(bed);
    CHECK_OK(io_open(io_system(), database(bed), IO_WRITE, &file, &test_err));
    CHECK_OK(io_size(file, &size, &test_err));
    CHECK_OK(io_truncate(file, size / 2 + 100, &test_err));
    io_close(file);
    st = bed_start(bed, &err);
    if (st != DET_CORRUPT)
        fail_msg("%s: %s", det_status_name(st), err.text);
    CHECK_HAS(err.text, "det.db");
}

TEST(a_secret_key_of_the_wrong_length_is_refused)
{
    BED(bed, NULL);
    struct err err = {0};

    bed_stop(bed);
    CHECK_OK(io_replace(io_system(),
                        arena_printf(&bed->mem, "%s/secret.key", bed->data_dir),
                        "short", 5, true, &test_err));
    CHECK_EQ(bed_start(bed, &err), DET_CORRUPT);
    CHECK_HAS(err.text, "secret.key");
}

TEST(a_new_key_makes_old_tokens_worthless)
{
    BED(bed, NULL);

    bed_stop(bed);
    CHECK_OK(io_remove(io_system(),
                       arena_printf(&bed->mem, "%s/secret.key", bed->data_dir),
                       &test_err));
    CHECK_OK(bed_start(bed, &test_err));
    CHECK_EQ(bed_call(bed, USER, NET_GET, "/api/v1/me", NULL).status, 401);
    (void)bed_login(bed, "determined", "", 200);
}

static void read_database(struct bed *bed, struct buf *out)
{
    CHECK_OK(io_read_file(io_system(), database(bed), out, &test_err));
}

static void restore_database(struct bed *bed, const struct buf *backup)
{
    bed_stop(bed);
    CHECK_OK(io_replace(io_system(), database(bed), backup->data, backup->len, true,
                        &test_err));
    CHECK_OK(bed_start(bed, &test_err));
}

TEST(a_token_from_before_a_restore_is_nobody_elses_session)
{
    CLEANUP(buf_done) struct buf backup = BUF_INIT;
    BED(bed, NULL);
    const char *lost;

    bed_stop(bed);
    read_database(bed, &backup);
    CHECK_OK(bed_start(bed, &test_err));
    lost = bed_login(bed, "determined", "", 200);
    restore_database(bed, &backup);
    bed->admin = bed_login(bed, "admin", "", 200); /* gets the same number */
    CHECK_EQ(strtol(bed->admin + 1, NULL, 10), strtol(lost + 1, NULL, 10));
    bed->other = lost;
    CHECK_EQ(bed_call(bed, OTHER, NET_GET, "/api/v1/me", NULL).status, 401);
    CHECK_EQ(bed_call(bed, ADMIN, NET_GET, "/api/v1/master/config", NULL).status, 200);
}

TEST(tokens_of_a_task_from_before_a_restore_are_worthless)
{
    CLEANUP(buf_done) struct buf backup = BUF_INIT;
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    bed_stop(bed);
    read_database(bed, &backup);
    CHECK_OK(bed_start(bed, &test_err));
    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    restore_database(bed, &backup);
    agent_hello(&agent, "[]");
    CHECK_EQ(bed_call(bed, ADMIN, NET_POST, "/api/v1/experiments",
                      bed_fill(bed, "{'config': $[single], 'activate': true}", true))
                 .status,
             200);
    (void)agent_next(&agent); /* of admin, with the numbers of the one that is gone */
    share_speak(&share);
    CHECK_EQ(bed_call(bed, OWNER, NET_GET, "/api/v1/me", NULL).status, 401);
    CHECK_EQ(bed_call(bed, TASK, NET_GET, "/api/v1/me", NULL).status, 401);
}

TEST(secrets_are_readable_for_their_owner_only)
{
    static const char *const names[] = {"secret.key", "agent.token"};
    BED(bed, NULL);

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct io_stat stat;

        CHECK_OK(io_stat(io_system(),
                         arena_printf(&bed->mem, "%s/%s", bed->data_dir, names[i]),
                         &stat, &test_err));
        CHECK_EQ(stat.mode & 077, 0);
    }
}

TEST(other_machines_are_let_in_only_when_there_are_passwords)
{
    BED(bed, NULL);
    struct err err = {0};

    bed_stop(bed);
    bed->host = "0.0.0.0";
    CHECK_EQ(bed_start(bed, &err), DET_FORBIDDEN);
    CHECK_HAS(err.text, "--initial-password");
}
