# SPDX-License-Identifier: Apache-2.0
# Media of a real program: report_media() and PyTorch's SummaryWriter.  The program is killed and goes on from its
# checkpoint: every step is there once.
. "$(dirname "$0")/lib.sh"
need_torch
need curl jq
platform --slots 1

folder media <<'SCRIPT'
#!/usr/bin/env python3
import os, signal, sys, types
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")  # the writer needs no TensorFlow, which loads slowly
import numpy, torch
import determined as det
from determined import core
from torch.utils.tensorboard import SummaryWriter

with core.init() as context:
    train, info = context.train, det.get_cluster_info()
    first = 1
    if info.latest_checkpoint:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            first = int((path / "step").read_text()) + 1
    run = int(os.environ["DET_TRIAL_RUN_ID"])
    pixels = torch.arange(8 * 8 * 3, dtype=torch.uint8).reshape(8, 8, 3)
    for step in range(first, 9):
        train.report_training_metrics(step, {"loss": 1 / step})
        train.report_media("pixels", step, pixels)
        train.report_media("text", step, f"run {run} step {step}")
        train.report_media("weights", step, numpy.histogram([1, 2, 2, 3], bins=3), type="histogram")
        with SummaryWriter(str(train.get_tensorboard_path())) as writer:
            writer.add_image("board/image", pixels, step, dataformats="HWC")
            writer.add_histogram("board/weights", torch.tensor([1.0, 2.0, 2.0, 3.0]), step)
            writer.add_text("board/text", f"run {run} step {step}", step)
            writer.add_audio("board/audio", torch.zeros(1, 100), step, sample_rate=8000)
            writer.add_scalar("board/number", step, step)
        if step == 3 and run == 1:
            with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                (path / "step").write_text(str(step))
        if step == 6 and run == 1:
            train.report_media("lost", step, "only in the first run")
            os.kill(os.getpid(), signal.SIGKILL)
    train.report_media("large", 8, "x" * 4000000)
    train.report_validation_metrics(8, {"loss": 0.1})
SCRIPT
echo 'max_restarts: 1' >>media/const.yaml
ok 'a program that reports media is created' create media
ok 'it is killed, goes on, and completes' det e wait 1 --timeout 250

TOKEN=$(login)
get() { curl -sS -f -H "Authorization: Bearer $TOKEN" "$(url)$1"; }
get /api/v1/det/trials/1/media >list.json
steps() { jq -c --arg name "$1" "[.media[] | select(.name == \$name) | .items[] | select(.isArchived | not) | $2]" "$3"; }
same 'every step is there once' '[1,2,3,4,5,6,7,8]' "$(steps text .steps list.json)"
same 'of the run that counts' '[1,1,1,2,2,2,2,2]' "$(steps text .run list.json)"
same 'so are the pictures' '[1,2,3,4,5,6,7,8]' "$(steps pixels .steps list.json)"
same 'what did not come again is archived' '[6,true]' "$(jq -c '.media[] | select(.name == "lost") | .items[0] | [.steps, .isArchived]' list.json)"
item() { jq -r --arg name "$1" ".media[] | select(.name == \$name) | .items[$2].id" list.json; }
same 'a text is that of its step' 'run 2 step 5' "$(get "/api/v1/det/trials/1/media/$(item text 4)")"
same 'pixels are a PNG' PNG "$(get "/api/v1/det/trials/1/media/$(item pixels 0)" | head -c 4 | tail -c 3)"
same 'the largest item arrives whole' 4000000 "$(get "/api/v1/det/trials/1/media/$(item large 0)" | wc -c)"
same 'a histogram has edges and counts' '[1,2,1]' "$(get "/api/v1/det/trials/1/media/$(item weights 0)" | jq -c .counts)"

get /api/v1/det/trials/1/events >events.json
same 'the writer for TensorBoard is read' '["board/audio","board/image","board/text/text_summary","board/weights"]' \
    "$(jq -c '[.media[].name]' events.json)"
same 'each step once' '[1,2,3,4,5,6,7,8]' "$(steps board/image .steps events.json)"
event() { # name index
    jq -r --arg name "$1" ".media[] | select(.name == \$name) | .items[$2] | \"?file=\" + (.file | @uri) + \"&offset=\" + (.offset | tostring) + \"&value=\" + (.value | tostring)" events.json
}
same 'its text is that of the later run' 'run 2 step 5' "$(get "/api/v1/det/trials/1/events/item$(event board/text/text_summary 4)")"
same 'its picture is a PNG' PNG "$(get "/api/v1/det/trials/1/events/item$(event board/image 0)" | head -c 4 | tail -c 3)"
same 'its sound is a WAV' RIFF "$(get "/api/v1/det/trials/1/events/item$(event board/audio 0)" | head -c 4)"
same 'its histogram has all values' 4 "$(get "/api/v1/det/trials/1/events/item$(event board/weights 0)" | jq '.counts | add')"
same 'between the smallest and the largest' '[1,3]' "$(get "/api/v1/det/trials/1/events/item$(event board/weights 0)" | jq -c '[.edges[0], .edges[-1]]')"

mkdir page && cd page || exit 99
ok 'every block of the page about media runs' python3 "$HERE/guide_page.py" media.md
cd "$T" || exit 99

rows() {
    python3 -c "
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(*[db.execute(f'SELECT COUNT(*) FROM {table}').fetchone()[0] for table in ('media', 'media_bytes')])" "$1/det.db"
}
ok 'a backup is made' det backup "$T/vault"
ok 'and restored elsewhere' det restore "$T/vault" --data-dir "$T/restored"
same 'it has the media' '36 36' "$(rows "$T/restored")"
ok 'the experiment is deleted' det e delete 1 --yes
is_gone() { ! det e describe 1; }
soon 'and gone' is_gone
same 'its media are gone, and those of the other one are not' '10 10' "$(rows "$DATA")"
