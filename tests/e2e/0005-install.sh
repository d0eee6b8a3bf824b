# SPDX-License-Identifier: Apache-2.0
# `meson install` into a directory: the program, the library and the package work there.
. "$(dirname "$0")/lib.sh"
need meson
BUILD=$(dirname "$DET")
if [ ! -e "$BUILD/build.ninja" ]; then
    skip 'meson install works' 'the program does not lie in a build directory'
    exit 0
fi
# Everything must be built already: a test does not build.
if ! ninja -C "$BUILD" -n all 2>/dev/null | grep -q 'no work to do'; then
    skip 'meson install works' 'not everything is built'
    exit 0
fi
ok 'meson install into a directory works' \
    env DESTDIR="$T/root" meson install -C "$BUILD" --no-rebuild --quiet
INSTALLED=$(find "$T/root" -type f -name det -perm -100 | head -1)
ok 'the program is there' test -n "$INSTALLED"
ok 'it runs from there' "$INSTALLED" version
PATH=$(dirname "$INSTALLED"):$PATH
ok 'it is the one that is found' sh -c "[ \$(command -v det) = '$INSTALLED' ]"
ok 'its manual pages are there' sh -c "find '$T/root' -path '*/man1/det.1*' | grep -q ."
ok 'also those of the library' sh -c "find '$T/root' -path '*/man3/det_report.3*' | grep -q ."
ok 'and what pkg-config reads' sh -c "find '$T/root' -name det.pc | grep -q ."
ok 'and the units for systemd' sh -c "grep -rl 'ExecStart=/.*/bin/det master run' '$T/root' | grep -q /lib/systemd/system/det-master.service"
INCLUDE=$(find "$T/root" -type d -path '*/include/det')
same 'and every header' "$(ls "$HERE/../../include/det")" "$(ls "$INCLUDE")"
platform
printf '#!/bin/sh\ndet report --steps 1 --validation loss=1 && command -v det\n' | folder one
ok 'it runs an experiment' create one -f
says "$INSTALLED"
if command -v cc >/dev/null; then
    folder c <<'END'
#!/bin/sh
printf '#include <det/det.h>\n#include <stdio.h>\nint main(void) { return puts(det_version()) < 0; }\n' >c.c
cc -o c c.c -ldet && ./c
END
    ok 'a task compiles with the installed library' create c -f
    says '|| 0.1.0'
else
    skip 'a task compiles with the installed library' 'cc is not here'
fi
if [ -n "$(find "$T/root" -name _det.abi3.so)" ]; then
    printf '#!/bin/sh\npython3 -c "import determined as det; det.core; print(det.__file__)"\n' | folder python
    ok 'a task imports the installed package' create python -f
    says '/lib/det/python/determined/__init__.py'
else
    skip 'a task imports the installed package' 'the Python package is not built'
fi
