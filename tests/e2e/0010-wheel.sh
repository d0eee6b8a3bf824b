# SPDX-License-Identifier: Apache-2.0
# `pip install .`: one wheel with the package and the program, which work together.
. "$(dirname "$0")/lib.sh"
need python3 ninja
BUILD=$(cd "$(dirname "$DET")" && pwd)
if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ]; then
    skip 'pip installs it' 'the Python package is not built'
    exit 0
fi
# Everything must be built already: a test does not build.
if ! ninja -C "$BUILD" -n det python-package 2>/dev/null | grep -q 'no work to do'; then
    skip 'pip installs it' 'not everything is built'
    exit 0
fi
if ! python3 -m venv venv >/dev/null 2>&1; then
    skip 'pip installs it' 'virtual environments cannot be made here'
    exit 0
fi
ok 'pip installs it, without a network' venv/bin/pip install --no-index --disable-pip-version-check \
    --config-settings build-dir="$BUILD" "$HERE/../.."
ok 'the wheel says for which Pythons it is' sh -c 'grep "^Tag: cp311-abi3-" venv/lib/python3*/site-packages/determined-*.dist-info/WHEEL'
ok 'pip finds nothing wrong' venv/bin/pip check
ok 'the package is there' venv/bin/python -c 'import determined as det; det.core; print(det.__version__)'
PATH=$T/venv/bin:$PATH
DET=$T/venv/bin/det
same 'so is the program' "$T/venv/bin/det" "$(command -v det)"
ok 'its version is the same' sh -c '[ "$(det version)" = "det $(python -c "import determined; print(determined.__version__)")" ]'
platform
printf '#!/bin/sh\npython3 -c "import determined as det; print(det.core.__file__)"\n' | folder one
ok 'a task of it imports its package' create one -f
says "$T/venv/lib/python3"
