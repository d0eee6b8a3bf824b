/* SPDX-License-Identifier: Apache-2.0 */
#include "master/request/webui_files.h"

#include <string.h>
#include <strings.h>

const struct webui_file *webui_files_find(const struct webui_files *files,
                                          const char *path)
{
    uint32_t from = 0;
    uint32_t to = files->count;

    while (from < to) {
        uint32_t at = from + (to - from) / 2;
        int order = strcmp(path, files->file[at].path);

        if (!order)
            return &files->file[at];
        if (order < 0)
            to = at;
        else
            from = at + 1;
    }
    return NULL;
}

/* ":id" matches any part; trailing slashes are ignored. */
static bool matches_path(const char *pattern, const char *path)
{
    for (;;) {
        size_t wanted = strcspn(pattern, "/");
        size_t len;

        path += strspn(path, "/");
        len = strcspn(path, "/");
        if (!wanted || !len)
            return !wanted && !len;
        if (*pattern != ':' && (wanted != len || memcmp(pattern, path, len)))
            return false;
        pattern += wanted + (pattern[wanted] == '/');
        path += len;
    }
}

const struct webui_route *webui_files_route(const struct webui_files *files,
                                            const char *path)
{
    for (uint32_t i = 0; i < files->routes; i++)
        if (matches_path(files->route[i].pattern, path))
            return &files->route[i];
    return NULL;
}

/* "gzip;q=0.5": the word matches, and its weight is not 0 ("q=0", "q=0.000"). */
static bool accepts_word(const char *item, size_t len, const char *word)
{
    size_t word_len = strlen(word);
    const char *weight;
    size_t zeros;

    if (len < word_len || strncasecmp(item, word, word_len))
        return false;
    item += word_len;
    len -= word_len;
    if (len && !memchr("; \t", *item, 3))
        return false; /* "gzipped" */
    weight = memmem(item, len, "q=", 2);
    if (!weight)
        return true;
    weight += 2;
    zeros = strspn(weight, "0.");
    return !zeros || (weight[zeros] >= '1' && weight[zeros] <= '9');
}

bool webui_files_takes_gzip(const char *accept)
{
    while (accept && *accept) {
        size_t len = strcspn(accept, ",");
        size_t blanks = strspn(accept, " \t");

        if (blanks < len && (accepts_word(accept + blanks, len - blanks, "gzip") ||
                             accepts_word(accept + blanks, len - blanks, "x-gzip")))
            return true;
        accept += len + (accept[len] == ',');
    }
    return false;
}

/* The weak comparison of GET ignores W/. */
bool webui_files_has_tag(const char *if_none_match, const char *etag)
{
    const char *tag = !strncmp(etag, "W/", 2) ? etag + 2 : etag;
    const char *at = if_none_match;

    if (!at)
        return false;
    while (*at) {
        size_t len;

        at += strspn(at, ", \t");
        if (*at == '*')
            return true;
        if (!strncmp(at, "W/", 2))
            at += 2;
        len = strcspn(at, ", \t");
        if (len && len == strlen(tag) && !memcmp(at, tag, len))
            return true;
        at += len;
    }
    return false;
}
