/* SPDX-License-Identifier: Apache-2.0 */
/* route_page.c - the table of routes as an HTML page, at /docs/calls.
 *
 * One file without scripts: a contents line, a section per resource (the first part of
 * the path after the version), one line per call, which opens to show its input and
 * reply.  Light or dark, as the reader's system prefers. */
#include "wire/route_page.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "model/field.h"
#include "wire/bodies.h"
#include "wire/route.h"

#define API "/api/v1/"

static const char page_head[] =
    "<!doctype html>\n<html lang=en><meta charset=utf-8>\n"
    "<meta name=viewport content='width=device-width,initial-scale=1'>\n"
    "<meta name=color-scheme content='light dark'>\n"
    "<title>det: the calls of this master</title>\n<style>\n"
    ":root{--back:#fff;--card:#f6f8fa;--line:#d8dee4;--text:#1f2328;--dim:#59636e;"
    "--link:#0550ae;--get:#0550ae;--post:#116329;--put:#7d4e00;--delete:#a40e26}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#0d1117;--card:#161b22;"
    "--line:#30363d;--text:#e6edf3;--dim:#9198a1;--link:#6cb6ff;--get:#6cb6ff;"
    "--post:#57c765;--put:#daaa3f;--delete:#ff938a}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:64rem;padding:1.5rem 1rem "
    "4rem;background:var(--back);"
    "color:var(--text);font:16px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.6rem;margin:.5rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem}\n"
    "a{color:var(--link)}nav a{margin-right:.8rem;white-space:nowrap}\n"
    "code{font:.875em/1.4 ui-monospace,monospace;overflow-wrap:anywhere}\n"
    "details{border:1px solid var(--line);border-bottom-width:0}\n"
    "details:last-of-type{border-bottom-width:1px}\n"
    "details[open]{background:var(--card)}\n"
    "summary{display:flex;flex-wrap:wrap;gap:.2rem .8rem;align-items:baseline;"
    "padding:.4rem .8rem;cursor:pointer;list-style:none}\n"
    "summary::-webkit-details-marker{display:none}\n"
    "summary:hover{background:var(--card)}\n"
    "summary b{width:4.2rem;font-size:.8rem;letter-spacing:.03em}\n"
    ".GET{color:var(--get)}.POST{color:var(--post)}.PUT,.PATCH{color:var(--put)}"
    ".DELETE{color:var(--delete)}\n"
    ".what{flex:1 1 14rem;text-align:right;color:var(--dim)}\n"
    "dl{display:grid;grid-template-columns:minmax(6rem,max-content) 1fr;gap:.2rem 1rem;"
    "margin:0;padding:.3rem .8rem .8rem 5.8rem}\n"
    "dt{color:var(--dim)}dd{margin:0}i{color:var(--dim)}\n"
    "@media(max-width:40rem){dl{padding-left:.8rem}.what{flex-basis:100%;"
    "text-align:left}}\n"
    "</style>\n"
    "<h1>The calls of this master</h1>\n"
    "<p>det " DET_VERSION ". The same for programs: "
    "<a href=/docs/openapi.json>openapi.json</a>. "
    "<code>POST /api/v1/auth/login</code> gives a token; send it as "
    "<code>Authorization: Bearer TOKEN</code>.</p>\n";

static void put_text(struct buf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            buf_puts(out, "&amp;");
            break;
        case '<':
            buf_puts(out, "&lt;");
            break;
        case '"':
            buf_puts(out, "&quot;");
            break;
        default:
            buf_putc(out, *text);
        }
    }
}

/* ---- sections -------------------------------------------------------------------- */

/* The resource of the call: "experiments" of "/api/v1/experiments/{id}".  A path that is
 * not below the version is about the master. */
static const char *topic_of(const struct route *route, size_t *ret_len)
{
    const char *topic = "master";

    if (!strncmp(route->path, API, strlen(API)))
        topic = route->path + strlen(API);
    *ret_len = strcspn(topic, "/");
    return topic;
}

static bool has_same_topic(const struct route *a, const struct route *b)
{
    size_t len, other_len;
    const char *topic = topic_of(a, &len);
    const char *other = topic_of(b, &other_len);

    return len == other_len && !memcmp(topic, other, len);
}

static bool is_first_of_topic(size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (has_same_topic(&routes[i], &routes[at]))
            return false;
    return true;
}

/* ---- calls ----------------------------------------------------------------------- */

static void put_fields(struct buf *out, const char *mark, const struct field *fields)
{
    for (; fields && fields->name; fields++) {
        char name[FIELD_NAME];

        field_wire_name(fields->name, name);
        buf_printf(out, "<dt>%s<code>%s</code><dd>", mark, name);
        put_text(out, fields->help ? fields->help : "");
        buf_putc(out, '\n');
    }
}

static void put_call(struct buf *out, const struct route *r)
{
    static const char *const who[] = {
        [ROUTE_OPEN] = "anybody",
        [ROUTE_USER] = "a user",
        [ROUTE_PERSON] = "a user with a session, not an access token or a task",
        [ROUTE_SELF] = "the user itself, or an administrator",
        [ROUTE_OWNER] = "its owner, or an administrator",
        [ROUTE_ADMIN] = "an administrator",
        [ROUTE_SUPERVISOR] = "the supervisor of the task",
        [ROUTE_STAND_IN] = "the supervisor of the task, or its agent",
        [ROUTE_CLOSING] = "the supervisor of the task, as its last call",
        [ROUTE_AGENT] = "an agent",
    };
    const char *method = route_method_names[r->method];

    buf_printf(out, "<details><summary><b class=%s>%s</b><code>%s</code>", method,
               method, r->path);
    buf_puts(out, "<span class=what>");
    put_text(out, r->summary);
    buf_puts(out, "</span></summary>\n<dl>");
    put_fields(out, "?", r->query);
    if (r->body == bytes_body_fields)
        buf_puts(out, "<dt>bytes<dd>a head and records, as the guide draws them\n");
    else
        put_fields(out, "", r->body);
    buf_printf(out, "<dt>gives<dd>");
    put_text(out, r->reply);
    buf_printf(out, "\n<dt>for<dd>%s</dl></details>\n", who[r->who]);
}

static void put_section(struct buf *out, size_t first)
{
    size_t len;
    const char *topic = topic_of(&routes[first], &len);

    buf_printf(out, "<section><h2 id=%.*s>%.*s</h2>\n", (int)len, topic, (int)len,
               topic);
    for (size_t i = first; i < ROUTE_COUNT; i++)
        if (has_same_topic(&routes[i], &routes[first]))
            put_call(out, &routes[i]);
    buf_puts(out, "</section>\n");
}

void route_page_write(struct buf *out)
{
    buf_puts(out, page_head);
    buf_puts(out, "<nav>");
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        size_t len;
        const char *topic = topic_of(&routes[i], &len);

        if (is_first_of_topic(i))
            buf_printf(out, "<a href=#%.*s>%.*s</a> ", (int)len, topic, (int)len,
                       topic);
    }
    buf_puts(out, "</nav>\n");
    for (size_t i = 0; i < ROUTE_COUNT; i++)
        if (is_first_of_topic(i))
            put_section(out, i);
}
