# SPDX-License-Identifier: Apache-2.0
# Which Python runs: that of the configuration, of requirements.txt, of the caller's shell, of the agent.
. "$(dirname "$0")/lib.sh"
need python3
for name in agent caller; do
    python3 -m venv --without-pip "$HOME/$name" >/dev/null 2>&1 || skip_all 'python3 has no venv'
done
# in_env NAME COMMAND...: with that environment active, as its bin/activate does
in_env() {
    name=$1
    shift
    VIRTUAL_ENV=$HOME/$name PATH=$HOME/$name/bin:$PATH "$@"
}
mkdir model
printf 'import sys\nprint("ran in", sys.prefix)\n' >model/train.py
config() { printf 'name: choice\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss}\nmax_restarts: 0\n%s\n' "$1" >"$T/c.yaml"; }
ran_in() { det t logs "$1" | sed -n 's/.*|| ran in //p'; }

# The master is started from a shell with an active environment.
VIRTUAL_ENV=$HOME/agent
export VIRTUAL_ENV
BEFORE=$PATH
PATH=$VIRTUAL_ENV/bin:$PATH
platform
unset VIRTUAL_ENV
PATH=$BEFORE
config ''
ok 'a shell without an environment creates an experiment' det e create c.yaml model -f
says_not 'environment of this shell'
says '(the agent'
same 'it does not get the environment of the shell that started the master' 0 "$(ran_in 1 | grep -c "$HOME/agent")"
ok '... but has a Python' test -n "$(ran_in 1)"

ok 'a shell with an environment creates one' in_env caller det e create c.yaml model -f
says "It runs with the environment of this shell: $HOME/caller/bin/python"
says "[det] Python: $HOME/caller/bin/python (environment.python)"
same 'it runs in that environment' "$HOME/caller" "$(ran_in 2)"
ok 'the experiment records it' det e config 2
says "python: $HOME/caller/bin/python"

CONDA_PREFIX=$HOME/caller
export CONDA_PREFIX
ok 'a Conda environment counts as well' det e create c.yaml model -f
same '... and runs' "$HOME/caller" "$(ran_in 3)"
unset CONDA_PREFIX

config 'environment: {python: ~/agent/bin/python3}'
ok 'the configuration comes first, and ~ is the home folder' in_env caller det e create c.yaml model -f
says_not 'environment of this shell'
same '... of the user of the task' "$HOME/agent" "$(ran_in 4)"
config 'environment: {python: ~nobody-of-this-name/bin/python3}'
fails 1 'a home that does not exist is named' det e create c.yaml model -f
says "'~nobody-of-this-name' has no home folder here"

config ''
echo '# nothing' >model/requirements.txt
ok 'requirements.txt in the folder comes before the shell' in_env caller det e create c.yaml model --paused
says 'It runs with the packages of requirements.txt'
ok '... and is recorded' det e config 6
says 'requirements: requirements.txt'
rm model/requirements.txt

ok 'of a named master we do not know where it runs' in_env caller det -m "$(url)" e create c.yaml model --paused
says 'hint: the environment of this shell'
says_not 'It runs with the environment'
ok 'a job has the same choice' in_env caller sh -c 'printf "entrypoint: python3 train.py\n" >job.yaml; det job run job.yaml model -f'
says "ran in $HOME/caller"

# The folder of the program is put on PATH by people who built it.
for name in python python3 pip sh; do
    [ ! -e "$(dirname "$DET")/$name" ]
    result $? "the build directory does not hide $name"
done
