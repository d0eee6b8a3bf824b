/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - see machine.h. */
#include "libdet/profile/machine.h"

#include <string.h>

#include "base/compiler.h"

enum { SECTOR_BYTES = 512, KB = 1024, FIELDS = 16 };

/* ---- lines and words ------------------------------------------------------------- */

struct span {
    const char *at;
    const char *end;
};

/* Returns the next complete line without its line break; false if there is none. */
static bool next_line(struct span *text, struct span *ret_line)
{
    const char *end = memchr(text->at, '\n', (size_t)(text->end - text->at));

    if (!end)
        return false;
    *ret_line = (struct span){text->at, end};
    text->at = end + 1;
    return true;
}

static bool next_word(struct span *line, struct span *ret_word)
{
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t'))
        line->at++;
    ret_word->at = line->at;
    while (line->at < line->end && *line->at != ' ' && *line->at != '\t')
        line->at++;
    ret_word->end = line->at;
    return ret_word->at < ret_word->end;
}

static size_t span_len(struct span span)
{
    return (size_t)(span.end - span.at);
}

static bool is_word(struct span word, const char *text)
{
    return span_len(word) == strlen(text) && !memcmp(word.at, text, span_len(word));
}

static bool to_number(struct span word, uint64_t *ret_number)
{
    uint64_t number = 0;

    for (const char *at = word.at; at < word.end; at++) {
        uint64_t digit = (uint64_t)(unsigned char)*at - '0';

        if (digit > 9 || number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return word.at < word.end;
}

/* Reads at least `least` and at most FIELDS numbers; ignores the rest. */
static bool read_numbers(struct span line, size_t least, uint64_t ret_numbers[FIELDS],
                         size_t *ret_count)
{
    struct span word;
    size_t count = 0;

    while (count < FIELDS && next_word(&line, &word)) {
        if (!to_number(word, &ret_numbers[count]))
            return false;
        count++;
    }
    *ret_count = count;
    return count >= least;
}

static bool multiply_u64(uint64_t number, uint64_t by, uint64_t *ret_product)
{
    *ret_product = number * by;
    return number <= UINT64_MAX / by;
}

/* ---- processors and memory ------------------------------------------------------- */

/* cpu  user nice system idle iowait irq softirq steal guest guest_nice: user and nice
 * include the guests, and old kernels have fewer fields. */
bool machine_cpu_parse(const char *text, size_t len, struct machine_cpu *ret_cpu)
{
    enum { IDLE = 3, IOWAIT = 4, LEAST = 4, PARTS = 8 };
    struct span all = {text, text + len}, line, word;
    struct machine_cpu cpu = {0};
    uint64_t field[FIELDS];
    size_t count;

    do {
        if (!next_line(&all, &line))
            return false;
    } while (!next_word(&line, &word) || !is_word(word, "cpu"));
    if (!read_numbers(line, LEAST, field, &count))
        return false;
    for (size_t i = 0; i < MIN(count, (size_t)PARTS); i++) {
        cpu.total += field[i];
        if (i != IDLE && i != IOWAIT)
            cpu.busy += field[i];
    }
    *ret_cpu = cpu;
    return true;
}

/* In the kernel, idle and iowait sometimes go backwards. */
bool machine_cpu_busy(const struct machine_cpu *before, const struct machine_cpu *after,
                      double *ret_percent)
{
    uint64_t busy, total;

    if (after->total <= before->total || after->busy < before->busy)
        return false;
    busy = after->busy - before->busy;
    total = after->total - before->total;
    *ret_percent = 100.0 * (double)MIN(busy, total) / (double)total;
    return true;
}

bool machine_memory_parse(const char *text, size_t len, uint64_t *ret_free_bytes)
{
    struct span all = {text, text + len}, line, word, value;
    bool is_found = false;
    uint64_t kb, bytes;

    while (next_line(&all, &line)) {
        bool is_available;

        if (!next_word(&line, &word) || !next_word(&line, &value))
            continue;
        is_available = is_word(word, "MemAvailable:");
        if (!is_available && !is_word(word, "MemFree:"))
            continue;
        if (!to_number(value, &kb) || !multiply_u64(kb, KB, &bytes))
            continue;
        *ret_free_bytes = bytes;
        is_found = true;
        if (is_available) /* kernels before 3.14 have only MemFree */
            break;
    }
    return is_found;
}

/* ---- devices --------------------------------------------------------------------- */

static struct machine_device *add_device(struct machine_devices *devices,
                                         struct span name)
{
    struct machine_device *device = &devices->at[devices->count];

    if (devices->count == MACHINE_DEVICES || span_len(name) >= MACHINE_NAME ||
        name.at == name.end)
        return NULL;
    memset(device, 0, sizeof(*device));
    memcpy(device->name, name.at, span_len(name));
    return device;
}

static bool is_made_of_others(const char *name)
{
    static const char *const prefixes[] = {"loop", "ram", "zram", "dm-",
                                           "md",   "sr",  "fd",   "nbd"};

    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

/* sda1 is a part of sda, nvme0n1p2 of nvme0n1. */
static bool is_part_of(const char *name, const char *disk)
{
    size_t len = strlen(disk);

    if (strncmp(name, disk, len) != 0)
        return false;
    name += len;
    if (len && disk[len - 1] >= '0' && disk[len - 1] <= '9') {
        if (*name != 'p')
            return false;
        name++;
    }
    return *name && strspn(name, "0123456789") == strlen(name);
}

static void drop_partitions(struct machine_devices *disks)
{
    size_t kept = 0;

    for (size_t i = 0; i < disks->count; i++) {
        bool is_part = false;

        /* A disk comes before its partitions. */
        for (size_t k = 0; k < kept && !is_part; k++)
            is_part = is_part_of(disks->at[i].name, disks->at[k].name);
        if (!is_part)
            disks->at[kept++] = disks->at[i];
    }
    disks->count = kept;
}

/* major minor name  reads merged sectors ms  writes merged sectors ms ... */
static bool disk_line(struct span line, struct machine_devices *disks)
{
    enum { READS = 0, READ_SECTORS = 2, WRITES = 4, WRITTEN_SECTORS = 6, LEAST = 8 };
    struct span major, minor, name;
    struct machine_device *disk;
    uint64_t field[FIELDS];
    size_t count;

    if (!next_word(&line, &major) || !next_word(&line, &minor) ||
        !next_word(&line, &name) || !read_numbers(line, LEAST, field, &count))
        return false;
    disk = add_device(disks, name);
    if (!disk || is_made_of_others(disk->name))
        return false;
    disk->counter[DISK_IOS] = field[READS] + field[WRITES];
    return multiply_u64(field[READ_SECTORS], SECTOR_BYTES,
                        &disk->counter[DISK_READ_BYTES]) &&
           multiply_u64(field[WRITTEN_SECTORS], SECTOR_BYTES,
                        &disk->counter[DISK_WRITTEN_BYTES]);
}

void machine_disks_parse(const char *text, size_t len,
                         struct machine_devices *ret_disks)
{
    struct span all = {text, text + len}, line;

    ret_disks->count = 0;
    while (next_line(&all, &line))
        ret_disks->count += disk_line(line, ret_disks);
    drop_partitions(ret_disks);
}

/* "  eth0: bytes packets errs drop fifo frame compressed multicast bytes ..."; the two
 * header lines contain no numbers.  A name may touch its first number. */
static bool net_line(struct span line, struct machine_devices *nets)
{
    enum { RECEIVED = 0, SENT = 8, LEAST = 9 };
    const char *colon = memchr(line.at, ':', span_len(line));
    struct span name = {line.at, colon};
    struct machine_device *net;
    uint64_t field[FIELDS];
    size_t count;

    if (!colon)
        return false;
    while (name.at < name.end && *name.at == ' ')
        name.at++;
    if (is_word(name, "lo") ||
        !read_numbers((struct span){colon + 1, line.end}, LEAST, field, &count))
        return false;
    net = add_device(nets, name);
    if (!net)
        return false;
    net->counter[NET_RECEIVED_BYTES] = field[RECEIVED];
    net->counter[NET_SENT_BYTES] = field[SENT];
    return true;
}

void machine_nets_parse(const char *text, size_t len, struct machine_devices *ret_nets)
{
    struct span all = {text, text + len}, line;

    ret_nets->count = 0;
    while (next_line(&all, &line))
        ret_nets->count += net_line(line, ret_nets);
}

/* ---- between two readings -------------------------------------------------------- */

/* Devices keep their order from one reading to the next, so the search starts at `at`.
 */
static const struct machine_device *find_device(const struct machine_devices *devices,
                                                const char *name, size_t at)
{
    for (size_t i = 0; i < devices->count; i++) {
        const struct machine_device *device = &devices->at[(at + i) % devices->count];

        if (!strcmp(device->name, name))
            return device;
    }
    return NULL;
}

void machine_devices_since(const struct machine_devices *before,
                           const struct machine_devices *after,
                           uint64_t ret_sum[MACHINE_COUNTERS])
{
    memset(ret_sum, 0, MACHINE_COUNTERS * sizeof(*ret_sum));
    for (size_t i = 0; i < after->count; i++) {
        const struct machine_device *now = &after->at[i];
        const struct machine_device *then = find_device(before, now->name, i);

        for (size_t k = 0; then && k < MACHINE_COUNTERS; k++)
            if (now->counter[k] >= then->counter[k])
                ret_sum[k] += now->counter[k] - then->counter[k];
    }
}
