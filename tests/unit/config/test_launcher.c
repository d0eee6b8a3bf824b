/* SPDX-License-Identifier: Apache-2.0 */
#include "config/launcher.h"
#include "tests/unit/config/fixture.h"

static enum launcher_reach reach(struct fixture *f, const char *entrypoint)
{
    struct json *tree = NULL;

    CHECK_OK(json_parse(entrypoint, strlen(entrypoint), &f->mem, &tree, &f->err));
    return launcher_reach(tree);
}

TEST(an_entrypoint_with_a_launch_layer_says_how_many_agents_it_can_use)
{
    FIXTURE(f);
    static const struct {
        const char *entrypoint;
        enum launcher_reach reach;
    } row[] = {
        {"null", REACH_UNKNOWN},
        {"\"model_def:MNISTTrial\"", REACH_UNKNOWN},
        {"\"python3 train.py\"", REACH_UNKNOWN},
        {"\"python3 -m determined.launch.mpi -- python3 t.py\"", REACH_ONE_NODE},
        {"\"python3 -m determined.launch.tensorflow -- python3 t.py\"", REACH_NODES},
        {"\"python3 -m determined.launch.tensorflow_distributed t.py\"",
         REACH_ONE_NODE},
        {"\"python3 -m determined.launch.torch_distributed t.py\"", REACH_NODES},
        {"\"python3 -m determined.launch.torch_distributed2 t.py\"", REACH_UNKNOWN},
        {"\"python3 -m determined.launch.horovod t.py\"", REACH_UNKNOWN},
        {"\"det launch mpi -n 2 -- ./a.out\"", REACH_ONE_NODE},
        {"\"cd x && /usr/bin/det  launch torch_distributed -- ./t.py\"", REACH_NODES},
        {"\"det launch mpi -- det launch torch_distributed x\"", REACH_ONE_NODE},
        {"\"./det-launch mpi\"", REACH_UNKNOWN},
        {"\"xdet launch mpi\"", REACH_UNKNOWN},
        {"\"det launch\"", REACH_UNKNOWN},
        {"\"./launch mpi\"", REACH_UNKNOWN},
        {"[\"det\", \"launch\", \"mpi\", \"--\", \"./a.out\"]", REACH_ONE_NODE},
        {"[\"python3\", \"-m\", \"determined.launch.tensorflow\"]", REACH_NODES},
        {"[\"python3\", \"train.py\"]", REACH_UNKNOWN},
        {"[]", REACH_UNKNOWN},
    };

    for (size_t i = 0; i < ARRAY_LEN(row); i++)
        if (reach(&f, row[i].entrypoint) != row[i].reach)
            fail_msg("%s", row[i].entrypoint);
    CHECK_EQ(launcher_reach(NULL), REACH_UNKNOWN);
}

TEST(what_the_user_says_comes_before_the_launch_layer)
{
    FIXTURE(f);
    static const struct {
        const char *yaml;
        bool is_single_node;
        bool prefers_single_node;
    } row[] = {
        {"entrypoint: ./a\n", false, true},
        {"entrypoint: det launch mpi ./a\n", true, false},
        {"entrypoint: det launch tensorflow ./a\n", false, false},
        {"entrypoint: det launch mpi ./a\nresources: {is_single_node: false}\n", false,
         false},
        {"entrypoint: ./a\nresources: {is_single_node: false}\n", false, false},
        {"entrypoint: det launch tensorflow ./a\nresources: {is_single_node: true}\n",
         true, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(row); i++) {
        CHECK_LOADS(&f, arena_printf(&f.mem, "%s" SINGLE, row[i].yaml));
        if (f.config.is_single_node != row[i].is_single_node ||
            f.config.prefers_single_node != row[i].prefers_single_node)
            fail_msg("%s", row[i].yaml);
    }
}
