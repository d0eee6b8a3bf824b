/* SPDX-License-Identifier: Apache-2.0 */
/* test_help.c - help, man pages and completion say what the table says. */
#include <string.h>

#include "base/memory/buf.h"
#include "cli/frame/commands.h"
#include "cli/help/completion.h"
#include "cli/help/help.h"
#include "cli/help/man.h"
#include "tests/support/test.h"

static const struct cli_command *find(const char *noun, const char *verb)
{
    for (const struct cli_command *c = cli_commands; c->noun; c++)
        if (!strcmp(c->noun, noun) &&
            (verb ? c->verb && !strcmp(c->verb, verb) : !c->verb))
            return c;
    fail_msg("no such command");
    return NULL;
}

TEST(the_help_of_det_names_every_noun)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    help_all(&out);

    for (const struct cli_noun *noun = cli_nouns; noun->name; noun++)
        if (strcmp(noun->name, "internal"))
            CHECK_HAS(out.data, noun->name);
    CHECK_NULL(strstr(out.data, "internal"));
}

TEST(the_help_of_a_noun_names_its_commands_but_hidden_ones)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    help_noun(&out, "task");

    CHECK_HAS(out.data, "usage: det task COMMAND ...");
    CHECK_HAS(out.data, "  list");
    CHECK_HAS(out.data, "  logs TASK");
    CHECK_NULL(strstr(out.data, "Supervise"));
}

TEST(the_help_of_a_command_shows_what_it_takes)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    help_command(&out, find("experiment", "wait"));

    CHECK_STR(out.data,
              "usage: det experiment wait [options] ID\n\n"
              "Wait until an experiment ends.\n\n"
              "The exit code is 0 if it ends as COMPLETED, else 1.\n\n"
              "options:\n"
              "      --timeout SECONDS     give up after this time (exit code 9)\n"
              "      --polling-interval SECONDS\n"
              "                            ask the master this often (default: up to "
              "every 2 seconds)\n"
              "  -m, --master URL          the master (default: DET_MASTER, else the "
              "local one)\n"
              "  -u, --user NAME           act as this user\n"
              "  -h, --help                print help and exit\n");
}

TEST(only_listings_offer_their_formats)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    help_command(&out, find("experiment", "list"));
    CHECK_HAS(out.data, "--json");
    CHECK_HAS(out.data, "--csv");
    buf_clear(&out);
    help_command(&out, find("experiment", "kill"));
    CHECK_NULL(strstr(out.data, "--json"));
    buf_clear(&out);
    help_command(&out, find("config", "check"));
    CHECK_NULL(strstr(out.data, "--master"));
}

TEST(no_line_of_help_is_wider_than_a_hundred_columns)
{
    for (const struct cli_command *c = cli_commands; c->noun; c++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;

        help_command(&out, c);
        for (const char *at = out.data; *at;) {
            size_t len = strcspn(at, "\n");

            if (len > 100)
                fail_msg("%.*s", (int)len, at);
            at += len + 1;
        }
    }
}

TEST(every_command_has_a_man_page_of_its_own_name)
{
    CLEANUP(buf_done) struct buf name = BUF_INIT;

    man_name(&name, NULL);
    CHECK_STR(name.data, "det.1");
    buf_clear(&name);
    man_name(&name, find("experiment", "label add"));
    CHECK_STR(name.data, "det-experiment-label-add.1");
    for (const struct cli_command *c = cli_commands; c->noun; c++) {
        CLEANUP(buf_done) struct buf page = BUF_INIT;

        man_page(&page, c);
        CHECK_HAS(page.data, ".SH NAME\ndet-");
        CHECK_HAS(page.data, ".SH SYNOPSIS\n");
        CHECK_HAS(page.data, ".SH EXIT STATUS\n");
    }
}

TEST(a_man_page_escapes_what_troff_would_take_for_itself)
{
    CLEANUP(buf_done) struct buf page = BUF_INIT;

    man_page(&page, find("experiment", "create"));

    CHECK_HAS(page.data, "\\fB\\-f\\fR, \\fB\\-\\-follow\\fR\n");
    CHECK_NULL(strstr(page.data, "\n.detignore"));
}

TEST(bash_completes_nouns_verbs_and_options)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    CHECK_OK(completion_write("bash", &out, &test_err));

    CHECK_HAS(out.data, "    \"\") list=\" experiment trial checkpoint agent");
    CHECK_HAS(out.data, "    \" experiment\" | \" e\") list=\" create list describe");
    CHECK_HAS(out.data,
              "    \" experiment label\" | \" e label\") list=\" add remove\"");
    CHECK_HAS(out.data, "    \" experiment create\" | \" experiment create \"* | "
                        "\" e create\" | \" e create \"*) list=\" --paused");
    CHECK_HAS(out.data, "        -m | --master | -u | --user) master+=(");
    CHECK_HAS(out.data, "--level) list=\" TRACE DEBUG INFO");
    CHECK_HAS(out.data, "; ids=experiment");
    CHECK_HAS(out.data, "complete -o bashdefault -o default -F _det det\n");
    CHECK_NULL(strstr(out.data, "internal\"")); /* no noun of people */
}

TEST(zsh_and_fish_have_theirs)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    CHECK_OK(completion_write("zsh", &out, &test_err));
    CHECK_HAS(out.data, "bashcompinit");
    buf_clear(&out);
    CHECK_OK(completion_write("fish", &out, &test_err));
    CHECK_HAS(out.data, "complete -c det -n __det_at -a experiment");
    CHECK_HAS(out.data, "-l follow -s f");
    CHECK_EQ(completion_write("tcsh", &out, &test_err), DET_INVALID);
}
