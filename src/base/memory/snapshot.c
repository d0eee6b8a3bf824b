/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/snapshot.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fault.h"

enum { HUGE_PAGE = 2 << 20, PAGE = 4096, TEXT = 8192, PATH = 4096 };

static const char groups[] = "/sys/fs/cgroup";

/* ---- free memory ----------------------------------------------------------------- */

/* The first bytes of a system file; false: it cannot be read. */
static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t got = 1;

    if (fd < 0)
        return false;
    while (len < size - 1 && got > 0) {
        got = read(fd, text + len, size - 1 - len);
        len += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    text[len] = '\0';
    return len > 0;
}

/* The number after a word at the beginning of a line; 0: not found. */
static uint64_t number_behind(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (!strncmp(at, word, len))
            return strtoull(at + len, NULL, 10);
        if (!*at)
            break;
    }
    return 0;
}

/* The free memory of a control group; the cache of inactive files counts as free. */
static uint64_t group_free(const char *dir)
{
    char path[PATH + 32], text[TEXT];
    uint64_t most, used, cached = 0;

    snprintf(path, sizeof(path), "%s/memory.max", dir);
    if (!read_text(path, text, sizeof(text)) || !strncmp(text, "max", 3))
        return UINT64_MAX;
    most = strtoull(text, NULL, 10);
    snprintf(path, sizeof(path), "%s/memory.current", dir);
    if (!read_text(path, text, sizeof(text)))
        return UINT64_MAX;
    used = strtoull(text, NULL, 10);
    snprintf(path, sizeof(path), "%s/memory.stat", dir);
    if (read_text(path, text, sizeof(text)))
        cached = number_behind(text, "inactive_file ");
    used -= MIN(used, cached);
    return most > used ? most - used : 0;
}

/* A group may use no more than the groups around it. */
static uint64_t groups_free(void)
{
    char text[TEXT], dir[PATH];
    uint64_t least = UINT64_MAX;
    char *end;

    if (!read_text("/proc/self/cgroup", text, sizeof(text)))
        return least;
    end = strstr(text, "0::/");
    if (!end)
        return least;
    end[strcspn(end, "\n")] = '\0';
    snprintf(dir, sizeof(dir), "%s%.4000s", groups, end + 3);
    for (;;) {
        uint64_t left = group_free(dir);

        least = MIN(least, left);
        end = strrchr(dir, '/');
        if (!end || (size_t)(end - dir) < sizeof(groups) - 1)
            break;
        *end = '\0';
    }
    return least;
}

uint64_t memory_free_bytes(void)
{
    char text[TEXT];
    uint64_t machine = UINT64_MAX;
    uint64_t group = groups_free();

    if (read_text("/proc/meminfo", text, sizeof(text)))
        machine = number_behind(text, "MemAvailable:") * 1024;
    return MIN(machine, group);
}

/* ---- blocks ---------------------------------------------------------------------- */

static uint64_t size_of(const struct snapshot *snapshot)
{
    return (uint64_t)snapshot->blocks.count * SNAPSHOT_BLOCK;
}

/* Mapped with a margin: the block begins where a large page does. */
static unsigned char *block_new(void)
{
    size_t len = (size_t)SNAPSHOT_BLOCK + HUGE_PAGE;
    unsigned char *map = fault_strikes(FAULT_MEMORY)
                             ? MAP_FAILED
                             : mmap(NULL, len, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t before;

    if (map == MAP_FAILED)
        return NULL;
    before = (HUGE_PAGE - (uintptr_t)map % HUGE_PAGE) % HUGE_PAGE;
    if (before)
        munmap(map, before);
    if (before < HUGE_PAGE)
        munmap(map + before + SNAPSHOT_BLOCK, HUGE_PAGE - before);
    map += before;
    (void)madvise(map, SNAPSHOT_BLOCK, MADV_HUGEPAGE);
    (void)madvise(map, SNAPSHOT_BLOCK, MADV_DONTFORK);
    return map;
}

static bool add_block(struct snapshot *snapshot)
{
    unsigned char *block = block_new();

    if (!block)
        return false;
    if (!vec_push(&snapshot->blocks, block)) {
        munmap(block, SNAPSHOT_BLOCK);
        return false;
    }
    return true;
}

/* Adds blocks until the snapshot holds `size_bytes`, as far as the limit allows. */
static bool reach_size(struct snapshot *snapshot, uint64_t size_bytes,
                       uint64_t limit_bytes)
{
    uint64_t size = size_of(snapshot);
    uint64_t free_bytes;

    if (limit_bytes && size_bytes > limit_bytes)
        return false;
    if (size_bytes <= size)
        return true;
    free_bytes = limit_bytes ? UINT64_MAX : memory_free_bytes();
    if (size_bytes - size > free_bytes / 2)
        return false;
    while (size_of(snapshot) < size_bytes)
        if (!add_block(snapshot))
            return false;
    return true;
}

bool snapshot_take(struct snapshot *snapshot, uint64_t len, uint64_t limit_bytes,
                   uint64_t *ret_offset)
{
    if (len > UINT64_MAX / 2 ||
        !reach_size(snapshot, snapshot->used + len, limit_bytes))
        return false;
    *ret_offset = snapshot->used;
    snapshot->used += len;
    return true;
}

unsigned char *snapshot_at(const struct snapshot *snapshot, uint64_t offset,
                           size_t *ret_len)
{
    size_t within = (size_t)(offset % SNAPSHOT_BLOCK);

    assert(offset < snapshot->used);
    *ret_len = SNAPSHOT_BLOCK - within;
    return snapshot->blocks.at[offset / SNAPSHOT_BLOCK] + within;
}

void snapshot_forget(struct snapshot *snapshot)
{
    snapshot->used = 0;
}

void snapshot_warm(struct snapshot *snapshot, uint64_t size_bytes, uint64_t limit_bytes)
{
    size_t from = snapshot->blocks.count;

    (void)reach_size(snapshot, size_bytes, limit_bytes);
    for (; from < snapshot->blocks.count; from++)
        for (size_t at = 0; at < SNAPSHOT_BLOCK; at += PAGE)
            *(volatile unsigned char *)(snapshot->blocks.at[from] + at) = 0;
}

void snapshot_done(struct snapshot *snapshot, bool is_child)
{
    for (size_t i = 0; !is_child && i < snapshot->blocks.count; i++)
        munmap(snapshot->blocks.at[i], SNAPSHOT_BLOCK);
    vec_done(&snapshot->blocks);
    snapshot->used = 0;
}
