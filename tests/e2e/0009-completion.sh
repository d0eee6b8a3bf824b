# SPDX-License-Identifier: Apache-2.0
# Completion, in the shells themselves.
. "$(dirname "$0")/lib.sh"
need bash
mkdir empty && cd empty || exit 1
touch conf.yaml 'my file.yaml'

# Prints the completions of each shell for a line, one word per line.
det completion bash >../det.bash
in_bash() {
    bash -c '. ../det.bash; COMP_WORDS=($1); [ "${1% }" = "$1" ] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _det; printf "%s\n" "${COMPREPLY[@]}"' bash "$1"
}
det completion fish >../det.fish
in_fish() { fish -c 'source ../det.fish; complete -C "$argv[1]"' -- "$1" | cut -f1; }
# zsh completes only at a prompt: Tab, Tab, and what the screen shows then.
det completion zsh >../det.zsh
cat >../tab.py <<'END'
import os, pty, select, signal, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="dumb", ZDOTDIR="/nonexistent")
    os.execvp("zsh", ["zsh", "-f", "-i"])
def until(mark):
    seen, end = b"", time.monotonic() + 20
    while mark not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 65536)
    return seen
os.write(fd, b"PS1='re''ady> '; source ../det.zsh; unset zle_bracketed_paste\n")
until(b"ready> ")
# one that is completed at once is shown behind what was typed; of several, the list
os.write(fd, sys.argv[1].encode() + b"\t\t\x15echo at'-'end\n")
print(until(b"at-end").decode(errors="replace").replace("\r", ""))
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
END
in_zsh() { python3 ../tab.py "$1" | tr -s ' ' '\n'; }

offers() { grep -qx -- "$1" "$OUT"; result $? "... offers '$1'"; }
offers_not() { ! grep -qx -- "$1" "$OUT"; result $? "... does not offer '$1'"; }
for shell in bash fish zsh; do
    if ! command -v $shell >/dev/null || { [ $shell = zsh ] && ! command -v python3 >/dev/null; }; then
        skip "$shell completes" "$shell is not here"
        continue
    fi
    ok "$shell completes nouns" in_$shell 'det '
    offers experiment
    offers_not create
    offers_not conf.yaml
    ok "$shell completes verbs" in_$shell 'det e '
    offers create
    offers label
    offers_not add
    ok "$shell completes verbs of two words" in_$shell 'det experiment label '
    offers add
    offers_not create
    ok "$shell completes options" in_$shell 'det e create --'
    offers --follow
    offers --master
    offers_not --tail
    ok "$shell completes options of det" in_$shell 'det --ver'
    offers --version
    ok "$shell completes files" in_$shell 'det config check co'
    offers conf.yaml
    ok "$shell completes files with spaces" in_$shell 'det config check my'
    [ $shell = zsh ] && says 'file.yaml' || offers 'my file.yaml' # zsh writes my\ file.yaml
    ok "$shell completes values behind =" in_$shell 'det e list --state=PA'
    says 'PAUSED'
    ok "$shell completes behind options" in_$shell 'det -m http://127.0.0.1:1 agent '
    offers enable
    ok "$shell completes shells" in_$shell 'det completion '
    offers zsh
    ok "$shell completes levels" in_$shell 'det t logs 1 --level '
    offers WARNING
    offers_not --follow
    ok "$shell completes states" in_$shell 'det e list --state '
    offers PAUSED
    ok "$shell completes files of options" in_$shell 'det e continue 1 --config-file '
    offers conf.yaml
    ok "$shell completes ids without a master" in_$shell 'det e kill '
    offers_not 1
done
ok 'pressing Tab starts no master' test ! -e "$DATA/master.json"
platform
printf '#!/bin/sh\n' | folder one
create one >/dev/null
create one >/dev/null
det e wait 2 >/dev/null
AGENT=$(det agent list --csv | sed -n '2s/,.*//p')
for shell in bash fish zsh; do
    if ! command -v $shell >/dev/null || { [ $shell = zsh ] && ! command -v python3 >/dev/null; }; then
        continue
    fi
    ok "$shell completes ids of experiments" in_$shell 'det e describe '
    offers 2
    ok "$shell completes ids of trials" in_$shell 'det t logs '
    offers 1
    ok "$shell completes agents" in_$shell 'det agent disable '
    offers "$AGENT"
    ok "$shell completes ids of options" in_$shell 'det c list --experiment '
    offers 2
    ok "$shell completes ids behind -m" in_$shell "det -m $(url) e kill "
    offers 1
done
cd "$T" || exit 1
