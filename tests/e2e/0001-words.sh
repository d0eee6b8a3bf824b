# SPDX-License-Identifier: Apache-2.0
# Version, help, and words that are not known.
. "$(dirname "$0")/lib.sh"

ok 'det --version prints one line' det --version
says 'det '
ok 'det version prints the same' det version
ok 'det version --json is JSON' sh -c 'det version --json | grep -q "^{"'
ok 'det alone prints help' det
says 'det experiment create const.yaml .'
for words in e trial agent slot job task master user config serve stop report; do
    # shellcheck disable=SC2086
    ok "det $words --help prints help" det $words --help
    says 'usage: det '
done
fails 2 'an unknown command is refused' det expermient list
says "there is no command 'expermient'"
says "did you mean 'det experiment'?"
fails 2 'an unknown command of a group is refused' det e lst
says "did you mean 'det experiment list'?"
fails 2 'an unknown option is refused' det e list --jsn
says "did you mean '--json'?"
fails 2 'a word that is no number is refused' det e describe one
says "'one' is not the number of an experiment"
fails 2 'a missing argument is refused' det e describe
fails 4 'a folder for environments that is not there' det env prune --data-dir nowhere
says "there is no folder 'nowhere'"
ok 'nothing has started a master' test ! -e "$DATA/master.json"
ok 'completion for bash is a script that bash reads' sh -c 'det completion bash | bash -n'
fails 2 'report works inside a task only' det report loss=1
says 'works inside a task only'
fails 2 'hparam works inside a task only' det hparam lr
fails 2 'preempted works inside a task only' det preempted
