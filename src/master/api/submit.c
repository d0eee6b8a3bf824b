/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/submit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/archive/archive.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "data/text.h"
#include "master/api/api.h"

/* ---- names ----------------------------------------------------------------------- */

static const char *const words_a[] = {
    "plain", "quick", "calm",   "brave", "bright", "quiet", "keen",  "happy",
    "light", "noble", "gentle", "sharp", "warm",   "clear", "proud", "steady"};
static const char *const words_b[] = {
    "amber",  "azure", "coral",  "green",  "ivory",  "silver", "scarlet", "golden",
    "cobalt", "olive", "violet", "copper", "indigo", "maroon", "pearl",   "teal"};
static const char *const words_c[] = {
    "otter",  "heron", "lynx",   "finch", "ibex", "marten", "raven", "trout",
    "badger", "crane", "falcon", "hare",  "mole", "newt",   "stoat", "wren"};

void submit_make_name(const char *what, const unsigned char random[16],
                      char text[SUBMIT_NAME_SIZE])
{
    snprintf(text, SUBMIT_NAME_SIZE, "%s (%s-%s-%s)", what,
             words_a[random[0] % ARRAY_LEN(words_a)],
             words_b[random[1] % ARRAY_LEN(words_b)],
             words_c[random[2] % ARRAY_LEN(words_c)]);
}

/* ---- configurations -------------------------------------------------------------- */

enum { VARIABLE_MOST = 131072 }; /* Linux: one environment string with its final 0 */

/* Without this check the kernel would refuse to start the program, without a reason. */
det_status submit_check_size(const char *variable, const char *config, struct err *err)
{
    size_t len = strlen(variable) + 1 + strlen(config) + 1;

    if (len <= VARIABLE_MOST)
        return DET_OK;
    return err_set(
        err, DET_TOO_LARGE,
        "the complete configuration has %zu bytes; a program can be given at most %d: "
        "put large data into a file of the folder",
        strlen(config), VARIABLE_MOST);
}

/* ---- files ----------------------------------------------------------------------- */

enum { PIECE_LETTERS = 64 << 10 }; /* a multiple of 4 */

bool submit_has_files(const struct json *files)
{
    return !json_is_null(files) && (files->kind != JSON_ARRAY || files->list.count);
}

/* How many bytes base64 text has; base64_decode() checks the text itself. */
static uint64_t decoded_size(const char *text, size_t len)
{
    size_t letters = len;

    while (letters && text[letters - 1] == '=')
        letters--;
    return (uint64_t)letters / 4 * 3 + letters % 4 * 3 / 4;
}

/* In pieces: a file may be as large as all memory that one user gets. */
static det_status add_content(struct archive_writer *writer, const struct json *content,
                              struct buf *ret_tgz, struct err *err)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    det_status st = DET_OK;

    for (size_t at = 0, len; !st && at < content->string.len; at += len) {
        len = MIN(content->string.len - at, (size_t)PIECE_LETTERS);
        buf_clear(&bytes);
        st = base64_decode(&bytes, content->string.text + at, len, err);
        if (!st && at + len < content->string.len && bytes.len != PIECE_LETTERS / 4 * 3)
            st = err_set(err, DET_INVALID, "not valid base64 text, from byte %zu on",
                         at + 1);
        if (!st)
            st = archive_data(writer, bytes.data, bytes.len, err);
        if (!st)
            st = archive_take(writer, ret_tgz, err);
    }
    return st;
}

static det_status add_file(struct archive_writer *writer, const struct json *file,
                           uint64_t *total, struct buf *ret_tgz, struct err *err)
{
    const struct json *content = json_find(file, "content");
    struct archive_entry_in entry = {
        .path = json_str(json_find(file, "path"), ""),
        .is_directory = json_i64(json_find(file, "type"), '0') == '5',
        .mode = (uint32_t)json_i64(json_find(file, "mode"), 0644),
        .modified_s = json_i64(json_find(file, "mtime"), 0),
    };
    det_status st;

    if (!*entry.path)
        return err_set(err, DET_INVALID, "a file of the folder has no path");
    if (!path_is_inside(entry.path))
        return err_set(err, DET_INVALID, "the path '%s' leads out of the folder",
                       entry.path);
    if (!content || content->kind != JSON_STRING || entry.is_directory)
        content = NULL;
    if (content)
        entry.size_bytes = decoded_size(content->string.text, content->string.len);
    *total += entry.size_bytes;
    if (*total > SUBMIT_FILES_LIMIT)
        return err_set(
            err, DET_TOO_LARGE,
            "the folder is larger than %d MB; leave out what is not needed with "
            "a .detignore file",
            SUBMIT_FILES_LIMIT >> 20);
    st = archive_begin(writer, &entry, err);
    if (st || !content)
        return st;
    st = add_content(writer, content, ret_tgz, err);
    return st ? err_prefix(err, "the content of '%s'", entry.path) : DET_OK;
}

det_status submit_pack_files(const char *what, const struct json *files,
                             struct buf *ret_tgz, struct err *err)
{
    struct archive_writer *writer;
    uint64_t total = 0;
    det_status st;

    if (json_is_null(files))
        return DET_OK;
    if (files->kind != JSON_ARRAY)
        return err_set(err, DET_INVALID, "%s is %s; expected a list of files", what,
                       json_kind_name(files->kind));
    if (!files->list.count)
        return DET_OK;
    st = archive_writer_new(ARCHIVE_TGZ, &writer, err);
    if (st)
        return st;
    json_each(file, files) {
        st = add_file(writer, file, &total, ret_tgz, err);
        if (st)
            break;
    }
    if (!st)
        st = archive_finish(writer, ret_tgz, err);
    archive_writer_free(writer);
    return st;
}
