/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/env/machine.h"

#include <gnu/libc-version.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/thread/executor.h"
#include "data/json/json.h"
#include "model/field.h"

enum { PROC_MOST = 4 << 20 };

/* The text after the separator in [at, end), without blanks and quotes around it. */
static const char *cut(const char *at, const char *end, struct arena *mem)
{
    const char *value;

    at += strspn(at, " \t\"");
    while (end > at && strchr(" \t\"", end[-1]))
        end--;
    value = end > at ? arena_strndup(mem, at, (size_t)(end - at)) : "";
    return value ? value : "";
}

const char *machine_value(const char *text, const char *key, char separator,
                          struct arena *mem)
{
    size_t len = strlen(key);

    while (*text) {
        const char *end = text + strcspn(text, "\n");

        if (strncmp(text, key, len) == 0) {
            const char *at = text + len + strspn(text + len, " \t");

            if (*at == separator)
                return cut(at + 1, end, mem);
        }
        text = *end ? end + 1 : end;
    }
    return "";
}

static const char *value_in(struct io *io, const char *path, const char *key,
                            char separator, struct arena *mem)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(PROC_MOST);

    if (io_read_file(io, path, &text, NULL))
        return "";
    return machine_value(text.data, key, separator, mem);
}

void machine_write(struct json_writer *w, struct io *io, const struct field_strs *gpus,
                   struct arena *mem)
{
    const char *model = value_in(io, "/proc/cpuinfo", "model name", ':', mem);
    const char *memory = value_in(io, "/proc/meminfo", "MemTotal", ':', mem);
    struct utsname name = {0};

    (void)uname(&name);
    jw_str(w, "det", DET_VERSION);
    jw_str(w, "host", name.nodename);
    jw_str(w, "os", value_in(io, "/etc/os-release", "PRETTY_NAME", '=', mem));
    jw_str(w, "kernel",
           arena_printf(mem, "%s %s %s", name.sysname, name.release, name.machine));
    jw_str(w, "libc", arena_printf(mem, "glibc %s", gnu_get_libc_version()));
    jw_object(w, "cpu");
    jw_str(w, "model", *model ? model : name.machine);
    jw_i64(w, "cores", executor_cores());
    jw_end_object(w);
    jw_i64(w, "memoryBytes", strtoll(memory, NULL, 10) * 1024);
    jw_array(w, "gpus");
    for (size_t i = 0; gpus && i < gpus->count; i++)
        jw_str(w, NULL, gpus->at[i]);
    jw_end_array(w);
}
