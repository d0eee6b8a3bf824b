# SPDX-License-Identifier: Apache-2.0
# Environments: packages from a requirements file, built once, shared, kept apart, and what
# happens when building fails, is killed or is cut off.  Nothing is downloaded.
#
# Each environment is thousands of files, and whole only once the file system is synced: in
# memory nobody waits for what else the machine has to write.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need python3 jq
python3 -c 'import venv, ensurepip' 2>/dev/null || {
    skip 'environments are built' 'this Python has no venv'
    exit 0
}
platform --slots 2
REAL=$(python3 -c 'import sys; print(sys.executable)')

# As on Debian without python3-venv: the interpreter's own pip fills the environment, which
# is also quicker: most of this script uses it if possible.
mkdir hidden
printf 'import sys\nclass No:\n    def find_spec(self, name, path=None, target=None):\n        if name.split(".")[0] == "ensurepip":\n            raise ModuleNotFoundError(name)\nsys.meta_path.insert(0, No())\n' >hidden/sitecustomize.py
printf '#!/bin/sh\nPYTHONPATH=%s exec "%s" "$@"\n' "$T/hidden" "$REAL" >bare-python
chmod +x bare-python
QUICK=python3
"$REAL" -c 'import pip, sys; sys.exit(tuple(map(int, pip.__version__.split(".")[:2])) < (22, 3))' 2>/dev/null && QUICK=$T/bare-python

# A wheel is a zip with three files about itself.
wheel() { # FOLDER NAME VERSION ANSWER
    mkdir -p "$1"
    python3 - "$@" <<'END'
import sys, zipfile
folder, name, version, answer = sys.argv[1:]
info = f"{name}-{version}.dist-info"
files = {
    f"{name}.py": f"answer = {answer!r}\ndef main():\n    print('script says', answer)\n",
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{info}/entry_points.txt": f"[console_scripts]\n{name}-says = {name}:main\n",
}
record = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
with zipfile.ZipFile(f"{folder}/{name}-{version}-py3-none-any.whl", "w") as z:
    for path, text in {**files, f"{info}/RECORD": record}.items():
        z.writestr(zipfile.ZipInfo(path), text)
END
}

# A folder whose build waits until the file $T/go is there.
slow_package() { # FOLDER
    mkdir -p "$1/backend"
    printf '[build-system]\nrequires = []\nbuild-backend = "slow"\nbackend-path = ["backend"]\n[project]\nname = "slow"\nversion = "1"\n' >"$1/pyproject.toml"
    cat >"$1/backend/slow.py" <<END
import os, time, zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    open("$T/begun", "a").write("x\n")
    while not os.path.exists("$T/go"):
        time.sleep(0.05)
    name = "slow-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as z:
        z.writestr("slow.py", "")
        z.writestr("slow-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: slow\nVersion: 1\n")
        z.writestr("slow-1.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("slow-1.dist-info/RECORD", "slow.py,,\nslow-1.dist-info/METADATA,,\nslow-1.dist-info/WHEEL,,\nslow-1.dist-info/RECORD,,\n")
    return name
END
}

project() { # NAME [PYTHON]
    mkdir -p "$1"
    printf 'name: %s\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss}\nenvironment:\n  requirements: requirements.txt\n  python: %s\n' "$1" "${2:-$QUICK}" >"$1/const.yaml"
}
count_envs() { det env list --json | jq length; }

# ---- one that works

project good python3
wheel good/wheels tiny 1.0 first
printf '# what we need\n--no-index\n-r more/base.txt\n' >good/requirements.txt
mkdir good/more
printf './wheels/tiny-1.0-py3-none-any.whl   # from here\n' >good/more/base.txt
cat >good/train.py <<'END'
import os, subprocess, sys
import tiny
print("answer", tiny.answer, "in", os.environ["VIRTUAL_ENV"] == sys.prefix)
try:
    import determined
    print("determined is here")
except ImportError as e:
    print("determined is here" if "_det" not in str(e) else "determined is not built")
subprocess.run(["tiny-says"], check=True)
print("packages", subprocess.run([sys.executable, "-I", "-c", "import tiny"]).returncode)
END
ok 'a task gets the packages of its requirements' create good -f
says '[det] building environment'
says 'from requirements.txt (1 package, Python 3.'
says 'is ready after'
says 'answer first in True'
says 'determined is here'
says 'script says first'
FIRST=$ID
ok 'the next task has it already' create good -f
says 'answer first in True'
says_not 'building environment'
printf '%s\n' --no-index '' '-r more/base.txt # the same in other words' >good/requirements.txt
ok 'comments do not matter' create good -f
says_not 'building environment'
wheel good/wheels tiny 1.0 second
sed -i "s|python: .*|python: $QUICK|" good/const.yaml
ok 'a wheel that was built again does' create good -f
says 'building environment'
says 'answer second in True'
ok 'environments are listed' det env list
says 'PACKAGES'
same 'there are two' 2 "$(count_envs)"
same 'none is in use' false "$(det env list --json | jq 'any(.[]; .isInUse)')"
ok 'what a trial ran on is recorded' det trial environment "$FIRST"
says 'tiny==1.0'
says 'glibc'
says "processor"
same 'with the sum of its code' 64 "$(det trial environment "$FIRST" --json | jq -r '.runs[0].record.code | length')"
same 'and the key of its environment' 16 "$(det trial environment "$FIRST" --json | jq -r '.runs[0].record.environment | length')"

# ---- lists, interpreters

project lines
sed -i 's|requirements:.*|requirements: [--no-index, ./wheels/tiny-2.0-py3-none-any.whl]|' lines/const.yaml
wheel lines/wheels tiny 2.0 listed
printf 'import tiny\nprint("answer", tiny.answer)\n' >lines/train.py
ok 'requirements may stand in the configuration' create lines -f
says 'answer listed'
printf '#!/bin/sh\nexec "%s" "$@"\n' "$REAL" >"$T/my python"
chmod +x "$T/my python"
printf 'import sys\nprint("mine", sys.version_info[0])\n' >lines/train.py
sed -i "/requirements:/d; s|python:.*|python: $T/my python|" lines/const.yaml
ok 'an interpreter is called python3, whatever its name' create lines -f
says 'mine 3'
sed -i 's|python: .*|python: python9.9|' lines/const.yaml
fails 1 'one that is not there' create lines -f
says "there is no Python interpreter 'python9.9'"
says 'is not retried, because it would fail again'
same 'is not tried again' 0 "$(det t describe "$(det e lt "$ID" --csv | sed -n '2s/,.*//p')" --json | jq '.[0].restarts')"
# ---- what cannot be built

project bad
printf '%s\n' --no-index no-such-package-here==1 >bad/requirements.txt
: >bad/train.py
fails 1 'a package that does not exist' create bad -f
says 'the environment of requirements.txt cannot be built: No matching distribution found'
says 'is not retried, because it would fail again'
says_not 'Traceback'
printf '%s\n' '--index-url http://127.0.0.1:1/simple' no-such-package-here==1 >bad/requirements.txt
fails 1 'no network' create bad -f --config 'environment.environment_variables=["PIP_RETRIES=1"]'
says 'pip cannot reach the package index (it refuses the connection); connect this machine to a network'
says_not 'cannot be built: No matching distribution'
printf '%s\n' '-e .' >bad/requirements.txt
fails 2 'an editable package is refused before anything is sent' create bad
says "'-e .' in requirements.txt:1"
rm bad/requirements.txt
fails 2 'as is a file that is missing' create bad
says "environment.requirements: there is no 'requirements.txt' in the folder with the code"
printf 'requirements.txt\n' >bad/.detignore
: >bad/requirements.txt
fails 2 'or left at home' create bad
says '.detignore'
fails 2 'or elsewhere' det e create bad/const.yaml bad --config environment.requirements=/etc/passwd
says 'expected a file inside the folder'
fails 2 'or without any folder' det e create bad/const.yaml
says 'no folder is sent'
printf '\377\376' >bad/requirements.txt
fails 2 'or no text' create bad
says "is not text"

# ---- two at once, and ends in the middle

project slow
slow_package slow/pkg
printf '%s\n' --no-index ./pkg >slow/requirements.txt
printf 'print("it runs")\n' >slow/train.py
sed -i 's/searcher:.*/searcher: {name: grid, metric: loss}\nhyperparameters: {a: {type: categorical, vals: [1, 2]}}/' slow/const.yaml
fails 130 'create -f on a terminal shows the build in the moving line' \
    python3 "$HERE/on_terminal.py" 'expect=experiment' 'expect=: building the environment' "await=$T/begun" 'send=\x03' \
    -- det e create slow/const.yaml slow -f
BOTH=$(det e list --json | jq 'map(.id) | max')
building() { api GET "/api/v1/experiments/$BOTH/trials" | jq -r '.trials[].runnerState' | grep -q '^building the environment (0 packages found): '; }
soon 'two tasks want the same, and the trial says what it does' building
waits() { det e lt "$BOTH" --csv | sed '1d;s/,.*//' | while read -r t; do det t logs "$t"; done | grep -q 'another task builds'; }
soon 'the other waits' waits
ok 'the list says so' det env list
says 'being built'
ok 'what is being built is not removed' det env prune --all
says '1 kept'
ok 'killing them ends it at once' det e kill "$BOTH"
soon 'nothing goes on' is_state CANCELED "$BOTH"
no_build() { ! pgrep -f "$T/.*/pip" >/dev/null; }
soon 'no pip is left' no_build
soon 'what was left is known for what it is' sh -c 'det env list | grep -q "left over"'
ok 'and removed' det env prune
same 'all of it' 0 "$(det env list --json | jq '[.[] | select(.isWhole | not)] | length')"

rm -f "$T/begun"
ok 'an agent that dies' create slow
soon 'in the middle of a build' test -s "$T/begun"
AGENT=$(pgrep -f "agent run .*$DATA/agent" | head -1)
slay "$AGENT"
: >"$T/go"
soon 'does not take it along: it is built' sh -c 'det env list --json | jq -e "any(.[]; .packages.slow)"'
soon 'and both tasks run' is_state COMPLETED "$ID"
same 'it was built once' 1 "$(wc -l <"$T/begun")"
ok 'what is not in use goes' det env prune --all
same 'all of it' 0 "$(count_envs)"

