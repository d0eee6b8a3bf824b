/* SPDX-License-Identifier: Apache-2.0 */
/* gather_programs.c - libraries, Python and GPUs of this host. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/env/interpreter.h"
#include "agent/env/process.h"
#include "agent/slots.h"
#include "agent/task/prepare/task_layout.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/gather.h"
#include "cli/frame/cli.h"
#include "cli/frame/program_path.h"
#include "data/archive/archive_lib.h"
#include "net/mhd.h"
#include "net/tls/gnutls.h"

/* ---- libraries ------------------------------------------------------------------- */

static const char *problem_of(struct cli *cli, det_status st, const struct err *err)
{
    return st ? arena_strdup(&cli->mem, err->text) : NULL;
}

static void look_at_libdet(struct cli *cli, struct libraries_facts *libraries)
{
    const char *(*version)(void) = NULL;
    const char *program, *folder;
    void *library, *found;

    if (program_path(&cli->mem, &program, NULL))
        return;
    folder = task_layout_library(program, &cli->mem);
    if (!folder)
        return;
    libraries->libdet = arena_printf(&cli->mem, "%s/libdet.so", folder);
    library =
        libraries->libdet ? dlopen(libraries->libdet, RTLD_LAZY | RTLD_LOCAL) : NULL;
    found = library ? dlsym(library, "det_version") : NULL;
    if (!found) {
        libraries->libdet_problem = arena_strdup(&cli->mem, dlerror());
        return;
    }
    memcpy(&version, &found, sizeof(version)); /* C has no such cast */
    libraries->libdet_version = arena_strdup(&cli->mem, version());
    dlclose(library);
}

void gather_libraries(const struct gather *gather, struct doctor_facts *facts)
{
    struct libraries_facts *libraries = &facts->libraries;
    struct cli *cli = gather->cli;
    const struct gnutls *gnutls;
    struct archive_lib archive;
    struct err err = {0};
    struct mhd mhd;

    if (libraries->is_gathered)
        return;
    libraries->is_gathered = true;
    libraries->http_problem = problem_of(cli, mhd_load(&mhd, &err), &err);
    libraries->tls_problem = problem_of(cli, gnutls_load(&gnutls, &err), &err);
    libraries->archive_problem =
        problem_of(cli, archive_lib_load(&archive, &err), &err);
    look_at_libdet(cli, libraries);
}

/* ---- Python ---------------------------------------------------------------------- */

/* What it prints begins with a mark: packages may print when they are imported. */
static const char question[] =
    "import sys\n"
    "print('det:version', '.'.join(map(str, sys.version_info[:3])), flush=True)\n"
    "import determined\n"
    "from determined import _det\n"
    "print('det:package', determined.__path__[0])\n"
    "print('det:package_version', determined.__version__)\n"
    "print('det:libdet', _det.version)\n";

struct answer {
    struct cli *cli;
    struct python_facts *python;
};

static void read_line(void *arg, const char *line)
{
    struct answer *answer = arg;
    struct python_facts *python = answer->python;
    struct {
        const char *mark;
        const char **value;
    } rows[] = {
        {"det:version ", &python->version},
        {"det:package ", &python->package},
        {"det:package_version ", &python->package_version},
        {"det:libdet ", &python->libdet_version},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (!strncmp(line, rows[i].mark, strlen(rows[i].mark))) {
            *rows[i].value =
                arena_strdup(&answer->cli->mem, line + strlen(rows[i].mark));
            return;
        }
    if (*line)
        python->problem = arena_strdup(&answer->cli->mem, line);
}

/* PYTHONPATH as tasks have it. */
static const char *python_path(struct cli *cli)
{
    const char *now = getenv("PYTHONPATH");
    const char *program, *package;

    if (program_path(&cli->mem, &program, NULL))
        return NULL;
    package = task_layout_package(program, &cli->mem);
    return package ? arena_printf(&cli->mem, "PYTHONPATH=%s%s%s", now ? now : "",
                                  now && *now ? ":" : "", package)
                   : NULL;
}

void gather_python(const struct gather *gather, struct doctor_facts *facts)
{
    struct python_facts *python = &facts->python;
    struct answer answer = {gather->cli, python};
    struct err err = {0};
    int status;

    if (python->is_gathered)
        return;
    python->is_gathered = true;
    if (interpreter_find("python3", &gather->cli->mem, &python->path, NULL)) {
        python->path = NULL;
        return;
    }
    if (process_run(
            &(struct process){
                .argv = (const char *const[]){python->path, "-c", question, NULL},
                .changes = (const char *const[]){python_path(gather->cli), NULL},
                .on_line = read_line,
                .arg = &answer},
            &status, &err))
        python->problem = arena_strdup(&gather->cli->mem, err.text);
    else if (!process_was_fine(status) || !python->libdet_version ||
             !python->package_version)
        python->package = NULL;
    if (python->version)
        (void)sscanf(python->version, "%d.%d", &python->major, &python->minor);
}

/* ---- GPUs ------------------------------------------------------------------------ */

static bool has_text(struct cli *cli, const char *folder, const char *name,
                     const char *begins)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(4096);
    const char *path =
        arena_printf(&cli->mem, "/sys/bus/pci/devices/%s/%s", folder, name);

    return path && !io_read_file(io_system(), path, &text, NULL) &&
           !strncmp(text.data, begins, strlen(begins));
}

/* A display or 3D controller of NVIDIA. */
static bool has_device(struct cli *cli)
{
    const char **names;

    if (io_list(io_system(), "/sys/bus/pci/devices", &cli->mem, &names, NULL))
        return false;
    for (; *names; names++)
        if (has_text(cli, *names, "vendor", "0x10de") &&
            has_text(cli, *names, "class", "0x03"))
            return true;
    return false;
}

void gather_gpus(const struct gather *gather, struct doctor_facts *facts)
{
    struct gpus_facts *gpus = &facts->gpus;
    struct cli *cli = gather->cli;
    struct slots slots = {0};
    struct io_stat stat;
    struct err err = {0};

    if (gpus->is_gathered)
        return;
    gpus->is_gathered = true;
    gpus->has_device = has_device(cli);
    gpus->has_driver =
        !io_stat(io_system(), "/proc/driver/nvidia/version", &stat, NULL);
    gpus->problem = problem_of(
        cli, slots_detect(&(struct slots_wish){.count = -1}, &cli->mem, &slots, &err),
        &err);
    if (!slots.count)
        return;
    if (!strcmp(slots.at[0].type, "cuda")) {
        gpus->count = slots.count;
        gpus->brand = slots.at[0].brand;
    } else {
        gpus->cores = (int64_t)slots.count;
    }
}
