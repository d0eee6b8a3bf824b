/* SPDX-License-Identifier: Apache-2.0 */
/* What `det doctor` makes of the facts: each check with something broken. */
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "cli/doctor/checks.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/finding.h"
#include "cli/doctor/judge.h"
#include "tests/support/test.h"

#define DIR  "/var/lib/det"
#define DAYS (INT64_C(86400) * 1000000)
#define GB   (INT64_C(1) << 30)

static const int64_t now_us = INT64_C(1800000000) * 1000000;

static struct agent_fact good_agent(const char *name)
{
    return (struct agent_fact){.name = name,
                               .version = "1.2",
                               .is_connected = true,
                               .is_enabled = true,
                               .disk_free_bytes = 100 * GB};
}

/* A host and a cluster where everything is as it should be. */
static struct doctor_facts good_facts(void)
{
    static struct agent_fact agents[2];
    struct doctor_facts facts = {
        .version = "1.2",
        .uid = 1000,
        .now_us = now_us,
        .disk = {.data_dir = DIR,
                 .has_data_dir = true,
                 .has_database = true,
                 .stat = {.kind = IO_DIRECTORY, .mode = 0700, .uid = 1000},
                 .place = DIR,
                 .is_writable = true,
                 .space = {.size_bytes = 500 * GB, .free_bytes = 100 * GB},
                 .sync_us = 1500,
                 .type = 0xef53,
                 .has_tried_locks = true,
                 .locks_exclude = true},
        .keys = {.at = {{DIR "/secret.key", "can make sessions", 0600, 1000}},
                 .count = 1},
        .limits = {.open_files = 65536,
                   .open_files_most = 65536,
                   .processes = 30000,
                   .threads = 100000,
                   .group_processes = DOCTOR_UNLIMITED},
        .isolation = {.group = "/sys/fs/cgroup/a", .controllers = "cpu memory pids\n"},
        .libraries = {.libdet = "/usr/lib/libdet.so", .libdet_version = "1.2"},
        .python = {.path = "/usr/bin/python3",
                   .version = "3.12.1",
                   .major = 3,
                   .minor = 12,
                   .package = "/usr/lib/det/python/determined",
                   .package_version = "1.2",
                   .libdet_version = "1.2"},
        .gpus = {.has_device = true, .has_driver = true, .count = 2, .brand = "H200"},
        .master = {.state = MASTER_ANSWERS,
                   .url = "https://master.example.com:8443",
                   .host = "master.example.com",
                   .is_tls = true,
                   .version = "1.2",
                   .is_up = true,
                   .certificate_end_us = now_us + 300 * DAYS,
                   .certificate_names = "localhost, master.example.com",
                   .date_us = now_us,
                   .asked_us = now_us - 1000,
                   .answered_us = now_us + 1000,
                   .disk_free_bytes = 100 * GB,
                   .disk_size_bytes = 500 * GB},
    };

    agents[0] = good_agent("one");
    agents[1] = good_agent("two");
    facts.agents = (struct agents_facts){.at = agents, .count = ARRAY_LEN(agents)};
    return facts;
}

static const struct doctor_check *find_check(const char *name)
{
    for (size_t i = 0; i < doctor_check_count; i++)
        if (!strcmp(doctor_checks[i].name, name))
            return &doctor_checks[i];
    fail_msg("no such check");
    return NULL;
}

static void check_form(struct findings *all, const struct finding *finding)
{
    const char *text = finding_sentence(all, finding);

    CHECK_EQ(text[strlen(text) - 1], '.');
    CHECK_NULL(strchr(text, '\n'));
    if (finding->mark < FINDING_WARN)
        return;
    CHECK(finding->what && *finding->what);
    CHECK(finding->why && *finding->why);
    CHECK(finding->todo && *finding->todo);
}

/* The worst finding of a check has this mark and this text. */
static void check_says(const struct doctor_facts *facts, const char *name,
                       enum finding_mark mark, const char *text)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct findings all = {.mem = &mem, .check = find_check(name)};
    const struct finding *worst;

    all.check->judge(facts, &all);

    worst = all.first;
    for (const struct finding *f = all.first; f; f = f->next) {
        check_form(&all, f);
        worst = f->mark > worst->mark ? f : worst;
    }
    assert_non_null(worst);
    CHECK_STR(finding_mark_names[worst->mark], finding_mark_names[mark]);
    CHECK_HAS(finding_sentence(&all, worst), text);
}

static size_t count_findings(const struct doctor_facts *facts, const char *name)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct findings all = {.mem = &mem, .check = find_check(name)};
    size_t count = 0;

    all.check->judge(facts, &all);
    for (const struct finding *f = all.first; f; f = f->next)
        count++;
    return count;
}

TEST(every_check_is_content_with_good_facts)
{
    struct doctor_facts facts = good_facts();

    for (size_t i = 0; i < doctor_check_count; i++)
        check_says(&facts, doctor_checks[i].name, FINDING_OK, "");
}

TEST(every_check_has_a_name_and_a_line_of_help)
{
    for (size_t i = 0; i < doctor_check_count; i++) {
        CHECK(*doctor_checks[i].name);
        CHECK(strlen(doctor_checks[i].name) <= 14);
        CHECK(strlen(doctor_checks[i].name) + strlen(doctor_checks[i].help) < 76);
        CHECK_EQ(find_check(doctor_checks[i].name) - doctor_checks, (int64_t)i);
    }
}

/* ---- disk ------------------------------------------------------------------------ */

TEST(a_disk_that_is_nearly_full_is_a_warning_and_a_full_one_a_failure)
{
    struct doctor_facts facts = good_facts();

    facts.disk.space.free_bytes = 3 * GB;
    check_says(&facts, "space", FINDING_WARN, "has only 3.0GB of 500.0GB free");
    facts.disk.space.free_bytes = GB / 8;
    check_says(&facts, "space", FINDING_FAIL, "det env prune");
    facts.disk.space = (struct io_space){.size_bytes = 200 * GB, .free_bytes = 8 * GB};
    check_says(&facts, "space", FINDING_WARN, "8.0GB of 200.0GB");
    facts.disk.space =
        (struct io_space){.size_bytes = 9000 * GB, .free_bytes = 30 * GB};
    check_says(&facts, "space", FINDING_OK, "30.0GB");
    facts.disk.space_problem = "it cannot be asked";
    check_says(&facts, "space", FINDING_WARN, "it cannot be asked");
}

TEST(without_a_data_directory_one_check_says_so)
{
    struct doctor_facts facts = good_facts();

    facts.disk =
        (struct disk_facts){.data_dir_problem = "HOME is not set", .sync_us = 1};
    check_says(&facts, "space", FINDING_FAIL, "HOME is not set");
    CHECK_EQ(count_findings(&facts, "sync"), 0);
    CHECK_EQ(count_findings(&facts, "file-system"), 0);
    CHECK_EQ(count_findings(&facts, "directory"), 0);
}

TEST(a_data_directory_that_was_named_and_is_missing_is_a_warning)
{
    struct doctor_facts facts = good_facts();

    facts.disk.has_data_dir = facts.disk.has_database = false;
    facts.disk.place = "/";
    check_says(&facts, "space", FINDING_OK, "above the missing '" DIR "'");
    check_says(&facts, "directory", FINDING_OK, "does not exist yet");
    facts.disk.is_named = true;
    check_says(&facts, "space", FINDING_WARN, "'" DIR "' is missing");
    check_says(&facts, "directory", FINDING_WARN, "check the name");
}

TEST(a_slow_disk_is_a_warning_and_a_broken_one_a_failure)
{
    struct doctor_facts facts = good_facts();

    facts.disk.sync_us = 80000;
    check_says(&facts, "sync", FINDING_WARN, "A sync takes 80 ms");
    facts.disk.sync_us = 2500000;
    check_says(&facts, "sync", FINDING_FAIL, "A sync takes 2 s");
    facts.disk.sync_us = DOCTOR_UNKNOWN;
    check_says(&facts, "sync", FINDING_SKIP, "may not write");
    facts.disk.sync_problem = "cannot sync 'x': Input/output error";
    check_says(&facts, "sync", FINDING_FAIL, "Input/output error");
}

TEST(a_file_system_without_reliable_locks_is_named)
{
    struct doctor_facts facts = good_facts();

    facts.disk.type = 0x6969;
    check_says(&facts, "file-system", FINDING_FAIL, "is on NFS");
    facts.disk.has_database = false; /* perhaps only somebody's home */
    check_says(&facts, "file-system", FINDING_WARN, "is on NFS");
    facts.disk.type = 0x65735546;
    check_says(&facts, "file-system", FINDING_WARN, "is on FUSE");
    facts.disk.type = 0x01021994;
    check_says(&facts, "file-system", FINDING_WARN, "gone after a restart");
    facts.disk.type = 0x794c7630;
    check_says(&facts, "file-system", FINDING_WARN, "container");
    facts.disk.type = 0x1234;
    check_says(&facts, "file-system", FINDING_OK, "type 0x1234");
}

TEST(locks_that_do_not_exclude_are_a_failure_on_any_file_system)
{
    struct doctor_facts facts = good_facts();

    facts.disk.locks_exclude = false;
    check_says(&facts, "file-system", FINDING_FAIL, "a second holder");
    facts = good_facts();
    facts.disk.lock_problem = "No locks available";
    check_says(&facts, "file-system", FINDING_FAIL, "No locks available");
}

/* ---- permissions ----------------------------------------------------------------- */

TEST(a_data_directory_that_others_may_change_is_a_failure)
{
    struct doctor_facts facts = good_facts();

    facts.disk.stat.mode = 0770;
    check_says(&facts, "directory", FINDING_FAIL, "chmod go-rw " DIR);
    facts.disk.stat.mode = 0755;
    check_says(&facts, "directory", FINDING_WARN, "has mode 755");
    facts.disk.stat.mode = 0711; /* as an agent's, whose tasks have other users */
    check_says(&facts, "directory", FINDING_OK, "711");
    facts.disk.is_writable = false;
    check_says(&facts, "directory", FINDING_FAIL, "cannot be written to");
    facts.disk.stat.uid = 7;
    check_says(&facts, "directory", FINDING_WARN, "belongs to user 7");
    facts.disk.stat.kind = IO_FILE;
    check_says(&facts, "directory", FINDING_FAIL, "is not a directory");
}

TEST(a_data_directory_may_be_missing_if_it_can_be_made)
{
    struct doctor_facts facts = good_facts();

    facts.disk.has_data_dir = false;
    check_says(&facts, "directory", FINDING_OK, "does not exist yet");
    facts.disk.is_writable = false;
    check_says(&facts, "directory", FINDING_WARN, "cannot make its data directory");
}

TEST(a_key_that_others_can_read_is_a_failure)
{
    struct doctor_facts facts = good_facts();

    facts.keys.at[0].mode = 0640;
    check_says(&facts, "keys", FINDING_FAIL, "chmod 600 " DIR "/secret.key");
    facts.keys.at[0].mode = 0600;
    facts.keys.at[0].uid = 7;
    check_says(&facts, "keys", FINDING_FAIL, "belongs to user 7");
    facts.uid = 0; /* root looks at somebody's directory */
    check_says(&facts, "keys", FINDING_OK, "1 secret file");
    facts.keys.problem = "'x' cannot be looked at";
    check_says(&facts, "keys", FINDING_SKIP, "cannot be looked at");
    facts.keys = (struct keys_facts){0};
    check_says(&facts, "keys", FINDING_OK, "no keys");
}

/* ---- limits ---------------------------------------------------------------------- */

TEST(few_open_files_are_a_warning_and_very_few_a_failure)
{
    struct doctor_facts facts = good_facts();

    facts.limits.open_files = 1024;
    facts.limits.open_files_most = 8192;
    check_says(&facts, "open-files", FINDING_WARN, "ulimit -n 8192");
    facts.limits.open_files = 64;
    facts.limits.open_files_most = 64;
    check_says(&facts, "open-files", FINDING_FAIL, "LimitNOFILE=65536");
    facts.limits.open_files = DOCTOR_UNLIMITED;
    check_says(&facts, "open-files", FINDING_OK, "any number");
}

TEST(the_least_limit_of_processes_counts_and_says_how_to_raise_it)
{
    struct doctor_facts facts = good_facts();

    facts.limits.processes = 500;
    check_says(&facts, "processes", FINDING_WARN, "ulimit -u");
    facts.uid = 0; /* has no such limit */
    check_says(&facts, "processes", FINDING_OK, "100000");
    facts.limits.group_processes = 100;
    check_says(&facts, "processes", FINDING_FAIL, "TasksMax");
    facts.limits.group_processes = DOCTOR_UNLIMITED;
    facts.limits.threads = 900;
    check_says(&facts, "processes", FINDING_WARN, "threads-max");
}

TEST(a_machine_that_cannot_isolate_says_what_to_allow)
{
    struct doctor_facts facts = good_facts();

    facts.isolation.namespace_problem = "the kernel refuses user namespaces";
    check_says(&facts, "namespaces", FINDING_WARN, "unprivileged_userns_clone");
    facts.uid = 0;
    check_says(&facts, "namespaces", FINDING_WARN, "CAP_SYS_ADMIN");
}

TEST(control_groups_need_both_controllers)
{
    struct doctor_facts facts = good_facts();

    facts.isolation.controllers = "cpu memory_x pids\n";
    check_says(&facts, "control-group", FINDING_WARN, "lacks the controllers");
    facts.isolation.controllers = "memory";
    check_says(&facts, "control-group", FINDING_WARN, "lacks the controllers");
    facts.isolation.controllers = NULL;
    check_says(&facts, "control-group", FINDING_WARN, "Delegate=yes");
    facts.isolation.group_problem = "cgroup v2 is not there";
    check_says(&facts, "control-group", FINDING_WARN, "cgroup v2 is not there");
}

/* ---- programs -------------------------------------------------------------------- */

TEST(a_missing_library_is_a_failure_that_says_what_does_not_work)
{
    struct doctor_facts facts = good_facts();

    facts.libraries.http_problem = "libmicrohttpd12 is not installed";
    check_says(&facts, "libraries", FINDING_FAIL, "A master cannot run here");
    facts.libraries.http_problem = NULL;
    facts.libraries.tls_problem = "libgnutls30 is not installed";
    check_says(&facts, "libraries", FINDING_FAIL, "https://");
    facts.libraries.tls_problem = NULL;
    facts.libraries.archive_problem = "libarchive13 is not installed";
    check_says(&facts, "libraries", FINDING_FAIL, "Folders with code");
}

TEST(libdet_is_the_version_of_the_program)
{
    struct doctor_facts facts = good_facts();

    facts.libraries.libdet_version = "1.1";
    check_says(&facts, "libdet", FINDING_WARN, "is version 1.1");
    facts.libraries.libdet_problem = "wrong ELF class";
    check_says(&facts, "libdet", FINDING_FAIL, "wrong ELF class");
    facts.libraries.libdet = NULL;
    check_says(&facts, "libdet", FINDING_SKIP, "no libdet.so");
}

TEST(python_is_there_new_enough_and_has_the_package)
{
    struct doctor_facts facts = good_facts();

    facts.python.package_version = "1.1";
    check_says(&facts, "python", FINDING_WARN, "is version 1.1");
    facts.python.package_version = "1.2";
    facts.python.libdet_version = "0.9";
    check_says(&facts, "python", FINDING_WARN, "libdet 0.9");
    facts.python.package = NULL;
    facts.python.problem = "ModuleNotFoundError: No module named 'determined'";
    check_says(&facts, "python", FINDING_WARN, "ModuleNotFoundError");
    facts.python.minor = 9;
    facts.python.version = "3.9.2";
    check_says(&facts, "python", FINDING_WARN, "needs 3.11");
    facts.python.version = NULL;
    check_says(&facts, "python", FINDING_FAIL, "does not work");
    facts.python.path = NULL;
    check_says(&facts, "python", FINDING_WARN, "no python3");
}

TEST(gpus_need_a_driver_and_its_library)
{
    struct doctor_facts facts = good_facts();

    facts.gpus.count = 0;
    check_says(&facts, "gpus", FINDING_WARN, "libnvidia-ml");
    facts.gpus.has_driver = false;
    check_says(&facts, "gpus", FINDING_WARN, "no driver is loaded");
    facts.gpus.has_device = false;
    facts.gpus.cores = 8;
    check_says(&facts, "gpus", FINDING_OK, "8 processor cores");
    facts.gpus.problem = "GPU 1 does not answer";
    check_says(&facts, "gpus", FINDING_FAIL, "GPU 1 does not answer");
}

/* ---- cluster --------------------------------------------------------------------- */

TEST(without_a_master_only_the_host_is_checked)
{
    struct doctor_facts facts = good_facts();

    facts.master.state = MASTER_NONE;
    check_says(&facts, "master", FINDING_SKIP, "only this host was checked");
    for (size_t i = 0; i < doctor_check_count; i++)
        if (doctor_checks[i].scope == DOCTOR_CLUSTER &&
            strcmp(doctor_checks[i].name, "master"))
            CHECK_EQ(count_findings(&facts, doctor_checks[i].name), 0);
    facts.is_cluster_wanted = true;
    check_says(&facts, "master", FINDING_FAIL, "none is named");
}

TEST(a_master_that_does_not_answer_or_cannot_store_is_a_failure)
{
    struct doctor_facts facts = good_facts();

    facts.master.disk_free_bytes = GB;
    check_says(&facts, "master", FINDING_WARN, "1.0GB of 500.0GB");
    facts.master.is_read_only = true;
    check_says(&facts, "master", FINDING_FAIL, "is full");
    facts.master.is_up = false;
    check_says(&facts, "master", FINDING_FAIL, "lost its database");
    facts.master.state = MASTER_UNREACHABLE;
    facts.master.problem = "Connection refused";
    check_says(&facts, "master", FINDING_FAIL, "Connection refused");
    facts.master.url = NULL;
    check_says(&facts, "master", FINDING_FAIL, "The master of this host");
}

TEST(a_certificate_expires_and_has_names)
{
    struct doctor_facts facts = good_facts();

    facts.master.certificate_end_us = now_us + 9 * DAYS;
    check_says(&facts, "certificate", FINDING_WARN, "in 9 days");
    facts.master.certificate_end_us = now_us - DAYS;
    check_says(&facts, "certificate", FINDING_FAIL, "expired on");
    facts.master.certificate_end_us = now_us + 300 * DAYS;
    facts.master.certificate_names = "other.example.com";
    check_says(&facts, "certificate", FINDING_WARN, "not for 'master.example.com'");
    facts.master.state = MASTER_DISTRUSTED;
    facts.master.problem = "nobody vouches for it";
    check_says(&facts, "certificate", FINDING_FAIL, "det trust https://master");
}

TEST(an_address_without_tls_is_safe_on_this_machine_only)
{
    struct doctor_facts facts = good_facts();

    facts.master.is_tls = false;
    check_says(&facts, "certificate", FINDING_WARN, "is not encrypted");
    facts.master.host = "127.0.0.1";
    check_says(&facts, "certificate", FINDING_OK, "on this machine");
}

TEST(names_of_a_certificate_cover_hosts)
{
    CHECK(judge_names_cover("a, b.example.com", "B.example.com"));
    CHECK(judge_names_cover("*.example.com", "b.example.com"));
    CHECK(judge_names_cover("a, 10.0.0.1", "10.0.0.1"));
    CHECK(!judge_names_cover("*.example.com", "c.b.example.com"));
    CHECK(!judge_names_cover("*.example.com", "example.com"));
    CHECK(!judge_names_cover("example.com", "b.example.com"));
    CHECK(!judge_names_cover("", "a"));
}

TEST(clocks_that_differ_are_found)
{
    struct doctor_facts facts = good_facts();
    struct agent_fact agent = good_agent("far");

    facts.master.date_us = now_us + 30 * 1000000;
    check_says(&facts, "clocks", FINDING_WARN, "the master is 29 s ahead");
    facts.master.date_us = now_us - INT64_C(3600) * 3 * 1000000;
    check_says(&facts, "clocks", FINDING_FAIL, "behind that of this host");
    facts.master.date_us = now_us + 2 * 1000000;
    check_says(&facts, "clocks", FINDING_OK, "and 2 agents");
    agent.clock_ahead_us = -7 * 1000000;
    facts.agents = (struct agents_facts){.at = &agent, .count = 1};
    check_says(&facts, "clocks", FINDING_WARN, "agent 'far' is 7 s behind");
    agent.clock_ahead_us = DOCTOR_UNKNOWN;
    facts.master.date_us = DOCTOR_UNKNOWN;
    check_says(&facts, "clocks", FINDING_SKIP, "not known");
}

/* The header has whole seconds, and a call may take long. */
TEST(a_slow_answer_is_no_wrong_clock)
{
    struct doctor_facts facts = good_facts();

    facts.master.date_us = now_us;
    facts.master.asked_us = now_us - 8 * 1000000;
    facts.master.answered_us = now_us + 8 * 1000000;
    check_says(&facts, "clocks", FINDING_OK, "agree");
}

TEST(other_versions_are_found)
{
    struct doctor_facts facts = good_facts();
    struct agent_fact agent = good_agent("old");

    facts.master.version = "1.3";
    check_says(&facts, "versions", FINDING_WARN, "version 1.2, and the master 1.3");
    facts = good_facts();
    agent.version = "1.0";
    facts.agents = (struct agents_facts){.at = &agent, .count = 1};
    check_says(&facts, "versions", FINDING_WARN, "Agent 'old' is version 1.0");
}

TEST(silent_disabled_and_missing_agents_are_found)
{
    struct doctor_facts facts = good_facts();
    struct agent_fact agent = good_agent("gone");

    facts.agents = (struct agents_facts){.at = &agent, .count = 1};
    agent.is_enabled = false;
    check_says(&facts, "agents", FINDING_WARN, "All agents are disabled");
    agent.is_connected = false;
    agent.quiet_us = INT64_C(200) * 1000000;
    check_says(&facts, "agents", FINDING_FAIL, "'gone' has not been heard for 3 min");
    agent.quiet_us = DOCTOR_UNKNOWN;
    check_says(&facts, "agents", FINDING_FAIL, "is not connected");
    facts.agents.count = 0;
    check_says(&facts, "agents", FINDING_WARN, "No agent has joined");
    facts.agents.problem = "not logged in";
    facts.agents.is_not_logged_in = true;
    check_says(&facts, "agents", FINDING_WARN, "det user login");
}

TEST(an_agent_without_room_is_found)
{
    struct doctor_facts facts = good_facts();
    struct agent_fact agent = good_agent("full");

    facts.agents = (struct agents_facts){.at = &agent, .count = 1};
    agent.disk_free_bytes = GB;
    check_says(&facts, "agent-disks", FINDING_WARN, "Agent 'full' has only 1.0GB");
    agent.disk_free_bytes = 1000;
    check_says(&facts, "agent-disks", FINDING_FAIL, "1000B");
}

TEST(memory_may_run_out_anywhere)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        struct findings all = {.mem = &mem};
        struct doctor_facts facts = good_facts();

        facts.disk.stat.mode = 0777;
        for (size_t i = 0; i < doctor_check_count; i++) {
            all.check = &doctor_checks[i];
            all.check->judge(&facts, &all);
        }
        CHECK_EQ(mem.has_failed, fault_fired());
    }
}
