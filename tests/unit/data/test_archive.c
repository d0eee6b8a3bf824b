/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/archive/archive.h"
#include "tests/support/test.h"

struct place {
    char path[64]; /* a fresh folder */
    char inner[80];
};

static struct place place_new(void)
{
    struct place place = {.path = "/tmp/det-archive-XXXXXX"};

    CHECK(mkdtemp(place.path) != NULL);
    snprintf(place.inner, sizeof(place.inner), "%s/in", place.path);
    CHECK_EQ(mkdir(place.inner, 0700), 0);
    return place;
}

static void place_done(struct place *place)
{
    CHECK_OK(io_remove_tree(io_system(), place->path, &test_err));
}

/* How many names there are in a folder. */
static size_t name_count(const char *path)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    const char **names;
    size_t count = 0;

    CHECK_OK(io_list(io_system(), path, &mem, &names, &test_err));
    while (names[count])
        count++;
    return count;
}

static void check_file(const struct place *place, const char *name, const char *text)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", place->inner, name);
    CHECK_OK(io_read_file(io_system(), path, &bytes, &test_err));
    CHECK_STR(bytes.data, text);
}

/* ---- tar files by hand, since our own writer refuses what is to be refused ------- */

static void put_octal(char *field, size_t size, uint64_t value)
{
    snprintf(field, size, "%0*llo", (int)size - 1, (unsigned long long)value);
}

static void put_entry(struct buf *tar, char type, const char *path, const char *target,
                      const char *text)
{
    char head[512] = {0};
    size_t len = text ? strlen(text) : 0;
    unsigned sum = 0;

    snprintf(head, 100, "%s", path);
    put_octal(head + 100, 8, type == '5' ? 0755 : 06755);
    put_octal(head + 108, 8, 12345);
    put_octal(head + 116, 8, 12345);
    put_octal(head + 124, 12, len);
    put_octal(head + 136, 12, 1000000000);
    memset(head + 148, ' ', 8);
    head[156] = type;
    snprintf(head + 157, 100, "%s", target ? target : "");
    memcpy(head + 257, "ustar\00000", 8);
    for (size_t i = 0; i < sizeof(head); i++)
        sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
    buf_add(tar, head, sizeof(head));
    memset(head, 0, sizeof(head));
    if (len) {
        memcpy(head, text, len);
        buf_add(tar, head, sizeof(head));
    }
}

static void put_end(struct buf *tar)
{
    char zeros[1024] = {0};

    buf_add(tar, zeros, sizeof(zeros));
}

/* A good file first, so that "nothing is unpacked" can be seen. */
static void check_refused(char type, const char *path, const char *target,
                          const char *sentence)
{
    CLEANUP(place_done) struct place place = place_new();
    CLEANUP(buf_done) struct buf tar = BUF_INIT;
    struct err err = {0};

    put_entry(&tar, '0', "good", NULL, "good");
    put_entry(&tar, type, path, target, NULL);
    put_end(&tar);

    CHECK_EQ(archive_unpack(tar.data, tar.len, place.inner, &err), DET_INVALID);
    CHECK_HAS(err.text, sentence);
    CHECK_EQ(name_count(place.inner), 0);
    CHECK_EQ(name_count(place.path), 1);
}

static void add(struct archive_writer *writer, const char *path, const char *text)
{
    struct archive_entry_in entry = {.path = path, .mode = 0640, .modified_s = 1000};

    entry.bytes = text;
    entry.size_bytes = strlen(text);
    CHECK_OK(archive_add(writer, &entry, &test_err));
}

static void pack(struct buf *tgz)
{
    struct archive_entry_in folder = {.path = "dir", .is_directory = 1, .mode = 0755};
    struct archive_writer *writer = NULL;

    CHECK_OK(archive_writer_new(ARCHIVE_TGZ, &writer, &test_err));
    CHECK_OK(archive_add(writer, &folder, &test_err));
    add(writer, "dir/a.txt", "hello");
    add(writer, "./b", "");
    add(writer, "\xC3\xA4/deep/er", "\xC3\xA4");
    add(writer,
        "a-name-of-more-than-a-hundred-characters/0123456789012345678901234567890"
        "123456789012345678901234567890123456789",
        "long");
    CHECK_OK(archive_finish(writer, tgz, &test_err));
    archive_writer_free(writer);
}

TEST(what_was_packed_is_unpacked)
{
    CLEANUP(place_done) struct place place = place_new();
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;
    struct stat st;
    char path[512];

    pack(&tgz);
    CHECK_OK(archive_unpack(tgz.data, tgz.len, place.inner, &test_err));

    check_file(&place, "dir/a.txt", "hello");
    check_file(&place, "b", "");
    check_file(&place, "\xC3\xA4/deep/er", "\xC3\xA4");
    snprintf(path, sizeof(path), "%s/dir/a.txt", place.inner);
    CHECK_EQ(stat(path, &st), 0);
    CHECK_EQ(st.st_mode & 07777, 0640);
    CHECK_EQ(st.st_mtime, 1000);
}

TEST(the_same_entries_give_the_same_bytes)
{
    CLEANUP(buf_done) struct buf a = BUF_INIT;
    CLEANUP(buf_done) struct buf b = BUF_INIT;

    pack(&a);
    pack(&b);

    CHECK_EQ(a.len, b.len);
    CHECK_EQ(memcmp(a.data, b.data, a.len), 0);
    CHECK_EQ(memcmp(a.data, "\x1f\x8b", 2), 0);
}

TEST(unpacking_twice_replaces_what_is_there)
{
    CLEANUP(place_done) struct place place = place_new();
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;

    pack(&tgz);
    CHECK_OK(archive_unpack(tgz.data, tgz.len, place.inner, &test_err));
    CHECK_OK(archive_unpack(tgz.data, tgz.len, place.inner, &test_err));

    check_file(&place, "dir/a.txt", "hello");
}

TEST(an_empty_archive_unpacks_to_nothing)
{
    CLEANUP(place_done) struct place place = place_new();
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;
    struct archive_writer *writer = NULL;

    CHECK_OK(archive_writer_new(ARCHIVE_TGZ, &writer, &test_err));
    CHECK_OK(archive_finish(writer, &tgz, &test_err));
    archive_writer_free(writer);
    CHECK_OK(archive_unpack(tgz.data, tgz.len, place.inner, &test_err));

    CHECK_EQ(name_count(place.inner), 0);
}

TEST(the_writer_refuses_paths_that_escape_and_remembers)
{
    struct archive_entry_in bad = {.path = "../x", .mode = 0600};
    struct archive_entry_in good = {.path = "x", .mode = 0600};
    struct archive_writer *writer = NULL;
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;
    struct err err = {0};

    CHECK_OK(archive_writer_new(ARCHIVE_TGZ, &writer, &test_err));
    CHECK_EQ(archive_add(writer, &bad, &err), DET_INVALID);
    CHECK_HAS(err.text, "'../x' leads out");
    CHECK_EQ(archive_add(writer, &good, NULL), DET_INVALID);
    CHECK_EQ(archive_finish(writer, &tgz, NULL), DET_INVALID);
    CHECK_EQ(tgz.len, 0);
    archive_writer_free(writer);
    archive_writer_free(NULL);
}

TEST(entries_that_escape_are_refused_before_anything_is_written)
{
    check_refused('0', "../x", NULL, "'../x' in the archive leads outside");
    check_refused('0', "/tmp/det-never", NULL, "leads outside");
    check_refused('0', "a/../../x", NULL, "leads outside");
    check_refused('5', "..", NULL, "leads outside");
}

TEST(links_that_escape_are_refused_before_anything_is_written)
{
    check_refused('2', "l", "/etc", "is a link that leads outside");
    check_refused('2', "l", "..", "is a link that leads outside");
    check_refused('2', "a/l", "../../x", "is a link that leads outside");
    check_refused('2', "a/l", "b/../../x", "is a link that leads outside");
    check_refused('2', "l", "x/..", "is a link that leads outside");
    check_refused('1', "l", "/etc/passwd", "is a link that leads outside");
    check_refused('1', "l", "../x", "is a link that leads outside");
    check_refused('1', "l", "missing", "did not come before it");
}

TEST(special_files_are_refused)
{
    check_refused('3', "d", NULL, "is neither a file, a folder nor a link");
    check_refused('4', "d", NULL, "is neither a file, a folder nor a link");
    check_refused('6', "d", NULL, "is neither a file, a folder nor a link");
}

static void check_pair_refused(char type, const char *path, const char *target,
                               const char *below)
{
    CLEANUP(place_done) struct place place = place_new();
    CLEANUP(buf_done) struct buf tar = BUF_INIT;

    put_entry(&tar, type, path, target, NULL);
    put_entry(&tar, '0', below, NULL, "x");
    put_end(&tar);

    CHECK_EQ(archive_unpack(tar.data, tar.len, place.inner, &test_err), DET_INVALID);
    CHECK_EQ(name_count(place.inner), 0);
}

TEST(nothing_is_unpacked_through_a_link_of_the_archive)
{
    check_pair_refused('2', "l", ".", "l/x");
    check_pair_refused('2', "a/l", "..", "a/l/x");
    check_pair_refused('0', "f", NULL, "f/x");
    check_pair_refused('2', "l", "f", "./l");
    check_pair_refused('5', "l", NULL, "l");
}

TEST(nothing_is_unpacked_through_a_link_that_was_there)
{
    CLEANUP(place_done) struct place place = place_new();
    CLEANUP(buf_done) struct buf tar = BUF_INIT;
    char link[100];

    snprintf(link, sizeof(link), "%s/out", place.inner);
    CHECK_EQ(symlink("..", link), 0);
    put_entry(&tar, '0', "out/x", NULL, "x");
    put_end(&tar);

    CHECK(archive_unpack(tar.data, tar.len, place.inner, &test_err) != DET_OK);
    CHECK_EQ(name_count(place.path), 1);
}

TEST(a_file_is_never_written_through_a_link_that_was_there)
{
    CLEANUP(place_done) struct place place = place_new();
    CLEANUP(buf_done) struct buf tar = BUF_INIT;
    char link[100];

    snprintf(link, sizeof(link), "%s/f", place.inner);
    CHECK_EQ(symlink("../outside", link), 0);
    put_entry(&tar, '0', "f", NULL, "x");
    put_end(&tar);

    CHECK_OK(archive_unpack(tar.data, tar.len, place.inner, &test_err));
    CHECK_EQ(name_count(place.path), 1);
    check_file(&place, "f", "x");
}

TEST(links_inside_work_and_set_id_bits_are_dropped)
{
    CLEANUP(place_done) struct place place = place_new();
    CLEANUP(buf_done) struct buf tar = BUF_INIT;
    struct stat st;
    char path[512];

    put_entry(&tar, '5', "./", NULL, NULL);
    put_entry(&tar, '0', "a/f", NULL, "x");
    put_entry(&tar, '2', "b/c/l", "../../a/f", NULL);
    put_entry(&tar, '1', "h", "a/f", NULL);
    put_end(&tar);
    CHECK_OK(archive_unpack(tar.data, tar.len, place.inner, &test_err));

    check_file(&place, "b/c/l", "x");
    check_file(&place, "h", "x");
    snprintf(path, sizeof(path), "%s/a/f", place.inner);
    CHECK_EQ(stat(path, &st), 0);
    CHECK_EQ(st.st_mode & 07777, 0755);
    CHECK_EQ(st.st_uid, geteuid());
}

TEST(damaged_archives_leave_nothing_behind)
{
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;
    struct err err = {0};

    pack(&tgz);
    for (size_t len = 0; len < tgz.len - 8; len += 7) {
        CLEANUP(place_done) struct place place = place_new();

        CHECK_EQ(archive_unpack(tgz.data, len, place.inner, &err), DET_INVALID);
        CHECK_EQ(name_count(place.inner), 0);
    }
}

TEST(a_folder_that_is_missing_is_named)
{
    struct err err = {0};

    CHECK_EQ(archive_unpack("", 0, "/nonexistent-det", &err), DET_NOT_FOUND);
    CHECK_HAS(err.text, "/nonexistent-det");
}

static det_status note_entry(void *arg, const struct archive_entry_in *entry,
                             struct err *err)
{
    (void)err;
    buf_printf(arg, "%s%s %d;", entry->path, entry->is_directory ? "/" : "",
               (int)entry->size_bytes);
    return strcmp(entry->path, "stop") ? DET_OK : DET_STATE;
}

TEST(what_lies_in_an_archive_is_listed_without_unpacking)
{
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;
    CLEANUP(buf_done) struct buf names = BUF_INIT;

    pack(&tgz);
    CHECK_OK(archive_list(tgz.data, tgz.len, note_entry, &names, &test_err));
    CHECK_HAS(names.data, "dir/ 0;dir/a.txt 5;b 0;\xC3\xA4/deep/er 2;a-name-of");
    buf_clear(&names);
    CHECK_OK(archive_list(NULL, 0, note_entry, &names, &test_err));
    CHECK_EQ(names.len, 0);
    CHECK_EQ(archive_list("nonsense", 8, note_entry, &names, &test_err), DET_INVALID);
}

TEST(a_walk_through_an_archive_ends_where_its_visitor_says)
{
    CLEANUP(buf_done) struct buf tar = BUF_INIT;
    CLEANUP(buf_done) struct buf names = BUF_INIT;

    put_entry(&tar, '0', "one", NULL, "1");
    put_entry(&tar, '0', "stop", NULL, "2");
    put_entry(&tar, '0', "three", NULL, "3");
    put_end(&tar);
    CHECK_EQ(archive_list(tar.data, tar.len, note_entry, &names, &test_err), DET_STATE);
    CHECK_STR(names.data, "one 1;stop 1;");
}

TEST(one_file_of_an_archive_is_read)
{
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf little = BUF_LIMITED(4);

    pack(&tgz);
    CHECK_OK(archive_read_file(tgz.data, tgz.len, "dir/a.txt", &text, &test_err));
    CHECK_STR(text.data, "hello");
    buf_clear(&text);
    CHECK_OK(archive_read_file(tgz.data, tgz.len, "./b", &text, &test_err));
    CHECK_EQ(text.len, 0);
    CHECK_EQ(archive_read_file(tgz.data, tgz.len, "dir", &text, &test_err),
             DET_NOT_FOUND);
    CHECK_EQ(archive_read_file(tgz.data, tgz.len, "../etc/passwd", &text, &test_err),
             DET_NOT_FOUND);
    CHECK_HAS(test_err.text, "'../etc/passwd'");
    CHECK_EQ(archive_read_file(tgz.data, tgz.len, "dir/a.txt", &little, &test_err),
             DET_TOO_LARGE);
    CHECK_EQ(archive_read_file(tgz.data, tgz.len / 2, "dir/nothing", &text, &test_err),
             DET_INVALID);
}

TEST(reading_from_an_archive_survives_every_failed_allocation)
{
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;

    pack(&tgz);
    EACH_ALLOCATION_FAILS() {
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        det_status st = archive_read_file(tgz.data, tgz.len, "dir/a.txt", &text, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
    }
}

TEST(packing_survives_every_failed_allocation)
{
    EACH_ALLOCATION_FAILS() {
        struct archive_entry_in entry = {.path = "x", .mode = 0600};
        struct archive_writer *writer = NULL;
        CLEANUP(buf_done) struct buf tgz = BUF_INIT;
        det_status st = archive_writer_new(ARCHIVE_TGZ, &writer, NULL);

        if (!st)
            st = archive_add(writer, &entry, NULL);
        if (!st)
            st = archive_finish(writer, &tgz, NULL);
        archive_writer_free(writer);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
    }
}

TEST(unpacking_survives_every_failed_allocation)
{
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;

    pack(&tgz);
    EACH_ALLOCATION_FAILS() {
        char path[] = "/tmp/det-archive-XXXXXX";
        det_status st;
        bool has_fired;

        CHECK(mkdtemp(path) != NULL);
        st = archive_unpack(tgz.data, tgz.len, path, NULL);
        has_fired = fault_fired();
        if (!has_fired)
            fault_disarm(FAULT_MEMORY); /* or it would strike the tidying up */
        CHECK_OK(io_remove_tree(io_system(), path, &test_err));
        CHECK_EQ(st, has_fired ? DET_NOMEM : DET_OK);
        if (!has_fired)
            break;
    }
}

TEST(an_archive_in_pieces_is_the_one_made_at_once)
{
    static const enum archive_format formats[] = {ARCHIVE_TGZ, ARCHIVE_TGZ_FAST,
                                                  ARCHIVE_TAR, ARCHIVE_ZIP};
    static const char text[] = "one two three four";
    const struct archive_entry_in entry = {.path = "a/b",
                                           .mode = 0644,
                                           .modified_s = 7,
                                           .bytes = text,
                                           .size_bytes = sizeof(text)};

    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        CLEANUP(buf_done) struct buf whole = BUF_INIT;
        CLEANUP(buf_done) struct buf pieces = BUF_INIT;
        struct archive_writer *writer;

        CHECK_OK(archive_writer_new(formats[i], &writer, &test_err));
        CHECK_OK(archive_add(writer, &entry, &test_err));
        CHECK_OK(archive_finish(writer, &whole, &test_err));
        archive_writer_free(writer);

        CHECK_OK(archive_writer_new(formats[i], &writer, &test_err));
        CHECK_OK(archive_begin(writer, &entry, &test_err));
        for (size_t at = 0; at < sizeof(text); at++) {
            CHECK_OK(archive_data(writer, text + at, 1, &test_err));
            CHECK_OK(archive_take(writer, &pieces, &test_err));
        }
        CHECK_EQ(archive_data(writer, "x", 1, &test_err), DET_INVALID);
        archive_writer_free(writer);

        buf_clear(&pieces);
        CHECK_OK(archive_writer_new(formats[i], &writer, &test_err));
        CHECK_OK(archive_begin(writer, &entry, &test_err));
        for (size_t at = 0; at < sizeof(text); at++) {
            CHECK_OK(archive_data(writer, text + at, 1, &test_err));
            CHECK_OK(archive_take(writer, &pieces, &test_err));
        }
        CHECK_OK(archive_finish(writer, &pieces, &test_err));
        archive_writer_free(writer);
        CHECK_EQ(pieces.len, whole.len);
        CHECK(!memcmp(pieces.data, whole.data, whole.len));
    }
}

/* Little-endian, as zip has it. */
static unsigned flags_at(const struct buf *zip, const char *magic, size_t offset)
{
    const unsigned char *at = memmem(zip->data, zip->len, magic, 4);

    CHECK(at != NULL);
    return at[offset] | (unsigned)at[offset + 1] << 8;
}

TEST(a_zip_says_which_names_are_utf8)
{
    static const struct {
        const char *path;
        bool is_utf8;
    } names[] = {
        {"weights.bin", false},
        {"gewichte-f\xc3\xbcr-\xe6\xa8\xa1\xe5\x9e\x8b", true},
        {"no-utf8-\xff\xfe", false},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        CLEANUP(buf_done) struct buf zip = BUF_INIT;
        const struct archive_entry_in entry = {
            .path = names[i].path, .mode = 0644, .bytes = "x", .size_bytes = 1};
        struct archive_writer *writer;

        CHECK_OK(archive_writer_new(ARCHIVE_ZIP, &writer, &test_err));
        CHECK_OK(archive_add(writer, &entry, &test_err));
        CHECK_OK(archive_finish(writer, &zip, &test_err));
        archive_writer_free(writer);
        CHECK(memmem(zip.data, zip.len, entry.path, strlen(entry.path)) != NULL);
        CHECK_EQ(flags_at(&zip, "PK\3\4", 6) >> 11 & 1, names[i].is_utf8);
        CHECK_EQ(flags_at(&zip, "PK\1\2", 8) >> 11 & 1, names[i].is_utf8);
    }
}
