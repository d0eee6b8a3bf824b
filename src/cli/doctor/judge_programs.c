/* SPDX-License-Identifier: Apache-2.0 */
/* judge_programs.c - what the facts about libraries, Python and GPUs mean. */
#include <inttypes.h>
#include <string.h>

#include "cli/doctor/facts.h"
#include "cli/doctor/finding.h"
#include "cli/doctor/judge.h"

enum { PYTHON_MAJOR = 3, PYTHON_MINOR = 11 }; /* as pyproject.toml demands */

#define REINSTALL                                                                      \
    "install both from the same version ('make install', or 'pip install .')"

void judge_libraries(const struct doctor_facts *facts, struct findings *out)
{
    const struct libraries_facts *libraries = &facts->libraries;
    static const char todo[] = "install the package that the message names";

    if (libraries->http_problem)
        finding_bad(out, FINDING_FAIL, "A master cannot run here",
                    libraries->http_problem, todo);
    if (libraries->tls_problem)
        finding_bad(out, FINDING_FAIL, "https:// addresses cannot be used here",
                    libraries->tls_problem, todo);
    if (libraries->archive_problem)
        finding_bad(out, FINDING_FAIL, "Folders with code cannot be packed or unpacked",
                    libraries->archive_problem, todo);
    if (!libraries->http_problem && !libraries->tls_problem &&
        !libraries->archive_problem)
        finding_ok(out, "libmicrohttpd, GnuTLS and libarchive are installed");
}

void judge_libdet(const struct doctor_facts *facts, struct findings *out)
{
    const struct libraries_facts *libraries = &facts->libraries;

    if (!libraries->libdet)
        finding_skip(out, "There is no libdet.so near this program; only C programs "
                          "that use it need it");
    else if (libraries->libdet_problem)
        finding_bad(out, FINDING_FAIL,
                    finding_text(out, "'%s' cannot be opened", libraries->libdet),
                    libraries->libdet_problem, REINSTALL);
    else if (strcmp(libraries->libdet_version, facts->version) != 0)
        finding_bad(
            out, FINDING_WARN,
            finding_text(out, "'%s' is version %s, and this program is %s",
                         libraries->libdet, libraries->libdet_version, facts->version),
            "C programs in tasks use that library with this supervisor", REINSTALL);
    else
        finding_ok(out, "libdet %s, like this program", libraries->libdet_version);
}

static bool is_too_old(const struct python_facts *python)
{
    return python->major < PYTHON_MAJOR ||
           (python->major == PYTHON_MAJOR && python->minor < PYTHON_MINOR);
}

/* The package is there. */
static void judge_package(const struct doctor_facts *facts, struct findings *out)
{
    const struct python_facts *python = &facts->python;
    bool is_same = !strcmp(python->package_version, facts->version) &&
                   !strcmp(python->libdet_version, facts->version);

    if (is_same)
        finding_ok(out, "Python %s imports determined %s", python->version,
                   python->package_version);
    else
        finding_bad(out, FINDING_WARN,
                    finding_text(out,
                                 "The Python package in '%s' is version %s with libdet "
                                 "%s, and this program is %s",
                                 python->package, python->package_version,
                                 python->libdet_version, facts->version),
                    "a training program and its supervisor must understand each other",
                    REINSTALL);
}

void judge_python(const struct doctor_facts *facts, struct findings *out)
{
    const struct python_facts *python = &facts->python;

    if (!python->path)
        finding_bad(out, FINDING_WARN, "There is no python3 in PATH",
                    "only programs in other languages can run here",
                    "install Python 3.11 or later");
    else if (!python->version)
        finding_bad(out, FINDING_FAIL,
                    finding_text(out, "'%s' does not work", python->path),
                    python->problem ? python->problem : "it prints nothing",
                    "repair it, or put a working python3 first in PATH");
    else if (is_too_old(python))
        finding_bad(
            out, FINDING_WARN,
            finding_text(out, "'%s' is Python %s", python->path, python->version),
            "the Python package needs 3.11 or later",
            "install one, and put it first in PATH or name it in the "
            "configuration of the experiment (environment.python)");
    else if (!python->package)
        finding_bad(
            out, FINDING_WARN,
            finding_text(out, "Python %s cannot import determined", python->version),
            python->problem ? python->problem : "it does not say why",
            "install it with 'pip install .', or build it with 'make'");
    else
        judge_package(facts, out);
}

void judge_gpus(const struct doctor_facts *facts, struct findings *out)
{
    const struct gpus_facts *gpus = &facts->gpus;

    if (gpus->problem)
        finding_bad(
            out, FINDING_FAIL, "The GPUs of this machine cannot be used",
            finding_text(out, "%s, and an agent does not start here", gpus->problem),
            "look with 'nvidia-smi', reset the GPU or restart the machine");
    else if (gpus->count)
        finding_ok(out, "%zu %s (%s), each of them a slot", gpus->count,
                   gpus->count == 1 ? "GPU" : "GPUs", gpus->brand);
    else if (gpus->has_driver)
        finding_bad(out, FINDING_WARN,
                    "The NVIDIA driver is loaded, but its library finds no GPU",
                    "an agent would offer processor cores instead",
                    "install libnvidia-ml.so.1 of the same version as the driver, and "
                    "let the container see the GPUs");
    else if (gpus->has_device)
        finding_bad(out, FINDING_WARN,
                    "This machine has an NVIDIA GPU, but no driver is loaded",
                    "an agent would offer processor cores instead",
                    "install the NVIDIA driver");
    else
        finding_ok(out, "No GPUs; an agent offers %" PRId64 " processor %s as slots",
                   gpus->cores, gpus->cores == 1 ? "core" : "cores");
}
