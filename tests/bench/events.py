# SPDX-License-Identifier: Apache-2.0
"""Section of tools/bench: event files, beside TensorBoard's own writer.

    events.py KIND DIR COUNT    in the virtual environment: ns of each event by that writer

The peer is told the same: numbers as it keeps them best, values that it counts itself, the bytes of a
PNG file.  Its queue is long, so that it does not wait for its thread more than it must.
"""
import os
import statistics
import struct
import subprocess
import sys
import time
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROUNDS = 5
KINDS = {"scalars": ("a number", 200000, 20000), "histograms": ("a histogram of 1,000 values", 20000, 2000),
         "pictures": ("a picture of 10 KB", 5000, 2000)}  # what, how many of ours, how many of the peer's


def picture():
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + bytes((x * y) & 255 for x in range(100)) for y in range(100))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 100, 100, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))


def peer(kind, directory, count):
    import numpy
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.plugins.histogram.summary_v2 import histogram_pb
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    from tensorboard.util import tensor_util

    values = numpy.array([i * 7919 % 1000 / 1000 for i in range(1000)])
    png = picture()
    shown = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="images"))

    def summary(i):
        if kind == "scalars":
            return Summary(value=[Summary.Value(tag="train/loss", simple_value=1 / (i + 1))])
        if kind == "histograms":
            return histogram_pb("weights", values)
        tensor = tensor_util.make_tensor_proto([b"100", b"100", png])
        return Summary(value=[Summary.Value(tag="picture", tensor=tensor, metadata=shown)])

    begun = time.perf_counter()
    writer = EventFileWriter(directory, max_queue_size=1000)
    for i in range(count):
        writer.add_event(Event(wall_time=time.time(), step=i, summary=summary(i)))
    writer.close()
    print(f"{(time.perf_counter() - begun) * 1e9 / count:.1f}")


def one(command, kind):
    return float(subprocess.run(command, input=picture() if kind == "pictures" else b"", stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, check=True).stdout)


def section_events(b):
    python = b.build + "/venv/bin/python3"
    has_peer = subprocess.run([ROOT + "/tools/venv", b.build + "/venv"]).returncode == 0
    for kind, (what, ours, theirs) in KINDS.items():
        rounds = []
        for _ in range(ROUNDS):
            mine = one([b.program("bench_events"), kind, b.fresh("events"), str(ours)], kind)
            beside = one([python, __file__, kind, b.fresh("events"), str(theirs)], kind) if has_peer else None
            rounds.append((mine, beside))
        mine = f"{statistics.median(mine for mine, _ in rounds):,.0f} ns"
        if not has_peer:
            b.row(f"{what} for TensorBoard", mine, "-", "-", ">= 10 x", None)
            continue
        ratio = statistics.median(beside / mine for mine, beside in rounds)
        beside = statistics.median(beside for _, beside in rounds)
        b.row(f"{what} for TensorBoard", mine, f"{beside:,.0f} ns its writer", f"{ratio:.0f} x", ">= 10 x", ratio >= 10)


if __name__ == "__main__":
    peer(sys.argv[1], sys.argv[2], int(sys.argv[3]))
