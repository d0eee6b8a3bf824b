/* SPDX-License-Identifier: Apache-2.0 */
#include "config/job_config.h"
#include "tests/unit/config/fixture.h"

struct loading {
    struct job_defaults defaults;
    struct job_config config;
};

static det_status load_job(struct fixture *f, struct loading *l, const char *yaml)
{
    f->report = (struct config_report)CONFIG_REPORT(&f->mem, "c.yaml");
    f->status = job_config_load(yaml, strlen(yaml), &l->defaults, &f->mem, &f->report,
                                &l->config, &f->err);
    return f->status;
}

TEST(a_job_has_defaults)
{
    FIXTURE(f);
    struct loading l = {.defaults = {.name = "Job (calm-teal-newt)"}};

    CHECK_OK(load_job(&f, &l, "entrypoint: ./run.sh\n"));
    CHECK_STR(l.config.name, "Job (calm-teal-newt)");
    CHECK_STR(json_str(l.config.entrypoint, ""), "./run.sh");
    CHECK_EQ(l.config.slots, 1);
    CHECK_EQ(l.config.priority, 0);
    CHECK(l.config.weight == 1);
    CHECK(!l.config.is_single_node);
    CHECK_STR(l.config.resource_pool, "");
    CHECK_EQ(l.config.preemption_timeout_s, 10);
}

TEST(a_launcher_that_uses_one_agent_needs_its_slots_there)
{
    FIXTURE(f);
    struct loading l = {.defaults = {.name = "none"}};

    CHECK_OK(load_job(&f, &l, "entrypoint: det launch mpi -- ./a\n"));
    CHECK(l.config.is_single_node);
    CHECK_OK(load_job(&f, &l,
                      "entrypoint: det launch mpi -- ./a\n"
                      "resources: {is_single_node: false}\n"));
    CHECK(!l.config.is_single_node);
    CHECK_OK(load_job(&f, &l, "entrypoint: det launch tensorflow -- ./a\n"));
    CHECK(!l.config.is_single_node);
}

TEST(a_job_says_what_it_wants)
{
    FIXTURE(f);
    struct loading l = {.defaults = {.name = "none"}};
    struct job_config again;

    CHECK_OK(load_job(&f, &l,
                      "name: infer\n"
                      "entrypoint: [python3, infer.py]\n"
                      "data: {trial_id: 777, batch_size: 64}\n"
                      "preemption_timeout: 60\n"
                      "environment: {environment_variables: [A=1]}\n"
                      "resources: {slots: 8, priority: 3, weight: 2.5,\n"
                      "  is_single_node: true, resource_pool: gpu}\n"));
    CHECK_STR(l.config.name, "infer");
    CHECK_EQ(l.config.slots, 8);
    CHECK_EQ(l.config.priority, 3);
    CHECK(l.config.weight == 2.5);
    CHECK(l.config.is_single_node);
    CHECK_STR(l.config.resource_pool, "gpu");
    CHECK_EQ(l.config.preemption_timeout_s, 60);
    CHECK_STR(json_str(json_first(l.config.environment_variables), ""), "A=1");

    CHECK_OK(job_config_open(l.config.json, &f.mem, &again, &f.err));
    CHECK_STR(again.name, "infer");
    CHECK_EQ(again.slots, 8);
    CHECK_EQ(json_i64(json_path(again.tree, "data.trial_id"), 0), 777);
    CHECK_EQ(job_config_open("{}", &f.mem, &again, &f.err), DET_CORRUPT);
    CHECK_EQ(job_config_open("{", &f.mem, &again, &f.err), DET_INVALID);
}

TEST(the_clusters_defaults_for_tasks_are_a_jobs_too)
{
    FIXTURE(f);
    struct loading l = {.defaults = {.name = "none"}};
    static const char defaults[] =
        "{\"environment_variables\":[\"A=0\",\"B=2\"],"
        "\"log_policies\":[{\"pattern\":\"x\",\"action\":\"cancel_retries\"}]}";
    struct json *tree;

    CHECK_OK(json_parse(defaults, strlen(defaults), &f.mem, &tree, &f.err));
    l.defaults.task_container_defaults = tree;
    CHECK_OK(load_job(&f, &l,
                      "entrypoint: a\n"
                      "environment: {environment_variables: [A=1]}\n"));
    CHECK_HAS(json_text(&f.mem, l.config.environment_variables), "\"B=2\"");
    CHECK_HAS(json_text(&f.mem, l.config.environment_variables), "\"A=1\"");
}

TEST(what_is_wrong_with_a_job_is_said_with_its_place)
{
    static const struct {
        const char *yaml;
        det_status status;
        const char *text;
    } cases[] = {
        {"name: x\n", DET_INVALID, "entrypoint"},
        {"entrypoint: ''\n", DET_INVALID, "entrypoint"},
        {"entrypoint: a\nsearcher: {}\n", DET_INVALID,
         "c.yaml:2:11: searcher: is for experiments, which"},
        {"entrypoint: a\nhyperparameters: {x: 1}\n", DET_INVALID,
         "hyperparameters: is for experiments; a job has data"},
        {"entrypoint: a\nresources: {slots_per_trial: 1}\n", DET_INVALID,
         "c.yaml:2:30: resources.slots_per_trial: is for experiments; a job says "
         "slots"},
        {"entrypoint: a\nresources: {slots: -1}\n", DET_INVALID, "resources.slots"},
        {"entrypoint: a\nresources: {priority: 100}\n", DET_INVALID, "priority"},
        {"entrypoint: a\npreemption_timeout: soon\n", DET_INVALID,
         "preemption_timeout"},
        {"entrypoint: a\nmax_restarts: 3\n", DET_INVALID, "max_restarts"},
        {"entrypoint: a\nwork_dir: /tmp\n", DET_UNSUPPORTED, "work_dir"},
        {"- a\n", DET_INVALID, ""},
        {"a: [\n", DET_INVALID, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        FIXTURE(f);
        struct loading l = {.defaults = {.name = "none"}};

        CHECK_EQ(load_job(&f, &l, cases[i].yaml), cases[i].status);
        CHECK_HAS(lines(&f), cases[i].text);
    }
}

TEST(a_job_without_memory_is_no_job)
{
    EACH_ALLOCATION_FAILS() {
        FIXTURE(f);
        struct loading l = {.defaults = {.name = "none"}};
        det_status st = load_job(&f, &l, "entrypoint: a\ndata: {x: [1, 2]}\n");

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
    }
}
