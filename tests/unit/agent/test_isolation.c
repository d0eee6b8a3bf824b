/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks an agent isolates, and what their supervisors are told. */
#include "agent/isolation.h"

#include <linux/magic.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/privileged.h"
#include "agent/task/prepare/limits.h"
#include "agent/task/spec.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "tests/support/test.h"

/* The spec of a task after the agent's additions. */
static struct task_spec completed(struct isolation *isolation, const char *more,
                                  struct arena *mem)
{
    const char *text =
        arena_printf(mem, "{\"allocation\":\"a\",\"taskId\":\"t\"%s}", more);
    struct task_spec spec = {0};
    struct json *tree;

    CHECK_OK(json_parse(text, strlen(text), mem, &tree, &test_err));
    CHECK_OK(isolation_complete(isolation, tree, mem, &test_err));
    CHECK_OK(spec_read(tree, mem, &spec, &test_err));
    return spec;
}

TEST(tasks_of_other_users_and_of_shared_masters_are_isolated)
{
    struct isolation automatic = {.is_possible = true};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);

    CHECK(!completed(&automatic, "", &mem).is_isolated);
    CHECK(completed(&automatic, ",\"isShared\":true", &mem).is_isolated);
    CHECK_EQ(completed(&automatic, ",\"user\":{\"uid\":7,\"gid\":7}", &mem).is_isolated,
             geteuid() == 0);
}

TEST(the_agent_tells_when_strangers_get_root)
{
    struct isolation automatic = {.is_possible = true};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);

    (void)completed(&automatic, "", &mem);
    (void)completed(&automatic, ",\"isShared\":true,\"user\":{\"uid\":7,\"gid\":7}",
                    &mem);
    CHECK(!automatic.has_told_root);
    (void)completed(&automatic, ",\"isShared\":true", &mem);
    CHECK_EQ(automatic.has_told_root, geteuid() == 0);
}

TEST(a_task_does_not_choose_its_own_isolation)
{
    struct isolation never = {.is_never = true};
    struct isolation always = {.is_possible = true, .is_always = true};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);

    CHECK(completed(&always, ",\"isIsolated\":false", &mem).is_isolated);
    CHECK(
        !completed(&never, ",\"isIsolated\":true,\"isShared\":true", &mem).is_isolated);
}

TEST(the_configuration_reaches_the_supervisor)
{
    static const char config[] =
        "{\"task_isolation\":\"never\",\"bind_mount_roots\":[\"/data\"],"
        "\"pass_environment\":[\"A\",\"B*\"],\"checkpoint_storage_roots\":[\"/s\"],"
        "\"task_limits\":{\"processes\":5,\"memory\":null,\"open_files\":64,"
        "\"disk\":1000}}";
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct isolation isolation;
    struct task_spec spec;
    struct json *tree;

    CHECK_OK(json_parse(config, sizeof(config) - 1, &mem, &tree, &test_err));
    CHECK_OK(isolation_find(tree, NULL, &mem, &isolation, &test_err));
    spec = completed(&isolation, "", &mem);

    CHECK_EQ(isolation.storage_roots.count, 1);
    CHECK_STR(isolation.storage_roots.at[0], "/s");
    CHECK_STR(spec.bind_mount_roots.at[0], "/data");
    CHECK_EQ(spec.pass_environment.count, 2);
    CHECK_EQ(spec.limits.processes, 5);
    CHECK_EQ(spec.limits.memory, 0);
    CHECK_EQ(spec.limits.open_files, 64);
    CHECK_EQ(spec.limits.disk, 1000);
}

TEST(disk_space_is_counted_without_following_links)
{
    char dir[] = "/tmp/det-limits-XXXXXX";
    char path[64];

    CHECK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof(path), "%s/link", dir);
    CHECK(symlink("/usr", path) == 0);

    CHECK(limits_disk_used(dir, 1 << 30) < 1 << 20);
    CHECK(limits_disk_used("/usr/bin", 1000) > 1000);
    CHECK(unlink(path) == 0 && rmdir(dir) == 0);
}

/* ---- control groups ---------------------------------------------------------------- */

/* A directory of cgroup v2 that we may divide, or NULL. */
static const char *find_groups(char path[64])
{
    static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct statfs fs;

        snprintf(path, 64, "%s/det-test-%d", places[i], (int)getpid());
        if (!statfs(places[i], &fs) && fs.f_type == CGROUP2_SUPER_MAGIC &&
            !mkdir(path, 0755))
            return path;
    }
    return NULL;
}

static bool is_in(pid_t pid, const char *group)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    return !io_read_file(io_system(), path, &text, NULL) && strstr(text.data, group);
}

TEST(a_process_joins_the_control_group_of_its_task)
{
    char path[64];
    struct privileged_group group = {.fd = -1};
    int ready[2];
    char byte;
    pid_t pid;

    UNLESS(find_groups(path), "needs cgroup v2 and the right to divide it");
    CHECK(pipe(ready) == 0);
    CHECK_OK(privileged_group_make(path, "3.u.1-0", &group, &test_err));
    pid = fork();
    if (pid == 0) {
        bool has_joined = privileged_group_join(&group);

        (void)!write(ready[1], &has_joined, 1);
        pause();
        _exit(0);
    }
    CHECK(read(ready[0], &byte, 1) == 1 && byte == 1);
    CHECK(is_in(pid, "/det-task-3.u.1-0-"));
    CHECK(!is_in(getpid(), "/det-task-3.u.1-0-"));
    CHECK_EQ(limits_killed(group.fd), 0);
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
    privileged_group_done(&group);
    CHECK(rmdir(path) == 0); /* nothing is left in it */
    CHECK_EQ(limits_killed(group.fd), 0);
    CHECK_EQ(privileged_group_make(path, "3.u.1-0", &group, &test_err), DET_NOT_FOUND);
    CHECK_HAS(test_err.text, "cannot make the control group");
    CHECK(privileged_group_join(&group)); /* none: nothing to join */
    close(ready[0]);
    close(ready[1]);
}

TEST(a_control_group_ends_with_all_its_processes)
{
    char path[64];
    struct privileged_group group = {.fd = -1};
    int ready[2];
    char byte;

    UNLESS(find_groups(path), "needs cgroup v2 and the right to divide it");
    CHECK(pipe(ready) == 0);
    CHECK_OK(privileged_group_make(path, "/t/3.u.1-0", &group, &test_err));
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            (void)privileged_group_join(&group);
            if (fork() == 0 && setsid() > 0 && write(ready[1], "x", 1) == 1)
                pause();
            _exit(0);
        }
        CHECK(waitpid(pid, NULL, 0) == pid);
        CHECK(read(ready[0], &byte, 1) == 1);
    }
    close(ready[1]);
    close(group.fd); /* the supervisor is gone */
    CHECK(privileged_group_end(path, "/t/other/3.u.1-0"));
    CHECK(access(group.path, F_OK) == 0); /* not that of another agent */
    CHECK(privileged_group_end(path, "/t/3.u.1-0"));
    CHECK(read(ready[0], &byte, 1) == 0); /* the last holder of the pipe has ended */
    CHECK(access(group.path, F_OK) != 0);
    CHECK(privileged_group_end(path, "/t/3.u.1-0")); /* none: nothing to end */
    CHECK(rmdir(path) == 0);
    close(ready[0]);
}
