/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "agent/task/prepare/task_layout.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "tests/support/test.h"

static const char spec_text[] =
    "{\"allocation\":\"3.u.1\",\"rank\":0,\"taskId\":\"3.u\",\"containerId\":\"c\","
    "\"slots\":[0,2],\"deviceType\":\"cpu\",\"entrypoint\":null,\"context\":true,"
    "\"environment\":{\"DET_MASTER\":\"http://m:8080\",\"DET_CLUSTER_ID\":\"cl\","
    "\"DET_AGENT_ID\":\"a1\",\"DET_SESSION_TOKEN\":\"t\",\"DET_TASK_TYPE\":\"TRIAL\","
    "\"DET_TRIAL_ID\":\"7\",\"DET_HPARAMS\":\"{\\\"lr\\\":0.1}\",\"N\":5,\"PATH\":\"/"
    "p\"},"
    "\"info\":{\"trial\":{\"experimentId\":3,\"trialSeed\":9}},"
    "\"tcdStartupHook\":\"export X=1\"}";

static struct task_spec read_spec(struct arena *mem, const char *text)
{
    struct task_spec spec;
    struct json *tree;

    CHECK_OK(json_parse(text, strlen(text), mem, &tree, &test_err));
    CHECK_OK(spec_read(tree, mem, &spec, &test_err));
    return spec;
}

static const char *find(const char *const *environment, const char *name)
{
    size_t len = strlen(name);
    const char *found = NULL;
    int count = 0;

    for (; *environment; environment++)
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=') {
            found = *environment + len + 1;
            count++;
        }
    CHECK(count <= 1);
    return found;
}

TEST(the_environment_is_inherited_then_given_then_ours)
{
    static const char *const inherited[] = {
        "HOME=/h",      "PATH=/bin", "DET_MASTER=http://other",
        "DET_SECRET=s", "PWD=/x",    NULL};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct task_spec spec = read_spec(&mem, spec_text);
    const char **environment;

    CHECK_OK(task_layout_environment(&spec, "/t", "/opt/bin/det", inherited, &mem,
                                     &environment, &test_err));

    CHECK_STR(find(environment, "HOME"), "/h");
    CHECK_STR(find(environment, "DET_MASTER"), "http://m:8080");
    CHECK_NULL(find(environment, "DET_SECRET"));
    CHECK_STR(find(environment, "N"), "5");
    CHECK_STR(find(environment, "PATH"), "/opt/bin:/p");
    CHECK_STR(find(environment, "DET_WORKDIR"), "/t/work");
    CHECK_STR(find(environment, "DET_RUN_DIR"), "/t/run");
    CHECK_STR(find(environment, "PWD"), "/t/work");
    CHECK_NULL(find(environment, "LD_LIBRARY_PATH"));
    CHECK_NULL(find(environment, "PYTHONUSERBASE"));
}

TEST(python_prints_at_once_and_tells_crashes_unless_somebody_says_otherwise)
{
    static const char *const inherited[] = {
        "PYTHONUNBUFFERED=", "PYTHONFAULTHANDLER=", NULL};
    static const char *const bare[] = {NULL};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct task_spec spec = read_spec(&mem, spec_text);
    const char **environment;

    CHECK_OK(task_layout_environment(&spec, "/t", "/opt/det", bare, &mem, &environment,
                                     &test_err));
    CHECK_STR(find(environment, "PYTHONUNBUFFERED"), "1");
    CHECK_STR(find(environment, "PYTHONFAULTHANDLER"), "1");

    CHECK_OK(task_layout_environment(&spec, "/t", "/opt/det", inherited, &mem,
                                     &environment, &test_err));
    CHECK_STR(find(environment, "PYTHONUNBUFFERED"), "");
    CHECK_STR(find(environment, "PYTHONFAULTHANDLER"), "");
}

TEST(the_environment_of_the_agents_shell_is_not_the_tasks)
{
    static const char *const inherited[] = {
        "PATH=/home/a/venv/bin:/opt/conda/bin/:/usr/bin:/home/a/venv/bin2",
        "VIRTUAL_ENV=/home/a/venv",
        "VIRTUAL_ENV_PROMPT=venv",
        "CONDA_PREFIX=/opt/conda",
        "CONDA_DEFAULT_ENV=base",
        "CONDA_EXE=/opt/conda/bin/conda",
        NULL};
    static const char *const only[] = {"PATH=/v/bin", "VIRTUAL_ENV=/v", NULL};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct task_spec spec =
        read_spec(&mem, "{\"allocation\":\"3.u.1\",\"rank\":0,\"taskId\":\"3.u\","
                        "\"containerId\":\"c\",\"slots\":[],\"entrypoint\":null,"
                        "\"environment\":{\"CONDA_SHLVL\":\"mine\","
                        "\"DET_MASTER\":\"http://m:8080\"}}");
    const char **environment;

    CHECK_OK(task_layout_environment(&spec, "/t", "/opt/det", inherited, &mem,
                                     &environment, &test_err));
    CHECK_STR(find(environment, "PATH"), "/opt:/usr/bin:/home/a/venv/bin2");
    CHECK_NULL(find(environment, "VIRTUAL_ENV"));
    CHECK_NULL(find(environment, "VIRTUAL_ENV_PROMPT"));
    CHECK_NULL(find(environment, "CONDA_PREFIX"));
    CHECK_NULL(find(environment, "CONDA_DEFAULT_ENV"));
    CHECK_STR(find(environment, "CONDA_EXE"), "/opt/conda/bin/conda");
    CHECK_STR(find(environment, "CONDA_SHLVL"), "mine");

    CHECK_OK(task_layout_environment(&spec, "/t", "/opt/det", only, &mem, &environment,
                                     &test_err));
    CHECK_STR(find(environment, "PATH"), "/opt:/usr/local/bin:/usr/bin:/bin");
}

TEST(pythons_package_is_found_behind_what_the_user_names)
{
    static const char *const inherited[] = {"PYTHONPATH=/mine", NULL};
    static const char *const bare[] = {NULL};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct task_spec spec = read_spec(&mem, spec_text);
    char directory[] = "/tmp/det-world-XXXXXX";
    const char **environment;
    const char *package, *program;

    CHECK(mkdtemp(directory));
    package = arena_printf(&mem, "%s/lib/det/python/determined", directory);
    program = arena_printf(&mem, "%s/bin/det", directory);
    CHECK_OK(task_layout_environment(&spec, "/t", program, inherited, &mem,
                                     &environment, &test_err));
    CHECK_STR(find(environment, "PYTHONPATH"), "/mine");

    CHECK_OK(io_mkdir(io_system(), package, false, &test_err));
    CHECK_OK(io_mkdir(io_system(), arena_printf(&mem, "%s/bin", directory), false,
                      &test_err));
    CHECK_OK(io_replace(io_system(), arena_printf(&mem, "%s/_det.abi3.so", package), "",
                        0, false, &test_err));
    CHECK_OK(task_layout_environment(&spec, "/t", program, inherited, &mem,
                                     &environment, &test_err));
    CHECK_STR(find(environment, "PYTHONPATH"),
              arena_printf(&mem, "/mine:%s/bin/../lib/det/python", directory));
    CHECK_OK(task_layout_environment(&spec, "/t", program, bare, &mem, &environment,
                                     &test_err));
    CHECK_STR(find(environment, "PYTHONPATH"),
              arena_printf(&mem, "%s/bin/../lib/det/python", directory));
    CHECK_OK(io_remove_tree(io_system(), directory, &test_err));
}

static void check_file(struct io *io, const char *path, const char *text)
{
    CLEANUP(buf_done) struct buf got = BUF_INIT;

    CHECK_OK(io_read_file(io, path, &got, &test_err));
    CHECK_STR(got.data, text);
}

TEST(the_info_files_have_exactly_the_known_keys)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct task_spec spec = read_spec(&mem, spec_text);
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    CHECK_OK(task_layout_make(io, &spec, "/t", &test_err));
    CHECK_OK(task_layout_write_info(io, &spec, "/t", &test_err));
    CHECK_OK(task_layout_write_rendezvous(io, &spec, NULL, "/t", &test_err));

    check_file(io, "/t/run/info/cluster.json",
               "{\"master_url\":\"http://m:8080\",\"cluster_id\":\"cl\","
               "\"agent_id\":\"a1\",\"slot_ids\":[0,2],\"task_id\":\"3.u\","
               "\"allocation_id\":\"3.u.1\",\"session_token\":\"t\","
               "\"task_type\":\"TRIAL\",\"master_cert_name\":null,"
               "\"master_cert_file\":null,\"latest_checkpoint\":null}");
    check_file(io, "/t/run/info/trial.json",
               "{\"trial_id\":7,\"experiment_id\":3,\"trial_seed\":9,"
               "\"hparams\":{\"lr\":0.1},\"config\":{},\"steps_completed\":0,"
               "\"trial_run_id\":0,\"debug\":false,"
               "\"inter_node_network_interface\":null}");
    check_file(io, "/t/run/info/resources.json", "{\"gpu_uuids\":[]}");
    check_file(io, "/t/run/info/rendezvous.json",
               "{\"container_addrs\":[\"127.0.0.1\"],\"container_rank\":0,"
               "\"container_slot_counts\":[2]}");
    check_file(io, "/t/" TASK_DIR_HOOK, "export X=1");
    io_free(io);
}

TEST(the_masters_rendezvous_is_written_as_it_is)
{
    static const char info[] =
        "{\"addresses\":[\"a\",\"b\"],\"rank\":1,\"slots\":[1,2]}";
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct task_spec spec = read_spec(&mem, spec_text);
    struct json *tree;
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    CHECK_OK(task_layout_make(io, &spec, "/t", &test_err));
    CHECK_OK(json_parse(info, strlen(info), &mem, &tree, &test_err));
    CHECK_OK(task_layout_write_rendezvous(io, &spec, tree, "/t", &test_err));
    check_file(io, "/t/run/info/rendezvous.json",
               "{\"container_addrs\":[\"a\",\"b\"],\"container_rank\":1,"
               "\"container_slot_counts\":[1,2]}");
    json_remove(tree, "slots");
    CHECK_EQ(task_layout_write_rendezvous(io, &spec, tree, "/t", &test_err),
             DET_INVALID);
    io_free(io);
}

TEST(a_spec_must_name_its_allocation)
{
    static const char *const bad[] = {
        "{\"taskId\":\"t\"}",
        "{\"allocation\":\"../x\",\"taskId\":\"t\"}",
        "{\"allocation\":\"a/b\",\"taskId\":\"t\"}",
        "{\"allocation\":\"\",\"taskId\":\"t\"}",
        "{\"allocation\":\"a\"}",
        "{\"allocation\":\"a\",\"taskId\":\"t\",\"rank\":-1}",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        struct task_spec spec;
        struct json *tree;

        CHECK_OK(json_parse(bad[i], strlen(bad[i]), &mem, &tree, &test_err));
        CHECK_EQ(spec_read(tree, &mem, &spec, &test_err), DET_INVALID);
    }
}

TEST(out_of_memory_is_an_ordinary_error)
{
    static const char *const inherited[] = {"HOME=/h", NULL};
    CLEANUP(arena_done) struct arena spec_mem = ARENA_INIT(1 << 20);
    struct task_spec spec = read_spec(&spec_mem, spec_text);

    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        const char **environment;
        det_status status = task_layout_environment(&spec, "/t", "/opt/det", inherited,
                                                    &mem, &environment, NULL);

        CHECK(status == DET_OK || fault_fired());
    }
}
