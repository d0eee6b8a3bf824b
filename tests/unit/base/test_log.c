/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <unistd.h>

#include "tests/support/test.h"

/* Lines go into a pipe that is read back. */
struct capture {
    int fds[2];
    char text[16384];
};

static void capture_begin(struct capture *capture, enum log_level level)
{
    CHECK_EQ(pipe2(capture->fds, O_CLOEXEC | O_NONBLOCK), 0);
    log_setup(level, capture->fds[1]);
}

static const char *capture_end(struct capture *capture)
{
    ssize_t got = read(capture->fds[0], capture->text, sizeof(capture->text) - 1);

    log_setup(LOG_INFO, STDERR_FILENO);
    close(capture->fds[0]);
    close(capture->fds[1]);
    capture->text[got > 0 ? got : 0] = '\0';
    return capture->text;
}

static void check_like(const char *text, const char *pattern)
{
    regex_t regex;

    CHECK_EQ(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&regex, text, 0, NULL, 0))
        fail_msg("'%s' is not like '%s'", text, pattern);
    regfree(&regex);
}

#define TIME "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z "

TEST(a_line_has_time_level_and_sentence)
{
    struct capture capture;

    capture_begin(&capture, LOG_INFO);
    log_warn("agent %s lost", "a1");
    check_like(capture_end(&capture), "^" TIME "WARN  agent a1 lost\n$");
}

static void add_to_text(void *arg, enum log_level level, int64_t time_us,
                        const char *text, size_t len)
{
    char *out = arg;

    CHECK_EQ(level, LOG_WARN);
    CHECK(time_us > 0);
    memcpy(out, text, len);
    out[len] = '\0';
}

TEST(a_tap_gets_each_line_also_if_nothing_is_written)
{
    char text[256] = "";
    const struct log_tap tap = {add_to_text, text};

    log_setup(LOG_WARN, -1);
    log_set_tap(&tap);
    {
        LOG_SCOPE("trial", 7);
        log_warn("agent %s lost\nat last", "a1");
        CHECK_STR(text, "agent a1 lost at last trial=7");
        log_info("quiet");
    }
    log_set_tap(NULL);
    log_warn("nobody listens");
    CHECK_STR(text, "agent a1 lost at last trial=7");
    log_setup(LOG_INFO, STDERR_FILENO);
}

TEST(what_is_below_the_level_is_not_written)
{
    struct capture capture;

    capture_begin(&capture, LOG_WARN);
    log_info("quiet");
    log_debug("quieter");
    log_trace("quietest");
    log_error("loud");
    check_like(capture_end(&capture), "^" TIME "ERROR loud\n$");
}

TEST(a_closed_mouth_says_nothing)
{
    struct capture capture;

    capture_begin(&capture, LOG_TRACE);
    log_setup(LOG_TRACE, -1);
    log_error("nobody hears it");
    CHECK_STR(capture_end(&capture), "");
}

TEST(an_event_is_one_line_whatever_it_quotes)
{
    struct capture capture;

    capture_begin(&capture, LOG_INFO);
    log_info("a\nb\tc\x1b[31md");
    check_like(capture_end(&capture), "INFO  a b c \\[31md\n$");
}

TEST(a_long_line_is_cut_and_shows_it)
{
    struct capture capture;
    const char *text;

    capture_begin(&capture, LOG_INFO);
    log_info("%9000d", 1);
    text = capture_end(&capture);
    CHECK(strlen(text) < 4200);
    check_like(text, "  \\.\\.\\.\n$");
}

TEST(a_log_that_cannot_be_written_disturbs_nobody)
{
    struct capture capture;

    capture_begin(&capture, LOG_INFO);
    close(capture.fds[0]);
    close(capture.fds[1]);
    errno = ENOENT;
    log_info("into the void");
    CHECK_EQ(errno, ENOENT);
    log_setup(LOG_INFO, STDERR_FILENO);
}

TEST(scopes_are_fields_of_every_line_until_their_block_ends)
{
    struct capture capture;

    capture_begin(&capture, LOG_INFO);
    {
        LOG_SCOPE("trial", 7);
        LOG_SCOPE_TEXT("agent", "a 1=\"x\"\n");
        LOG_SCOPE_AT(id, "req", "29c3", 0x4f);
        log_info("inside");
    }
    log_info("outside");
    check_like(capture_end(&capture),
               "INFO  inside trial=7 agent=\"a 1=\\\\\"x\\\\\" \" req=29c3-4f\n" TIME
               "INFO  outside\n$");
}

TEST(a_terminal_gets_colours)
{
    struct capture capture;

    capture_begin(&capture, LOG_INFO);
    log_set_format(LOG_TEXT, "test", true);
    log_error("red");
    log_set_format(LOG_TEXT, "test", false);
    check_like(capture_end(&capture), "Z \033\\[31mERROR\033\\[0m red\n$");
}

TEST(levels_have_names)
{
    CHECK_EQ(log_level_named("trace"), LOG_TRACE);
    CHECK_EQ(log_level_named("error"), LOG_ERROR);
    CHECK_EQ(log_level_named("loud"), LOG_INFO);
}
