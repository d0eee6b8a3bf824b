# SPDX-License-Identifier: Apache-2.0
# det config: check, explain, defaults; and what a submission says of the same problems.
. "$(dirname "$0")/lib.sh"

cat >good.yaml <<'END'
name: good
entrypoint: ./run.sh
searcher: {name: single, metric: loss}
END
ok 'a good file has no problems' det config check good.yaml

cat good.yaml - >odd.yaml <<'END'
hyperparameters: {n: 5}
name: again
END
ok 'what is accepted but hardly meant is warned of' det config check odd.yaml
says_line "odd.yaml:4:19: warning: the key n is read as 'false'; write \"n\" to have a key of that name"
says_line "odd.yaml:5:1: warning: the key 'name' is repeated; the value in line 1 is ignored"
says_line 'odd.yaml is valid'

cat >bad.yaml <<'END'
name: bad
entrypoint: ./run.sh
sercher: {name: single}

max_restarts: many
searcher:
  name: single
  metric: loss
  max_trials: -1
END
fails 2 'a bad file has some' det config check bad.yaml
says 'bad.yaml:3:'
says "did you mean 'searcher'?"
says 'bad.yaml:5:'
fails 2 'a submission of it says the same' det e create bad.yaml .
says 'bad.yaml:3:'
says 'bad.yaml:5:'
ok 'and has started no master' test ! -e "$DATA/master.json"

ok 'standard input can be checked' sh -c 'det config check - <good.yaml'
says 'standard input is valid'
broken() { python3 "$HERE/broken_input.py" "$@"; }
fails 8 'a read error on standard input is not its end' broken "$(cat good.yaml)" det config check -
says 'cannot read standard input: Connection reset by peer'
fails 8 'half a configuration is not submitted' broken "$(cat good.yaml)" det e create - .
says 'cannot read standard input: Connection reset by peer'
ok 'and has started no master' test ! -e "$DATA/master.json"
fails 8 'a folder as standard input is refused' sh -c 'det e create - . </'
says 'cannot read standard input: Is a directory'
for kind in experiment master agent job; do
    ok "the defaults of a file of kind $kind are a valid file" \
        sh -c "det config defaults --kind $kind | det config check --kind $kind -"
done
fails 2 'what an option says is said of the option' \
    det e create good.yaml . --config resources.slots_per_trial=many
says '--config resources.slots_per_trial=many: resources.slots_per_trial: found'
fails 2 'the lines of the file stay its own' det e create bad.yaml . --config name=worse
says 'bad.yaml:3:'
says 'bad.yaml:5:'
fails 2 'an option that is no YAML is named' det e create good.yaml . --config 'name=['
says '--config name=['

printf 'name: x\nentrypoint: [\n' >broken.yaml
fails 2 'what is no YAML is refused with its line' det config check broken.yaml
says 'broken.yaml:'
printf 'name: one\nentrypoint: x\nsearcher: {name: single}\nname: two\n' >twice.yaml
ok 'of a key that is there twice the last one counts' det config check twice.yaml
printf -- '- a\n- b\n' >list.yaml
fails 2 'a file that holds no keys is refused' det config check list.yaml
: >empty.yaml
fails 2 'an empty file is refused' det config check empty.yaml
fails 4 'a file that is not there is named' det config check nowhere.yaml
says "'nowhere.yaml'"

# Things that are to come are refused, not ignored.
refused() {
    printf 'name: later\nentrypoint: ./run.sh\nsearcher: {name: single, metric: loss}\n%s\n' "$2" >later.yaml
    [ -z "${3:-}" ] || printf 'name: later\nentrypoint: ./run.sh\n%s\n' "$2" >later.yaml
    fails 11 "$1 is refused in one sentence" det config check later.yaml
    says 'not built yet'
    fails 11 '... at submission too' det e create later.yaml .
    says 'not built yet'
}
refused 'asha' 'searcher: {name: async_halving, metric: loss, time_metric: batches, max_time: 10, num_rungs: 2, max_trials: 4}' own
refused 'adaptive_asha' 'searcher: {name: adaptive_asha, metric: loss, time_metric: batches, max_time: 100, max_trials: 4}' own
refused 's3' 'checkpoint_storage: {type: s3, bucket: b}'
refused 'gcs' 'checkpoint_storage: {type: gcs, bucket: b}'
refused 'azure' 'checkpoint_storage: {type: azure, container: c, connection_string: x}'
refused 'a device' 'resources: {devices: [/dev/a:/dev/b]}'

ok 'explain tells what a key means' det config explain searcher.name
says 'search method'
says 'not built yet: adaptive_asha'
printf 'entrypoint: x\nsearcher: {name: single, metric: m, max_length: {epochs: -1}}\n' >length.yaml
fails 2 'a length that is none is shown' det config check length.yaml
says 'searcher.max_length: found {epochs: -1}; expected a length like {batches: N}'
fails 4 'explain suggests for a key it does not know' det config explain searcher.nam
says "did you mean 'searcher.name'?"
fails 4 'also for the first word' det config explain sercher
says "did you mean 'searcher'?"
ok 'explain knows the other kinds of file' det config explain -k master port
fails 4 'and points to them' det config explain port
says "'det config explain -k master port' explains that of kind 'master'"
ok 'defaults are YAML that holds the keys' det config defaults
says 'max_restarts: 5'
ok 'a master file is checked as such' sh -c 'echo "port: 1" >m.yaml; det config check -k master m.yaml'
fails 2 'and refused with its own keys' det config check -k master good.yaml
ok 'its keys tell which kind of file it is' det config check m.yaml
says "of kind 'master'"
ok 'also where only the inner keys tell' sh -c 'echo "security: {tls: {cert: c, key: k}}" >t.yaml; det config check t.yaml'
says "of kind 'master'"
ok 'also those of an agent' sh -c 'printf "master_host: m\nartificial_slots: 2\n" >a.yaml; det config check a.yaml'
says "of kind 'agent'"
