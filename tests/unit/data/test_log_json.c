/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the log in JSON, read back with our parser: whatever they quote, each is one
 * object with the fields that everybody may rely on. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory/arena.h"
#include "base/rng.h"
#include "data/json/json.h"
#include "tests/support/test.h"

struct pipe {
    int fds[2];
    char text[16384];
};

static void pipe_begin(struct pipe *pipe)
{
    CHECK_EQ(pipe2(pipe->fds, O_CLOEXEC | O_NONBLOCK), 0);
    log_setup(LOG_INFO, pipe->fds[1]);
    log_set_format(LOG_JSON, "test", false);
}

static void pipe_end(struct pipe *pipe)
{
    log_set_format(LOG_TEXT, "test", false);
    log_setup(LOG_INFO, STDERR_FILENO);
    close(pipe->fds[0]);
    close(pipe->fds[1]);
}

/* Reads one line, which must be all there is. */
static const struct json *read_line(struct pipe *pipe, struct arena *mem)
{
    ssize_t got = read(pipe->fds[0], pipe->text, sizeof(pipe->text));
    struct json *tree;

    CHECK(got > 1 && pipe->text[got - 1] == '\n');
    CHECK_NULL(memchr(pipe->text, '\n', (size_t)got - 1));
    CHECK_OK(json_parse(pipe->text, (size_t)got - 1, mem, &tree, &test_err));
    CHECK_EQ(tree->kind, JSON_OBJECT);
    CHECK_STR(json_str(json_get(tree, "process"), ""), "test");
    CHECK_EQ(strlen(json_str(json_get(tree, "time"), "")), 24);
    CHECK(json_get(tree, "message") && json_get(tree, "level"));
    return tree;
}

TEST(a_line_has_its_fields_in_order)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct pipe pipe;
    const struct json *line;

    pipe_begin(&pipe);
    {
        LOG_SCOPE("trial", 7);
        LOG_SCOPE_TEXT("agent", "a1");
        log_warn("agent %s lost", "a1");
    }
    line = read_line(&pipe, &mem);
    pipe_end(&pipe);

    CHECK_STR(json_str(json_get(line, "level"), ""), "warn");
    CHECK_STR(json_str(json_get(line, "message"), ""), "agent a1 lost");
    CHECK_EQ(json_i64(json_get(line, "trial"), 0), 7);
    CHECK_STR(json_str(json_get(line, "agent"), ""), "a1");
    CHECK_EQ(strncmp(pipe.text, "{\"time\":\"", 9), 0);
}

TEST(hostile_text_stays_inside_its_field)
{
    static const char *const texts[] = {
        "\n\r\t\x01\x1f\x7f",
        "\",\"level\":\"error\"}\n{\"a\":\"",
        "\\",
        "\\u0041 \\\" \\",
        "\x80\xff\xc0\xaf\xed\xa0\x80\xf5\x80\x80\x80\xe2\x82",
        "\xe2\x82\xac \xf0\x9f\x98\x80 \xc3\xa9",
        "",
    };
    struct pipe pipe;

    pipe_begin(&pipe);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        LOG_SCOPE_TEXT("value", texts[i]);
        const struct json *line;

        log_info("%s", texts[i]);
        line = read_line(&pipe, &mem);
        CHECK_STR(json_str(json_get(line, "level"), ""), "info");
        CHECK_STR(json_str(json_get(line, "message"), "?"),
                  json_str(json_get(line, "value"), "!"));
        if (i < 4 || i == 5) /* valid UTF-8 comes back unchanged */
            CHECK_STR(json_str(json_get(line, "message"), "?"), texts[i]);
    }
    pipe_end(&pipe);
}

TEST(random_bytes_of_any_length_make_valid_lines)
{
    struct rng rng;
    struct pipe pipe;

    rng_seed(&rng, 17);
    pipe_begin(&pipe);
    for (int round = 0; round < 2000; round++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        size_t len = rng_upto(&rng, round % 10 ? 100 : 5000);
        char *text = arena_alloc(&mem, len + 1);

        for (size_t i = 0; i < len; i++)
            text[i] = (char)(1 + rng_upto(&rng, 254));
        text[len] = '\0';
        {
            LOG_SCOPE_TEXT("a", text);
            LOG_SCOPE_TEXT("b", text);
            LOG_SCOPE_TEXT("c", text);
            LOG_SCOPE("d", round);
            log_info("%s", text);
        }
        (void)read_line(&pipe, &mem);
    }
    pipe_end(&pipe);
}

TEST(a_long_sentence_is_cut_and_its_scopes_stay)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const struct json *line;
    const char *message;
    struct pipe pipe;

    pipe_begin(&pipe);
    {
        LOG_SCOPE("trial", 7);
        log_info("%09000d", 1);
    }
    line = read_line(&pipe, &mem);
    pipe_end(&pipe);

    message = json_str(json_get(line, "message"), "");
    CHECK_STR(message + strlen(message) - 4, "0...");
    CHECK_EQ(json_i64(json_get(line, "trial"), 0), 7);
}
