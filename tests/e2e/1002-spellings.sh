# SPDX-License-Identifier: Apache-2.0
# Old spellings run, with a notice; keys on the command line override those of the file.
. "$(dirname "$0")/lib.sh"
need jq
platform
folder old <<'END'
#!/bin/sh
echo "$DET_EXPERIMENT_CONFIG"
END
cat >old/const.yaml <<'END'
description: an old one
entrypoint: ./run.sh
searcher:
  name: single
  metric: loss
  max_length: {batches: 300}
min_validation_period: {batches: 100}
END
ok 'max_length in batches runs' create old -f
ok 'the task sees the whole configuration' sh -c "det t logs 1 --search min_validation_period"
cat >old/const.yaml <<'END'
description: an older one
entrypoint: ./run.sh
searcher:
  name: single
  metric: loss
  max_steps: 3
END
ok 'max_steps (of 100 batches) runs' create old -f
ok 'and becomes a length of 300 batches' sh -c "det e config $ID --json | jq -e '.searcher.max_length == {batches: 300}'"
says 'true'
ok 'det config check gives a notice' det config check old/const.yaml
says 'max_steps'

folder new <<'END'
#!/bin/sh
det hparam lr
END
ok '--config overrides keys' create new -f --config name=other --config hyperparameters.lr=0.25 --config max_restarts=2
says '0.25'
ok 'they are in the stored configuration' sh -c "det e config $ID --json | jq -e '.name == \"other\" and .max_restarts == 2'"
fails 2 'a key that is not known is refused there too' create new --config serch=1
says 'serch'
fails 2 '--config without a value is refused' create new --config name
says 'expected KEY=VALUE'
ok 'the file may come from standard input' sh -c 'det e create - new <new/const.yaml'
ok 'it is the newest' det e wait 4

# The same from the master, for clients that do not check.
ok 'the master refuses an unknown key' api POST /api/v1/experiments '{"config":"name: x\nentrypoint: x\nsearcher: {name: single}\nserch: 1\n","activate":true}'
says 'serch'
says_line '400'
ok 'and what is to come' api POST /api/v1/experiments '{"config":"name: x\nentrypoint: x\nsearcher: {name: single}\ncheckpoint_storage: {type: s3, bucket: b}\n"}'
says 'not built yet'
