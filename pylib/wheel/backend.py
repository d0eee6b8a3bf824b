# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel: the package `determined` and the program `det`, built by Meson.

The interface is PEP 517. Nothing is downloaded; Meson, Ninja, a compiler and the libraries of tools/setup must
be installed. The module uses the limited API, hence cp311-abi3.

    pip install . --config-settings build-dir=DIR    uses an existing build directory
"""
import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = "determined"
SUMMARY = "det: a deep-learning training platform, and its front ends for Python"


class UnsupportedOperation(Exception):
    """The exception that PEP 517 requires for unsupported calls."""


def run(*command):
    program = shutil.which(command[0])
    if not program:
        sys.exit(f"'{command[0]}' was not found; as root, tools/setup build installs what is missing")
    done = subprocess.run([program, *command[1:]], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(done.stdout[-6000:], file=sys.stderr)
        sys.exit(f"failed: {' '.join(command)}")
    return done.stdout


def compile_all(build):
    if not os.path.exists(os.path.join(build, "build.ninja")):
        run("meson", "setup", build, "--buildtype=debugoptimized")
    run("ninja", "-C", build, "det", "python-package")
    package = os.path.join(build, "pylib", NAME)
    if not os.path.exists(os.path.join(package, "_det.abi3.so")):
        sys.exit("the package was not built: Python's headers are missing (python3-dev)")
    return package


def stripped(path, folder):
    """A copy without debug information, if `strip` is installed."""
    to = os.path.join(folder, os.path.basename(path))
    shutil.copy2(path, to)
    if shutil.which("strip"):
        run("strip", "--strip-unneeded", to)
    return to


class Wheel:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def put(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}\n")

    def put_file(self, name, path, mode=0o644):
        with open(path, "rb") as file:
            self.put(name, file.read(), mode)

    def close(self, info):
        lines = "".join(self.record) + f"{info}/RECORD,,\n"
        self.put(f"{info}/RECORD", lines.encode())
        self.zip.close()


def put_package(wheel, package, scratch):
    for where, folders, names in os.walk(package):
        folders[:] = sorted(name for name in folders if not name.endswith((".p", "__pycache__")))
        for name in sorted(names):
            path = os.path.join(where, name)
            inside = NAME + "/" + os.path.relpath(path, package)
            if name.endswith(".so"):
                wheel.put_file(inside, stripped(path, scratch), 0o755)
            elif name.endswith((".py", ".pyi", "py.typed")):
                wheel.put_file(inside, path)


def put_metadata(wheel, info, version, tag):
    wheel.put(
        f"{info}/METADATA",
        f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\nSummary: {SUMMARY}\n"
        "License: Apache-2.0\nRequires-Python: >=3.11\n".encode(),
    )
    wheel.put(
        f"{info}/WHEEL",
        f"Wheel-Version: 1.0\nGenerator: det\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    )


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = (config_settings or {}).get("build-dir") or os.path.join(ROOT, "build-wheel")
    package = compile_all(build)
    version = json.loads(run("meson", "introspect", "--projectinfo", build))["version"]
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"cp311-abi3-{platform}"
    name = f"{NAME}-{version}-{tag}.whl"
    info = f"{NAME}-{version}.dist-info"
    wheel = Wheel(os.path.join(wheel_directory, name))
    with tempfile.TemporaryDirectory() as scratch:
        put_package(wheel, package, scratch)
        program = stripped(os.path.join(build, "det"), scratch)
        wheel.put_file(f"{NAME}-{version}.data/scripts/det", program, 0o755)
    put_metadata(wheel, info, version, tag)
    wheel.close(info)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise UnsupportedOperation("source distributions are not supported: use the repository")
