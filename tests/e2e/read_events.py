# SPDX-License-Identifier: Apache-2.0
"""Reads what events.c wrote with TensorBoard's own readers, and says what is not as it should be.

    read_events.py accumulators DIR     both of TensorBoard's accumulators in this process
    read_events.py server DIR FAST      a running TensorBoard; FAST: true or false, which loader
    read_events.py count FILE           how many events the file loader finds
    read_events.py steps DIR            the steps and values of train/loss, from 35, as the accumulator has them
    read_events.py shown DIR FAST       ... as a running TensorBoard shows them
"""
import io
import json
import sys
import time
import urllib.parse
import urllib.request

from PIL import Image
from tensorboard import program
from tensorboard.backend.event_processing import event_accumulator, event_file_loader, plugin_event_accumulator
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.util import tensor_util

EVERYTHING = {event_accumulator.SCALARS: 0, event_accumulator.TENSORS: 0}
PIXELS = bytes(i * 5 & 255 for i in range(30 * 20 * 3))


def same(what, wanted, got):
    if wanted != got:
        sys.exit(f"{what}: wanted {wanted!r}, got {got!r}")


def check_histograms(weights, given, none):
    """Rows of left, right and count."""
    same("buckets", 30, len(weights))
    same("left edge", 0, weights[0][0])
    same("right edge", 999, weights[-1][1])
    same("values", 1000, sum(row[2] for row in weights))
    same("in each at least 33", 33, min(row[2] for row in weights))
    same("given buckets", [[0, 1, 3], [1, 4, 5]], [list(row) for row in given])
    same("without values", 0, len(none))


def check_pictures(steps, grey):
    """Bytes of PNG files."""
    picture = Image.open(io.BytesIO(steps))
    same("size", (30, 20), picture.size)
    same("mode", "RGB", picture.mode)
    same("pixels", PIXELS, picture.tobytes())
    picture = Image.open(io.BytesIO(grey))
    same("grey size", (10, 20), picture.size)
    same("grey mode", "L", picture.mode)
    same("grey pixels", b"".join(PIXELS[y * 90:y * 90 + 10] for y in range(20)), picture.tobytes())


def check_start(start):
    same("group", "group 1", start.group_name)
    got = {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()}
    same("hparams", {"lr": 0.5, "opt.name": "sgd", "opt.nesterov": True, "layers": "[8,16]"}, got)


def check_hparams(accumulator):
    content = accumulator.SummaryMetadata(hparams_metadata.SESSION_START_INFO_TAG).plugin_data.content
    check_start(hparams_metadata.parse_session_start_info_plugin_data(content))
    content = accumulator.SummaryMetadata(hparams_metadata.SESSION_END_INFO_TAG).plugin_data.content
    same("end", 1, hparams_metadata.parse_session_end_info_plugin_data(content).status)


def check_tensors(accumulator):
    def arrays(tag):
        return [(e.step, tensor_util.make_ndarray(e.tensor_proto)) for e in accumulator.Tensors(tag)]

    same("steps of the histogram", [1, 2], [step for step, _ in arrays("weights")])
    for _, weights in arrays("weights"):
        check_histograms(weights, arrays("given")[0][1], arrays("none")[0][1])
    (step, text), = arrays("note")
    same("step of the text", 3, step)
    same("text", "**bold** and ü", text[0].decode())
    (step, steps), (_, grey) = arrays("pictures/steps")[0], arrays("pictures/grey")[0]
    same("step of the picture", 2, step)
    same("its size", [b"30", b"20"], list(steps[:2]))
    check_pictures(steps[2], grey[2])
    check_hparams(accumulator)


def check_curve(curve, accuracy, loss):
    """(step, value) each."""
    same("steps", list(range(50)), [step for step, _ in curve])
    same("values off", 0, sum(abs(value - 1 / (1 + step)) > 1e-7 for step, value in curve))
    same("accuracy", [(50, 0.75)], accuracy)
    same("infinite loss", [(50, float("inf"))], loss)


def accumulators(directory):
    old = event_accumulator.EventAccumulator(directory, EVERYTHING)
    old.Reload()
    curves = ("train/loss", "eval/accuracy", "eval/loss")
    same("scalars", sorted(curves), sorted(old.Tags()["scalars"]))
    check_curve(*([(e.step, e.value) for e in old.Scalars(tag)] for tag in curves))
    check_tensors(old)
    new = plugin_event_accumulator.EventAccumulator(directory, {plugin_event_accumulator.TENSORS: 0})
    new.Reload()
    check_curve(*([(e.step, float(tensor_util.make_ndarray(e.tensor_proto))) for e in new.Tensors(tag)]
                  for tag in curves))
    check_tensors(new)


class Server:
    def __init__(self, directory, fast):
        tensorboard = program.TensorBoard()
        tensorboard.configure(argv=["", "--logdir", directory, "--port", "0", "--load_fast", fast])
        self.url = tensorboard.launch() + "data/"

    def get(self, path, body=None, **query):
        url = self.url + path + ("?" + urllib.parse.urlencode(query) if query else "")
        request = urllib.request.Request(url, body and json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            return reply.read()

    def data(self, plugin, what, tag):
        return json.loads(self.get(f"plugin/{plugin}/{what}", run=".", tag=tag))

    def wait(self):
        deadline = time.monotonic() + 60
        while b"eval/loss" not in self.get("plugin/scalars/tags") or b"none" not in self.get("plugin/histograms/tags"):
            if time.monotonic() > deadline:
                sys.exit("the server does not show the run")
            time.sleep(0.1)


def server(directory, fast):
    s = Server(directory, fast)
    s.wait()
    curves = [[(step, float(value)) for _, step, value in s.data("scalars", "scalars", tag)]
              for tag in ("train/loss", "eval/accuracy", "eval/loss")]
    check_curve(*curves)
    weights, given, none = (s.data("histograms", "histograms", tag) for tag in ("weights", "given", "none"))
    same("steps of the histogram", [1, 2], [row[1] for row in weights])
    check_histograms(weights[1][2], given[0][2], none[0][2])
    same("text", True, "<strong>bold</strong> and ü" in s.data("text", "text", "note")[0]["text"])
    keys = [s.data("images", "images", tag)[0]["query"] for tag in ("pictures/steps", "pictures/grey")]
    check_pictures(*(s.get("plugin/images/individualImage?" + key) for key in keys))
    groups = json.loads(s.get("plugin/hparams/session_groups", {
        "experimentName": "", "allowedStatuses": ["STATUS_SUCCESS"], "colParams": [], "startIndex": 0,
        "sliceSize": 10}))["sessionGroups"]
    same("groups", ["group 1"], [group["name"] for group in groups])
    same("hparams", {"lr": 0.5, "opt.name": "sgd", "opt.nesterov": True, "layers": "[8,16]"}, groups[0]["hparams"])


def count(path):
    print(len(list(event_file_loader.EventFileLoader(path).Load())))


def print_steps(pairs):
    print(*(f"{step}:{value:.3g}" for step, value in pairs if step >= 35))


def steps(directory):
    old = event_accumulator.EventAccumulator(directory, EVERYTHING)
    old.Reload()
    print_steps((e.step, e.value) for e in old.Scalars("train/loss"))


def shown(directory, fast):
    s = Server(directory, fast)
    s.wait()
    pairs = []
    for _ in range(200):  # it reads on while it shows
        pairs = [(step, value) for _, step, value in s.data("scalars", "scalars", "train/loss")]
        if (44, 2) in pairs:
            break
        time.sleep(0.1)
    print_steps(pairs)


if __name__ == "__main__":
    {"accumulators": accumulators, "server": server, "count": count, "steps": steps, "shown": shown}[sys.argv[1]](*sys.argv[2:])
