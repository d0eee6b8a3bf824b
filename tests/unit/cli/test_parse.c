/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "cli/frame/options.h"
#include "cli/frame/role_options.h"
#include "tests/support/test.h"

#include "cli/frame/command_row.h"
#include "cli/frame/commands.h"
#include "cli/frame/parse.h"

/* Words up to NULL. */
#define LINE(...) ((const char *[]){"det", __VA_ARGS__, NULL})

static det_status parse(const char **words, struct cli_invocation *in)
{
    int count = 0;

    while (words[count])
        count++;
    return cli_parse(count, (char **)(uintptr_t)words, in, &test_err);
}

static void refused(const char **words, const char *text)
{
    struct cli_invocation in;

    CHECK_EQ(parse(words, &in), DET_INVALID);
    CHECK_HAS(test_err.text, text);
    cli_invocation_done(&in);
}

TEST(a_noun_a_verb_and_arguments_make_a_command)
{
    struct cli_invocation in;

    CHECK_OK(parse(LINE("experiment", "create", "c.yaml", "."), &in));

    CHECK_STR(cli_words(&in), "experiment create");
    CHECK_EQ(in.arg_count, 2);
    CHECK_STR(in.args[0], "c.yaml");
    CHECK_STR(in.args[1], ".");
    CHECK(!cli_is_role(&in));
    cli_invocation_done(&in);
}

TEST(short_names_of_nouns_and_verbs_mean_the_same)
{
    struct cli_invocation in;

    CHECK_OK(parse(LINE("e", "ls"), &in));
    CHECK_STR(cli_words(&in), "experiment list");
    cli_invocation_done(&in);
    CHECK_OK(parse(LINE("t", "describe", "1"), &in));
    CHECK_STR(cli_words(&in), "trial describe");
    cli_invocation_done(&in);
}

TEST(a_verb_may_have_two_words)
{
    struct cli_invocation in;

    CHECK_OK(parse(LINE("e", "label", "add", "3", "good"), &in));

    CHECK_STR(cli_words(&in), "experiment label add");
    CHECK_STR(in.args[1], "good");
    cli_invocation_done(&in);
}

TEST(options_mix_with_arguments_in_every_spelling)
{
    const struct create_options *options;
    struct cli_invocation in;

    CHECK_OK(parse(LINE("-m", "host:1", "e", "create", "-f", "c.yaml", "--config",
                        "a=1", "--config=b=[1,2]", ".", "--project-id", "7", "-uann"),
                   &in));

    options = in.options;
    CHECK(options->follow && !options->paused);
    CHECK_EQ(options->project_id, 7);
    CHECK_EQ(options->config.count, 2);
    CHECK_STR(options->config.at[0], "a=1");
    CHECK_STR(options->config.at[1], "b=[1,2]");
    CHECK_STR(in.globals.master, "host:1");
    CHECK_STR(in.globals.user, "ann");
    CHECK_EQ(in.arg_count, 2);
    cli_invocation_done(&in);
}

TEST(numbers_that_were_not_given_are_unset_or_have_their_default)
{
    const struct log_options *logs;
    const struct serve_options *serve;
    const struct report_options *report;
    struct cli_invocation in;

    CHECK_OK(parse(LINE("e", "logs", "1"), &in));
    logs = in.options;
    CHECK_EQ(logs->tail, CLI_UNSET);
    cli_invocation_done(&in);
    CHECK_OK(parse(LINE("serve"), &in));
    serve = in.options;
    CHECK_EQ(serve->port, 8080);
    CHECK(!serve->has_port);
    CHECK_STR(serve->host, "127.0.0.1");
    CHECK_EQ(serve->slots, CLI_UNSET);
    CHECK_NULL(serve->data_dir);
    cli_invocation_done(&in);
    CHECK_OK(parse(LINE("report", "loss=-1"), &in));
    report = in.options;
    CHECK(isnan(report->progress));
    cli_invocation_done(&in);
}

TEST(the_roles_are_told_apart)
{
    const struct serve_options *serve;
    struct cli_invocation in;

    CHECK_OK(parse(LINE("serve", "--port", "0", "--background", "--slots", "4"), &in));
    serve = in.options;
    CHECK(cli_is_role(&in));
    CHECK(serve->has_port && serve->background && !serve->no_agent);
    CHECK_EQ(serve->port, 0);
    CHECK_EQ(serve->slots, 4);
    cli_invocation_done(&in);
    CHECK_OK(parse(LINE("agent", "run", "--master", "http://h", "--id", "a"), &in));
    CHECK_STR(cli_words(&in), "agent run");
    CHECK_STR(in.globals.master, "http://h");
    CHECK(cli_is_role(&in));
    cli_invocation_done(&in);
    CHECK_OK(parse(LINE("task", "run", "/x"), &in));
    CHECK(cli_is_role(&in));
    cli_invocation_done(&in);
}

TEST(lists_of_values_are_split_at_commas)
{
    const struct log_options *options;
    struct cli_invocation in;

    CHECK_OK(parse(LINE("t", "logs", "1", "--rank-id", "0,1", "--rank-id=-1"), &in));

    options = in.options;
    CHECK_EQ(options->rank_ids.count, 3);
    CHECK_STR(options->rank_ids.at[1], "1");
    CHECK_STR(options->rank_ids.at[2], "-1");
    cli_invocation_done(&in);
}

TEST(a_choice_is_taken_in_any_case_and_checked)
{
    const struct log_options *options;
    struct cli_invocation in;

    CHECK_OK(parse(LINE("t", "logs", "1", "--level", "warning"), &in));
    options = in.options;
    CHECK_STR(options->level, "WARNING");
    cli_invocation_done(&in);
    refused(LINE("t", "logs", "1", "--level", "loud"), "expected one of TRACE, DEBUG");
}

TEST(after_two_dashes_everything_is_an_argument)
{
    struct cli_invocation in;

    CHECK_OK(parse(LINE("e", "set", "name", "1", "--", "--odd"), &in));

    CHECK_STR(in.args[1], "--odd");
    cli_invocation_done(&in);
}

TEST(a_negative_number_is_an_argument)
{
    struct cli_invocation in;

    CHECK_OK(parse(LINE("e", "set", "weight", "1", "-2"), &in));

    CHECK_STR(in.args[1], "-2");
    cli_invocation_done(&in);
}

TEST(slips_get_a_suggestion)
{
    refused(LINE("experimnt"),
            "there is no command 'experimnt'\nhint: did you mean 'det "
            "experiment'?");
    refused(LINE("xyzzy"), "'det --help' lists all commands");
    refused(LINE("e", "creat"), "did you mean 'det experiment create'?");
    refused(LINE("e", "label", "ad"), "did you mean 'det experiment label add'?");
    refused(LINE("e", "list", "--jsno"), "did you mean '--json'?");
    refused(LINE("e", "create", "--folow"), "did you mean '--follow'?");
    refused(LINE("e", "list", "-x"), "'det experiment list' has no option '-x'");
    refused(LINE("--verison"), "did you mean '--version'?");
}

TEST(words_of_other_programs_get_a_suggestion)
{
    refused(LINE("e", "resume"), "did you mean 'det experiment activate'?");
    refused(LINE("e", "stop"), "did you mean 'det experiment cancel'?");
    refused(LINE("task", "stop"), "did you mean 'det task kill'?");
    refused(LINE("e", "rm"), "did you mean 'det experiment delete'?");
    refused(LINE("checkpoint", "resume"), "'det checkpoint --help' lists");
}

TEST(a_suggestion_is_never_the_opposite)
{
    refused(LINE("task", "unpaus"), "did you mean 'det task unpause'?");
    refused(LINE("checkpoint", "undelete"), "'det checkpoint --help' lists");
}

TEST(the_short_forms_of_determined_work)
{
    static const struct {
        const char *noun, *verb, *words;
    } rows[] = {
        {"a", "list", "agent list"},       {"s", "list", "slot list"},
        {"j", "list", "job list"},         {"u", "list", "user list"},
        {"ug", "list", "user-group list"},
    };
    struct cli_invocation in;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_OK(parse(LINE(rows[i].noun, rows[i].verb), &in));
        CHECK_STR(cli_words(&in), rows[i].words);
        cli_invocation_done(&in);
    }
    CHECK_OK(parse(LINE("e", "unpause", "3"), &in));
    CHECK_STR(cli_words(&in), "experiment activate");
    cli_invocation_done(&in);
    CHECK_OK(parse(LINE("-v"), &in));
    CHECK(in.globals.wants_version);
    cli_invocation_done(&in);
}

TEST(a_command_of_determined_that_is_not_built_names_another)
{
    struct cli_invocation in;

    for (const struct cli_missing *row = cli_missing; row->words; row++) {
        char noun[64], option[64];
        char *verb;

        snprintf(noun, sizeof(noun), "%s", row->words);
        snprintf(option, sizeof(option), "--%s", row->option ? row->option : "json");
        verb = strchr(noun, ' ');
        if (verb)
            *verb++ = '\0';
        CHECK_EQ(parse(LINE(noun, verb ? verb : "list", option), &in), DET_UNSUPPORTED);
        CHECK_HAS(test_err.text, "is not built");
        CHECK_HAS(test_err.text, row->instead);
        cli_invocation_done(&in);
    }
}

TEST(too_few_and_too_many_arguments_are_named)
{
    refused(LINE("e", "config"), "'det experiment config' needs ID");
    refused(LINE("e", "kill"), "'det experiment kill' needs ID");
    refused(LINE("e", "label", "add", "3"), "needs LABEL");
    refused(LINE("e", "create", "a", "b", "c"), "unexpected argument 'c'");
    refused(LINE("version", "x"), "unexpected argument 'x'");
}

TEST(a_uuid_may_be_written_in_capitals)
{
    struct cli_invocation in;

    CHECK_OK(parse(
        LINE("checkpoint", "describe", "52CBF7D0-94EF-4DDB-B1A9-35F047B1F691"), &in));
    CHECK_STR(in.args[0], "52cbf7d0-94ef-4ddb-b1a9-35f047b1f691");
    cli_invocation_done(&in);
    CHECK_OK(
        parse(LINE("e", "create", "C", "52CBF7D0-94EF-4DDB-B1A9-35F047B1F691"), &in));
    CHECK_STR(in.args[1], "52CBF7D0-94EF-4DDB-B1A9-35F047B1F691"); /* a folder */
    cli_invocation_done(&in);
}

TEST(values_that_make_no_sense_are_refused)
{
    refused(LINE("e", "logs", "1", "--tail", "x"),
            "--tail is 'x'; expected a whole number >= 1");
    refused(LINE("e", "logs", "1", "--tail", "0"), "expected a whole number >= 1");
    refused(LINE("e", "logs", "1", "--tail", "99999999999"),
            "--tail is '99999999999'; expected at most 1000000000");
    refused(LINE("e", "logs", "1", "--tail", "99999999999999999999"),
            "expected at most 1000000000");
    refused(LINE("report", "--steps", "99999999999999999999"),
            "expected at most 9223372036854775807");
    refused(LINE("report", "--steps", "-99999999999999999999"), "whole number >= 0");
    refused(LINE("serve", "--port", "65536"), "from 0 to 65535");
    refused(LINE("e", "logs", "1", "--tail"), "--tail needs a value: N");
    refused(LINE("e", "list", "--all=yes"), "--all takes no value");
    refused(LINE("report", "--progress", "half"), "expected a number");
    refused(LINE("e", "list", "--json", "--csv"), "cannot be used together");
    refused(LINE("e", "kill", "1", "--json"), "has no option '--json'");
    refused(LINE("e", "config", "1", "--csv"), "has no option '--csv'");
}

TEST(help_is_wanted_wherever_it_is_asked_for)
{
    static const char *const lines[][6] = {
        {"det"},
        {"det", "--help"},
        {"det", "help"},
        {"det", "e"},
        {"det", "e", "-h"},
        {"det", "help", "e", "create"},
        {"det", "e", "create", "--help"},
        {"det", "serve", "--help"},
    };

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct cli_invocation in;

        CHECK_OK(parse((const char **)(uintptr_t)lines[i], &in));
        CHECK(in.globals.wants_help);
        cli_invocation_done(&in);
    }
}

TEST(every_row_is_whole)
{
    for (const struct cli_command *c = cli_commands; c->noun; c++) {
        CHECK(c->summary && *c->summary);
        CHECK(c->summary[strlen(c->summary) - 1] != '.');
        CHECK(c->synopsis != NULL);
        CHECK(!c->run == !!(c->flags & CLI_ROLE));
        CHECK(!c->opts == !c->opts_size);
        for (const struct cli_opt *opt = c->opts; opt && opt->kind; opt++) {
            CHECK(opt->offset < c->opts_size);
            CHECK((opt->kind == OPT_FLAG) == !opt->value);
            CHECK(opt->help && strlen(opt->help) <= 70);
            for (const struct cli_opt *other = c->opts; other != opt; other++)
                CHECK(strcmp(other->name, opt->name) &&
                      (!opt->letter || opt->letter != other->letter));
        }
    }
}

TEST(every_command_is_reached_by_its_own_words)
{
    for (const struct cli_command *c = cli_commands; c->noun; c++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        char *words = arena_strdup(&mem, cli_command_words(c, &mem));
        const char *line[8] = {"det"};
        struct cli_invocation in;
        size_t count = 1;

        for (char *word = words; word; count++) {
            char *space = strchr(word, ' ');

            if (space)
                *space = '\0';
            line[count] = word;
            word = space ? space + 1 : NULL;
        }
        line[count] = "--help";
        CHECK_OK(parse(line, &in));
        CHECK(in.command == c);
        cli_invocation_done(&in);
    }
}

TEST(without_memory_parsing_fails_in_one_piece)
{
    EACH_ALLOCATION_FAILS() {
        struct cli_invocation in;
        det_status st = parse(LINE("e", "logs", "1", "--rank-id", "1,2"), &in);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        cli_invocation_done(&in);
    }
}
