/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of other users, and what they see at /run/determined.  Most of it takes root.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "agent/privileged.h"
#include "agent/task/control.h"
#include "agent/task/prepare/identity.h"
#include "agent/task/spec.h"
#include "tests/unit/agent/stage.h"

enum { STRANGER = 54321, STRANGERS = 54322 };

#define AS_STRANGER                                                                    \
    ",\"user\":{\"uid\":54321,\"gid\":54322,\"name\":\"visitor\",\"group\":null}"
/* A master whose directory lets others through, as a data directory does then. */
static struct fake_master *open_stage(void)
{
    struct fake_master *m = fake_new();

    CHECK(chmod(m->dir, 0711) == 0);
    return m;
}

/* Somebody in the database who is not root. */
static const struct passwd *somebody(void)
{
    const struct passwd *entry = getpwnam("daemon");

    return entry && entry->pw_uid ? entry : NULL;
}

/* ---- who ---------------------------------------------------------------------------
 */

TEST(a_task_runs_as_the_user_that_it_was_given)
{
    UNLESS(geteuid() == 0 && somebody(), "needs root and a user 'daemon'");
    const struct passwd *user = somebody();
    struct fake_master *m = open_stage();
    char dir[128];
    char more[64];
    char want[512];

    setenv("XDG_RUNTIME_DIR", "/run/user/0", 1);
    snprintf(more, sizeof(more), ",\"user\":{\"uid\":%u,\"gid\":54322}", user->pw_uid);
    run(m,
        "\"id -u; id -ru; id -g; id -G | tr ' ' '\\\\n' | grep -x 54322; id -G | "
        "grep -w 0; echo $HOME $USER $LOGNAME; echo x$XDG_RUNTIME_DIR; pwd\"",
        more, dir);
    unsetenv("XDG_RUNTIME_DIR");

    snprintf(want, sizeof(want), "%u\n%u\n54322\n54322\n%s %s %s\nx\n%s/work\n",
             user->pw_uid, user->pw_uid, user->pw_dir, user->pw_name, user->pw_name,
             dir);
    CHECK_STR(m->output[0].data, want);
    check_exit(dir, "CLEAN", 0, "exited with code 0");
    fake_free(m);
}

TEST(a_number_without_a_group_has_the_group_that_the_machine_knows)
{
    UNLESS(geteuid() == 0 && somebody(), "needs root and a user 'daemon'");
    const struct passwd *user = somebody();
    struct fake_master *m = open_stage();
    char dir[128];
    char more[64];
    char want[32];

    snprintf(more, sizeof(more), ",\"user\":{\"uid\":%u,\"gid\":0}", user->pw_uid);
    run(m, "\"id -g\"", more, dir);

    snprintf(want, sizeof(want), "%u\n", user->pw_gid);
    CHECK_STR(m->output[0].data, want);
    fake_free(m);
}

TEST(whom_the_machine_does_not_know_lives_in_its_working_directory)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char dir[128];
    char want[256];

    run(m, "\"id -u; id -G; echo $HOME $USER; echo here >$HOME/file; cat file\"",
        AS_STRANGER, dir);

    snprintf(want, sizeof(want), "54321\n54322\n%s/work visitor\nhere\n", dir);
    CHECK_STR(m->output[0].data, want);
    fake_free(m);
}

TEST(a_stranger_without_a_group_is_refused)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char dir[128];

    run(m, "\"echo never\"", ",\"user\":{\"uid\":54321}", dir);

    CHECK_STR(m->output[0].data, "");
    CHECK_HAS(m->output[1].data, "[det] user 54321 is not known on this machine");
    check_exit(dir, "FAILED", 1, "security.default_task.gid");
    fake_free(m);
}

TEST(a_task_of_another_user_inherits_nothing_of_roots_but_harmless_variables)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char dir[128];

    setenv("AWS_SECRET_ACCESS_KEY", "of-root", 1);
    setenv("LC_TIME", "C", 1);
    setenv("OFFERED_ONE", "1", 1);
    setenv("OFFER", "2", 1);
    run(m, "\"echo x$AWS_SECRET_ACCESS_KEY $LC_TIME $OFFERED_ONE x$OFFER $SHELL\"",
        AS_STRANGER ",\"passEnvironment\":[\"OFFERED_*\"]", dir);
    unsetenv("AWS_SECRET_ACCESS_KEY");
    unsetenv("LC_TIME");
    unsetenv("OFFERED_ONE");
    unsetenv("OFFER");

    CHECK_STR(m->output[0].data, "x C 1 x /bin/sh\n");
    fake_free(m);
}

TEST(the_users_own_variables_win)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char dir[128];
    char more[256];

    snprintf(more, sizeof(more),
             AS_STRANGER ",\"environment\":{\"DET_MASTER\":\"http://127.0.0.1:%u\","
                         "\"DET_SESSION_TOKEN\":\"s\",\"HOME\":\"/else\"}",
             m->port);
    run(m, "\"echo $HOME\"", more, dir);

    CHECK_STR(m->output[0].data, "/else\n");
    fake_free(m);
}

/* ---- files -------------------------------------------------------------------------
 */

static void check_mode(const char *path, uid_t uid, mode_t mode)
{
    struct stat st;

    CHECK(lstat(path, &st) == 0);
    CHECK_EQ(st.st_uid, uid);
    CHECK_EQ(st.st_mode & 07777, mode);
}

TEST(the_files_of_a_task_are_its_own)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char *context = pack("model/net.py", "print(1)\n");
    char dir[128];
    char path[160];

    m->context = context;
    run(m,
        "\"stat -c '%u %g' . model model/net.py $DET_RUN_DIR $DET_RUN_DIR/info "
        "$DET_RUN_DIR/info/cluster.json $DET_RUN_DIR/dynamic-tcd-startup-hook.sh | "
        "uniq -c | tr -s ' '; echo more >>model/net.py; cat model/net.py; "
        "grep -c session_token $DET_RUN_DIR/info/cluster.json; "
        "echo new >$DET_RUN_DIR/info/rendezvous.json && echo changed\"",
        AS_STRANGER ",\"context\":true,\"tcdStartupHook\":\"export X=1\"", dir);

    CHECK_STR(m->output[0].data, " 7 54321 54322\nprint(1)\nmore\n1\nchanged\n");
    snprintf(path, sizeof(path), "%s/" TASK_DIR_WORK, dir);
    check_mode(path, STRANGER, 0700);
    check_mode(dir, 0, 0711);
    fake_free(m);
    mem_free(context);
}

/* Its supervisor is root and goes by this name. */
TEST(a_task_of_another_user_cannot_put_a_link_in_the_place_of_its_ring)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char dir[128];
    char path[160];

    run(m,
        "\"stat -c '%u %a %n' $DET_REPORT_RING | sed 's,/.*/,,'; "
        "touch $DET_REPORT_RING/mine && echo wrote; "
        "mv $DET_REPORT_RING $DET_RUN_DIR/elsewhere 2>/dev/null && echo MOVED; "
        "ln -s /etc $DET_REPORT_RING 2>/dev/null\"",
        AS_STRANGER, dir);

    CHECK_STR(m->output[0].data, "54321 700 reports\nwrote\n");
    snprintf(path, sizeof(path), "%s/" TASK_DIR_REPORTS, dir);
    check_mode(path, STRANGER, 0700);
    fake_free(m);
}

TEST(a_task_of_another_user_cannot_read_what_lies_beside)
{
    UNLESS(geteuid() == 0, "needs root");
    static const char *const private[] = {TASK_DIR_SPEC, TASK_DIR_LOCK, TASK_DIR_PID,
                                          TASK_DIR_CONTROL, TASK_DIR_LOG};
    struct fake_master *m = open_stage();
    char dir[128];
    char path[160];
    pid_t pid;

    fake_place(m,
               "\"for f in ../../secret.key ../spec.json ../pid ../supervisor.log "
               "../stderr.spool.*; do cat $f 2>/dev/null && echo READ; done; ls .. "
               "../.. 2>/dev/null && echo LISTED; echo x 2>/dev/null >../file && echo "
               "WROTE; echo up; while :; do sleep 0.05; done\"",
               AS_STRANGER, dir);
    snprintf(path, sizeof(path), "%s/secret.key", m->dir);
    CHECK_OK(io_replace(io_system(), path, "key", 3, true, &test_err));
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_offset(m) == 3);
    for (size_t i = 0; i < ARRAY_LEN(private); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, private[i]);
        check_mode(path, 0, 0600);
    }
    CHECK_OK(control_send(dir, CONTROL_KILL, 5000, &test_err));
    CHECK_EQ(fake_wait(m, pid), 0);

    CHECK_STR(m->output[0].data, "up\n");
    fake_free(m);
}

TEST(a_task_of_another_user_may_open_its_own_output)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char dir[128];

    run(m, "\"echo out >/dev/stdout; echo err >/dev/stderr\"", AS_STRANGER, dir);

    CHECK_STR(m->output[0].data, "out\n");
    CHECK_STR(m->output[1].data, "err\n");
    fake_free(m);
}

TEST(links_in_a_model_definition_give_nothing_away)
{
    UNLESS(geteuid() == 0, "needs root");
    const struct identity who = {.is_other = true, .uid = STRANGER, .gid = STRANGERS};
    struct fake_master *m = open_stage();
    char outside[96];
    char path[160];

    snprintf(outside, sizeof(outside), "%s/outside", m->dir);
    CHECK_OK(io_replace(io_system(), outside, "", 0, true, &test_err));
    snprintf(path, sizeof(path), "%s/t/" TASK_DIR_RUN, m->dir);
    CHECK_OK(io_mkdir(io_system(), path, true, &test_err));
    snprintf(path, sizeof(path), "%s/t/" TASK_DIR_REPORTS, m->dir);
    CHECK_OK(io_mkdir(io_system(), path, true, &test_err));
    snprintf(path, sizeof(path), "%s/t/" TASK_DIR_TMP, m->dir);
    CHECK_OK(io_mkdir(io_system(), path, true, &test_err));
    snprintf(path, sizeof(path), "%s/t/" TASK_DIR_WORK "/deep", m->dir);
    CHECK_OK(io_mkdir(io_system(), path, true, &test_err));
    snprintf(path, sizeof(path), "%s/t/" TASK_DIR_WORK "/deep/link", m->dir);
    CHECK(symlink(outside, path) == 0);

    snprintf(path, sizeof(path), "%s/t", m->dir);
    CHECK_OK(identity_give(&who, path, &test_err));

    check_mode(outside, 0, 0600);
    snprintf(path, sizeof(path), "%s/t/" TASK_DIR_WORK "/deep/link", m->dir);
    check_mode(path, STRANGER, 0777);
    snprintf(path, sizeof(path), "%s/nowhere", m->dir);
    CHECK_EQ(identity_give(&who, path, &test_err), DET_NOT_FOUND);
    fake_free(m);
}

TEST(a_closed_directory_above_is_named)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = fake_new();
    char dir[128];
    char want[128];

    run(m, "\"echo never\"", AS_STRANGER, dir);

    snprintf(want, sizeof(want), "since '%s' is closed to it", m->dir);
    CHECK_HAS(m->output[1].data, want);
    check_exit(dir, "FAILED", 1, want); /* no program failed */
    CHECK_EQ(fake_count(m, "/exit", "isFinal"), 0);
    fake_free(m);
}

/* ---- ends --------------------------------------------------------------------------
 */

TEST(the_tree_of_another_user_is_killed_as_well)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char dir[128];
    pid_t pid;

    fake_place(m, STUBBORN("hidden-as-stranger"), AS_STRANGER, dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_offset(m) > 4);
    CHECK_OK(control_send(dir, CONTROL_KILL, 5000, &test_err));
    CHECK_EQ(fake_wait(m, pid), 0);

    CHECK(nobody_has(m, "hidden-as-stranger"));
    check_exit(dir, "KILLED", 137, "killed by signal SIGKILL");
    fake_free(m);
}

TEST(a_task_of_another_user_dies_with_its_supervisor)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char dir[128];
    pid_t pid;

    fake_place(m, "[\"sh\", \"-c\", \"echo up; sleep 1000.75\"]", AS_STRANGER, dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_offset(m) == 3);
    kill(pid, SIGKILL);
    CHECK_EQ(fake_wait(m, pid), 1000 + SIGKILL);

    WAIT_UNTIL(nobody_has(m, "echo up; sleep 1000.75"));
    /* Its child is the agent's to find; here we do it. */
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct task_dir_pid left;

    CHECK_OK(task_dir_read_pid(io_system(), dir, &mem, &left, &test_err));
    kill(-(pid_t)left.group, SIGKILL);
    WAIT_UNTIL(nobody_has(m, "1000.75"));
    fake_free(m);
}

/* ---- without the rights ------------------------------------------------------------
 */

/* A supervisor that begins with less. */
static pid_t spawn_without(const char *dir, int capability, uid_t uid)
{
    int self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    const char *argv[] = {"det", "task", "run", dir, NULL};
    pid_t pid = fork();

    if (pid == 0) {
        close(STDOUT_FILENO);
        if (capability >= 0 && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
            _exit(98);
        if (uid && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
            _exit(97);
        fexecve(self, (char *const *)(uintptr_t)argv, environ);
        _exit(99);
    }
    CHECK(pid > 0);
    close(self);
    return pid;
}

TEST(an_agent_that_is_not_root_refuses_in_the_log)
{
    const uid_t uid = geteuid() == 0 ? 54000 : 0; /* 0: it is not root anyway */
    struct fake_master *m = open_stage();
    char dir[128];
    char path[160];

    fake_place(m, "\"echo never\"", AS_STRANGER, dir);
    snprintf(path, sizeof(path), "%s/" TASK_DIR_SPEC, dir);
    CHECK(!uid || (chown(dir, uid, uid) == 0 && chown(path, uid, uid) == 0));
    CHECK_EQ(fake_wait(m, spawn_without(dir, -1, uid)), 0);

    CHECK_STR(m->output[0].data, "");
    CHECK_STR(m->output[1].data, "[det] this agent does not run as root, so it "
                                 "cannot run a task as user 54321 "
                                 "(security.default_task)\n");
    check_exit(dir, "FAILED", 1, "does not run as root");
    CHECK_EQ(fake_count(m, "/exit", "FAILED"), 1);
    fake_free(m);
}

/* Numbers of a link count as they are, 0 too. */
static const char linked[] =
    ",\"user\":{\"uid\":54321,\"gid\":0,\"name\":\"visitor\",\"isLink\":true}";

TEST(a_linked_owner_gives_the_task_both_numbers)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char dir[128];

    run(m, "\"id -u; id -g\"", linked, dir);

    CHECK_STR(m->output[0].data, "54321\n0\n");
    fake_free(m);
}

TEST(an_agent_that_is_not_root_refuses_the_task_of_a_linked_owner)
{
    static const char *const users[] = {
        linked, ",\"user\":{\"uid\":0,\"gid\":0,\"name\":\"root\",\"isLink\":true}"};
    const uid_t uid = geteuid() == 0 ? 54000 : 0;

    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        struct fake_master *m = open_stage();
        char dir[128];
        char path[160];

        fake_place(m, "\"echo never\"", users[i], dir);
        snprintf(path, sizeof(path), "%s/" TASK_DIR_SPEC, dir);
        CHECK(!uid || (chown(dir, uid, uid) == 0 && chown(path, uid, uid) == 0));
        CHECK_EQ(fake_wait(m, spawn_without(dir, -1, uid)), 0);
        CHECK_STR(m->output[0].data, "");
        CHECK_HAS(m->output[1].data, "is linked with user");
        check_exit(dir, "FAILED", 1, "is linked with user");
        fake_free(m);
    }
}

TEST(an_agent_that_is_that_user_already_just_runs_the_task)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char dir[128];
    char path[160];

    fake_place(m, "\"id -u\"", AS_STRANGER, dir);
    snprintf(path, sizeof(path), "%s/" TASK_DIR_SPEC, dir);
    CHECK(chown(dir, STRANGER, -1) == 0 && chown(path, STRANGER, -1) == 0);
    CHECK_EQ(fake_wait(m, spawn_without(dir, -1, STRANGER)), 0);

    CHECK_STR(m->output[0].data, "54321\n");
    fake_free(m);
}

TEST(a_root_that_may_not_change_its_user_says_so)
{
    UNLESS(geteuid() == 0, "needs root");
    struct fake_master *m = open_stage();
    char dir[128];

    fake_place(m, "\"echo never\"", AS_STRANGER, dir);
    CHECK_EQ(fake_wait(m, spawn_without(dir, CAP_SETUID, 0)), 0);

    CHECK_STR(m->output[0].data, "");
    CHECK_HAS(m->output[1].data, "[det] cannot become user 54321: ");
    CHECK_EQ(fake_count(m, "/exit", "FAILED"), 1);
    fake_free(m);
}

/* ---- /run/determined ---------------------------------------------------------------
 */

#define LOOK                                                                           \
    "\"cat " PRIVILEGED_RUN "/info/cluster.json 2>/dev/null | grep -c 3.u.1; "         \
    "cat " PRIVILEGED_RUN "/workdir/own 2>/dev/null; "                                 \
    "cat " PRIVILEGED_RUN "/train/model/own 2>/dev/null; "                             \
    "pwd; echo $DET_RUN_DIR; ls $DET_RUN_DIR/info | wc -l\""

/* In a child: 0 where `look` says yes. */
static bool in_child(bool (*look)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(look() ? 0 : 1);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return status == 0;
}

static bool unshares(void)
{
    return unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           (mkdir(PRIVILEGED_RUN, 0755) == 0 || errno == EEXIST) &&
           mount("/proc", PRIVILEGED_RUN, NULL, MS_BIND, NULL) == 0;
}

/* Where the kernel lets us; elsewhere there is nothing to see. */
static bool may_unshare(void)
{
    return in_child(unshares);
}

static char view_dir[96]; /* of the next test */

static bool sees_mounts(void)
{
    const struct privileged_view view = {.dir = view_dir};

    return !privileged_enter(&view, NULL) && access(PRIVILEGED_RUN "/mark", F_OK) == 0;
}

/* Most machines share what they mount with every namespace that is made from theirs. */
static bool is_kept_from_a_sharing_machine(void)
{
    return unshares() && umount(PRIVILEGED_RUN) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_SHARED, NULL) == 0 &&
           in_child(sees_mounts) && access(PRIVILEGED_RUN "/mark", F_OK) != 0;
}

TEST(what_is_mounted_for_a_task_does_not_show_outside)
{
    UNLESS(geteuid() == 0 && may_unshare(), "needs root and the right to mount");
    struct fake_master *m = open_stage();
    char path[160];

    snprintf(view_dir, sizeof(view_dir), "%s", m->dir);
    snprintf(path, sizeof(path), "%s/" TASK_DIR_RUN "/mark", m->dir);
    CHECK_OK(io_mkdir(io_system(), path, true, &test_err));
    snprintf(path, sizeof(path), "%s/" TASK_DIR_WORK, m->dir);
    CHECK_OK(io_mkdir(io_system(), path, true, &test_err));

    CHECK(in_child(is_kept_from_a_sharing_machine));
    fake_free(m);
}

static bool follows_link(void)
{
    const struct privileged_view view = {.dir = view_dir};
    char path[160];

    snprintf(path, sizeof(path), "%s/etc/passwd", view_dir);
    return unshares() && umount(PRIVILEGED_RUN) == 0 &&
           !privileged_enter(&view, NULL) && access(path, F_OK) == 0;
}

/* Another task of the same user may own DIR/run by the time of the mount. */
TEST(a_mount_point_that_became_a_link_is_not_followed)
{
    UNLESS(geteuid() == 0 && may_unshare(), "needs root and the right to mount");
    struct fake_master *m = open_stage();
    char path[160];
    char target[160];

    snprintf(view_dir, sizeof(view_dir), "%s", m->dir);
    snprintf(path, sizeof(path), "%s/" TASK_DIR_RUN, m->dir);
    CHECK_OK(io_mkdir(io_system(), path, true, &test_err));
    snprintf(path, sizeof(path), "%s/" TASK_DIR_WORK "/passwd", m->dir);
    CHECK_OK(io_mkdir(io_system(), path, true, &test_err));
    snprintf(target, sizeof(target), "%s/etc", m->dir);
    CHECK_OK(io_mkdir(io_system(), target, true, &test_err));
    snprintf(path, sizeof(path), "%s/" TASK_DIR_RUN "/workdir", m->dir);
    CHECK(symlink(target, path) == 0);

    CHECK(!in_child(follows_link));
    fake_free(m);
}

TEST(a_configured_size_of_dev_shm_is_honoured_without_isolation_too)
{
    UNLESS(geteuid() == 0 && may_unshare(), "needs root and the right to mount");
    struct fake_master *m = open_stage();
    char dir[128];

    run(m, "\"df -kP /dev/shm | tail -n 1 | tr -s ' ' | cut -d' ' -f2\"",
        ",\"shmSize\":67108864", dir);

    CHECK_STR(m->output[0].data, "65536\n");
    fake_free(m);
}

TEST(a_task_has_no_way_to_more_rights)
{
    struct fake_master *m = open_stage();
    char dir[128];

    run(m, "\"grep NoNewPrivs: /proc/self/status | tr -d '\\\\t'\"", "", dir);

    CHECK_STR(m->output[0].data, "NoNewPrivs:1\n");
    fake_free(m);
}

TEST(no_mount_that_a_task_sees_honours_set_id_programs)
{
    UNLESS(geteuid() == 0 && may_unshare(), "needs root and the right to mount");
    struct fake_master *m = open_stage();
    char dir[128];

    run(m, "\"grep -vc nosuid /proc/self/mountinfo\"",
        ",\"user\":{\"uid\":54321,\"gid\":54321}", dir);

    CHECK_STR(m->output[0].data, "0\n");
    fake_free(m);
}

static void check_look(const char *more)
{
    struct fake_master *m = open_stage();
    char *context = pack("own", "mine\n");
    char dir[128];
    char want[512];

    m->context = context;
    run(m, LOOK, more, dir);

    snprintf(want, sizeof(want), "1\nmine\nmine\n%s/work\n%s/run\n4\n", dir, dir);
    CHECK_STR(m->output[0].data, want);
    CHECK(!file_is_there(PRIVILEGED_RUN, "info"));
    fake_free(m);
    mem_free(context);
}

#define WITH_TRIAL ",\"context\":true,\"info\":{\"trial\":{\"trial_id\":1}}"

TEST(a_task_sees_its_own_run_directory_where_the_harness_looks)
{
    UNLESS(geteuid() == 0 && may_unshare(), "needs root and the right to mount");
    check_look(WITH_TRIAL);
}

TEST(a_task_of_another_user_sees_it_too)
{
    UNLESS(geteuid() == 0 && may_unshare(), "needs root and the right to mount");
    check_look(WITH_TRIAL AS_STRANGER);
}

static void name_of_namespace(pid_t pid, char text[64])
{
    char path[64];
    ssize_t len;

    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
    len = readlink(path, text, 63);
    CHECK(len > 0);
    text[len] = '\0';
}

TEST(only_the_task_is_in_the_namespace)
{
    UNLESS(geteuid() == 0 && may_unshare(), "needs root and the right to mount");
    struct fake_master *m = open_stage();
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct task_dir_pid pids;
    char ours[64];
    char its[64];
    char tasks[64];
    char dir[128];
    pid_t pid;

    fake_place(m, "\"echo up; while :; do sleep 0.05; done\"", "", dir);
    pid = fake_spawn(dir);
    WAIT_UNTIL(fake_offset(m) == 3);
    CHECK_OK(task_dir_read_pid(io_system(), dir, &mem, &pids, &test_err));
    name_of_namespace(getpid(), ours);
    name_of_namespace(pid, its);
    name_of_namespace((pid_t)pids.group, tasks);
    CHECK_OK(control_send(dir, CONTROL_KILL, 5000, &test_err));
    CHECK_EQ(fake_wait(m, pid), 0);

    CHECK_STR(its, ours);
    CHECK(strcmp(tasks, ours) != 0);
    fake_free(m);
}

TEST(without_the_right_to_mount_nothing_else_changes)
{
    UNLESS(geteuid() == 0, "needs root");
    static const char *const more[] = {WITH_TRIAL, WITH_TRIAL AS_STRANGER};

    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        struct fake_master *m = open_stage();
        char *context = pack("own", "mine\n");
        char dir[128];
        char want[512];

        m->context = context;
        fake_place(m, LOOK, more[i], dir);
        CHECK_EQ(fake_wait(m, spawn_without(dir, CAP_SYS_ADMIN, 0)), 0);

        snprintf(want, sizeof(want), "0\n%s/work\n%s/run\n4\n", dir, dir);
        CHECK_STR(m->output[0].data, want);
        check_exit(dir, "CLEAN", 0, "exited with code 0");
        fake_free(m);
        mem_free(context);
    }
}

/* ---- by itself ---------------------------------------------------------------------
 */

TEST(numbers_that_are_nobodys_are_refused)
{
    static const char *const bad[] = {
        "{\"uid\":-1}",
        "{\"uid\":4294967295}",
        "{\"uid\":5,\"gid\":4294967295}",
        "{\"uid\":5,\"gid\":-3}",
        "{\"uid\":\"root\"}",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        struct task_spec spec;
        struct json *tree;

        buf_printf(&text, "{\"allocation\":\"a\",\"taskId\":\"t\",\"user\":%s}",
                   bad[i]);
        CHECK_OK(json_parse(text.data, text.len, &mem, &tree, &test_err));
        CHECK_EQ(spec_read(tree, &mem, &spec, &test_err), DET_INVALID);
    }
}

TEST(nobody_in_particular_is_the_supervisors_own_user)
{
    static const char *const inherited[] = {"HOME=/h", "XDG_X=1", NULL};
    const struct task_user user = {0};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    const char *const *environment;
    struct identity who;

    CHECK_OK(identity_find(&user, &mem, &who, &test_err));
    CHECK(!who.is_other);
    CHECK_OK(identity_environment(&who, inherited, &(struct field_strs){0}, "/w", &mem,
                                  &environment, &test_err));
    CHECK(environment == inherited);
    CHECK_OK(identity_give(&who, "/nowhere", &test_err));
}

TEST(the_way_is_judged_as_the_kernel_does)
{
    UNLESS(geteuid() == 0, "needs root");
    static const gid_t group = STRANGERS;
    const struct identity who = {.is_other = true,
                                 .uid = STRANGER,
                                 .gid = STRANGERS,
                                 .groups = &group,
                                 .group_count = 1};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct fake_master *m = fake_new();

    CHECK_STR(identity_barrier(&who, m->dir, &mem), m->dir);
    CHECK(chown(m->dir, STRANGER, -1) == 0);
    CHECK_NULL(identity_barrier(&who, m->dir, &mem));
    CHECK(chown(m->dir, 0, STRANGERS) == 0 && chmod(m->dir, 0701) == 0);
    CHECK_STR(identity_barrier(&who, m->dir, &mem), m->dir);
    CHECK_OK(privileged_let_pass(m->dir, &test_err));
    check_mode(m->dir, 0, 0711);
    CHECK_NULL(identity_barrier(&who, m->dir, &mem));
    CHECK_EQ(privileged_let_pass("/nowhere", &test_err), DET_NOT_FOUND);
    fake_free(m);
}

TEST(out_of_memory_is_an_ordinary_error)
{
    UNLESS(geteuid() == 0, "needs root");
    static const char *const inherited[] = {"HOME=/h", "PATH=/bin", NULL};
    const struct task_user user = {.uid = STRANGER, .gid = STRANGERS, .name = "v"};

    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        const char *const *environment;
        struct identity who = {0};
        det_status status = identity_find(&user, &mem, &who, NULL);

        if (!status)
            status = identity_environment(&who, inherited, &(struct field_strs){0},
                                          "/w", &mem, &environment, NULL);
        CHECK(status == DET_OK || (status == DET_NOMEM && fault_fired()));
    }
}
