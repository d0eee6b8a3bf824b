# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium for tests, benchmarks and screenshots, without access to other hosts."""
import os

PROGRAM = os.environ.get("DET_CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-dev-shm-usage",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]


def launch(playwright, *more):
    return playwright.chromium.launch(executable_path=PROGRAM, args=[*FLAGS, *more], chromium_sandbox=False)
