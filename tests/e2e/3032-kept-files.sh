# SPDX-License-Identifier: Apache-2.0
# Files that a plain script writes into its working directory: they are named in its log, or kept.
. "$(dirname "$0")/lib.sh"
need cc jq
platform
folder plain <<'END'
#!/bin/sh
mkdir out __pycache__
printf '%2048s' '' >out/model.pt
echo 1 >log.csv
echo 1 >__pycache__/x.pyc
echo 1 >.hidden
END
ok 'a plain script' create plain -f
says '2 new files were not kept: out/model.pt, 2.0KB; log.csv, 2B'
says_not 'hidden'
says_not 'pyc'
ok 'with patterns' create plain -f --config 'keep=["*.pt"]'
says '1 new file was not kept: log.csv, 2B'
says 'kept 1 new file: det checkpoint download'
says_not 'no new file matches'
UUID=$(sed -n 's/.*det checkpoint download //p' "$OUT" | head -1)
soon 'they are listed with the trial' sh -c "det e list-checkpoints $ID | grep -q $UUID"
ok 'they are downloaded' det checkpoint download "$UUID" --output-dir got
same 'whole' 2048 "$(wc -c <got/out/model.pt | tr -d ' ')"
ok 'only they' test ! -e got/log.csv
ok 'their kind is told' det checkpoint describe "$UUID"
says 'kept files'
same 'no run starts from them' null "$(api GET "/api/v1/experiments/$ID/trials" | head -1 | jq '.trials[0].bestCheckpoint')"
ok 'no policy deletes them' det e set gc-policy --save-experiment-best 0 --save-trial-best 0 --save-trial-latest 0 --yes "$ID"
ok 'they are there' det checkpoint download "$UUID" --output-dir again
ok 'their owner does' det checkpoint delete "$UUID" --yes
soon 'and they are gone' sh -c "det checkpoint describe $UUID | grep -q DELETED"

ok 'patterns that match nothing are named' create plain -f --config 'keep=["*.pt", "*.onnx", "best/*"]'
says "no new file matches '*.onnx', 'best/*' of the key 'keep'"
says 'kept 1 new file'
ok 'so it is if none matches' create plain -f --config 'keep=["*.onnx"]'
says "no new file matches '*.onnx' of the key 'keep'"
says '2 new files were not kept'

cat >killer.c <<'END'
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void kill_keeper(void)
{
    char words[256] = "";
    int file = open("/proc/self/cmdline", O_RDONLY);
    ssize_t len = read(file, words, sizeof(words) - 1);
    if (len > 0 && memmem(words, len, "task\0keep", 10))
        raise(SIGKILL);
    close(file);
}
END
ok 'a killer' cc -D_GNU_SOURCE -shared -fPIC -o killer.so killer.c
ok 'a keeper that is killed' create plain -f --config 'keep=["*.pt"]' \
    --config "environment.environment_variables=['LD_PRELOAD=$PWD/killer.so']"
says "files of 'keep' may be lost: the process that saved them was killed by signal 9 (Killed)"
says_not 'kept 1 new file'

folder saving <<'END'
#!/bin/sh
mkdir model
echo 1 >model/weights
det checkpoint save --steps 1 model
END
ok 'a script that saves checkpoints' create saving -f
says_not 'not kept'

folder failing <<'END'
#!/bin/sh
echo 1 >model.pt
exit 3
END
fails 1 'a script that fails' create failing -f --config 'keep=["*.pt"]'
says_not 'kept'

printf '#!/bin/sh\necho 1 >metadata.json\n' | folder taken
ok 'a name that a checkpoint needs itself' create taken -f --config 'keep=["*"]'
says "the files of 'keep' are lost"
fails 2 'a pattern for other places' create plain --config 'keep=["../*.pt"]'
says "found '../*.pt'; expected a pattern for files in the working directory"
