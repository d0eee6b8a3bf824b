# SPDX-License-Identifier: Apache-2.0
"""Section of tools/bench: the WebUI in a real browser, beside MLflow's and TensorBoard's pages with the same runs.

What is measured is what a person waits for: from the navigation, with an empty cache, or from the click, until what was
asked for is drawn (browser.py).  The window is tall enough for ten charts.
"""
import contextlib
import json
import os
import shutil
import statistics
import subprocess

import webui_peers
from cluster import Cluster
from peers import MLflow

ROUNDS = 5
ALL = [f"m{i}" for i in range(10)]
ROWS = "document.querySelectorAll('table.data tbody tr').length"
DRAWN = "document.querySelectorAll('figure[data-drawn], .chart[data-drawn]').length"


def stopwatch(b, jobs):
    """{name: [{"ms", "bytes", "requests"} of each round]}"""
    done = subprocess.run([b.build + "/venv/bin/python", os.path.dirname(os.path.abspath(__file__)) + "/browser.py"],
                          input=json.dumps(jobs), stdout=subprocess.PIPE, text=True, check=True)
    out = json.loads(done.stdout)
    for name, rounds in out.items():
        if isinstance(rounds, str):
            raise RuntimeError(f"{name}: {rounds}")
    return out


def median(rounds, at=0):
    return statistics.median(one["ms"][at] for one in rounds)


def whole(rounds):
    """All steps together."""
    return statistics.median(sum(one["ms"]) for one in rounds)


def made(b, stack, program, name, *args):
    """A master on data that a bench program makes."""
    directory = b.fresh(name)
    subprocess.run([b.program(program), "make", directory, *map(str, args)], check=True)
    return stack.enter_context(Cluster(b.det, directory, slots=0))


def first_page(b):
    with contextlib.ExitStack() as stack:
        cluster = made(b, stack, "bench_series", "webui-first", 100, 10, 1000)
        first = stopwatch(b, [{"name": "first", "url": cluster.url + "/det/experiments", "until": ROWS + " > 0", "rounds": ROUNDS}])["first"]
    ms, size = median(first), max(one["bytes"] for one in first)
    b.row("first page: cold, until its table is there", f"{ms:.0f} ms", "-", "-", "-", None)
    b.row("  bytes sent", f"{size / 1e3:.1f} KB", "-", "-", "<= 150 KB", size <= 150e3)
    b.against_peer("  beside MLflow's page", ms, "ms", "mlflow_first_ms", 10)
    b.against_peer("  beside TensorBoard's page", ms, "ms", "tensorboard_first_ms", 10)


def table(b):
    """Clicks: a column's head, the next page, a word to search for and Enter."""
    first = "document.querySelector('table.data tbody tr').textContent"
    steps = [
        {"do": f"window.before = {first}; document.querySelectorAll('table.data th button')[1].click()", "until": f"{first} !== window.before"},
        {"do": f"window.before = {first}; [...document.querySelectorAll('button')].find((one) => one.textContent === 'Next').click()", "until": f"{first} !== window.before"},
        {"do": f"window.before = {first}; const box = document.querySelector('input[type=search]'); box.value = '77'; box.dispatchEvent(new Event('input', {{bubbles: true}}));"
               "box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))",
         "until": f"{first} !== window.before"},
    ]
    took = {}
    with contextlib.ExitStack() as stack:
        places = {count: made(b, stack, "bench_table", f"webui-{count}", count) for count in (1000, 10000, 100000)}
        for _ in range(ROUNDS):  # in turns
            for count, cluster in places.items():
                job = {"name": "table", "url": cluster.url + "/det/experiments", "until": ROWS + " >= 50", "then": steps, "rounds": 1}
                took.setdefault(count, []).append(stopwatch(b, [job])["table"][0]["ms"][1:])
    for at, what in enumerate(("sort", "next page", "search")):
        few, some, many = (statistics.median(one[at] for one in took[count]) for count in places)
        b.row(f"table of 100,000 experiments: {what}", f"{many:.0f} ms", f"{few:.0f} ms of 1,000", f"{many / few:.1f} x", "<= 2 x", many <= 2 * few)
        b.against_peer("  of 10,000, beside MLflow's", some, "ms", f"mlflow_{what.split()[0]}_ms", 20)


def charts(b):
    with contextlib.ExitStack() as stack:
        few = made(b, stack, "bench_series", "webui-100", 100, 10, 1000)
        many = made(b, stack, "bench_series", "webui-1000", 1000, 10, 10000)
        took = {few: [], many: []}
        for _ in range(ROUNDS):
            for cluster in took:
                job = {"name": "charts", "url": cluster.url + "/det/experiments/1/metrics", "until": DRAWN + " >= 10", "rounds": 1, "height": 2600}
                took[cluster].append(median(stopwatch(b, [job])["charts"]))
    ours = statistics.median(took[few])
    ratio = statistics.median(large / small for small, large in zip(took[few], took[many]))
    b.row("10 charts of 100 trials x 1,000 steps", f"{ours:.0f} ms", "-", "-", "-", None)
    b.against_peer("  beside MLflow's", ours, "ms", "mlflow_chart_ms", 20)
    b.against_peer("  beside TensorBoard's", ours, "ms", "tensorboard_chart_ms", 20)
    b.row("10 charts of 1,000 trials x 10,000 steps", f"{statistics.median(took[many]):.0f} ms", f"{ours:.0f} ms of 100 x 1,000", f"{ratio:.1f} x", "<= 5 x", ratio <= 5)


def compare_pages(b, what, beside, few, many, address, until, bar, then=()):
    took = {few: [], many: []}
    at = 1 if then else 0
    for _ in range(ROUNDS):
        for cluster in took:
            job = {"name": "page", "url": cluster.url + address, "until": until, "then": list(then), "rounds": 1}
            took[cluster].append(median(stopwatch(b, [job])["page"], at))
    ratio = statistics.median(large / small for small, large in zip(took[few], took[many]))
    b.row(what, f"{statistics.median(took[many]):.0f} ms", f"{statistics.median(took[few]):.0f} ms {beside}", f"{ratio:.1f} x", f"<= {bar} x", ratio <= bar)


def one_series(b):
    with contextlib.ExitStack() as stack:
        few, many = (made(b, stack, "bench_series", f"webui-one-{steps}", 1, 1, steps) for steps in (10000, 10000000))
        compare_pages(b, "a chart of 10,000,000 reports", "of 10,000", few, many, "/det/trials/1/metrics", DRAWN + " >= 1", 2)


def logs(b):
    """Its view tells what it has drawn: `data-at` is the line it went to."""
    def to(what, at):
        return {"do": f"const box = document.querySelector('.log-goto'); box.value = '{what}'; box.dispatchEvent(new Event('input', {{bubbles: true}}));"
                      "box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))",
                "until": f"[{at}].includes(document.querySelector('.log').dataset.at)"}

    with contextlib.ExitStack() as stack:
        few, many = (made(b, stack, "bench_lines", f"webui-lines-{lines}", lines) for lines in (10000, 10000000))
        shown = "document.querySelector('.log[data-drawn]')"
        compare_pages(b, "log of 10,000,000 lines: open at its end", "of 10,000", few, many, "/det/trials/1/logs", shown, 2)
        compare_pages(b, "  jump to a line", "of 10,000", few, many, "/det/trials/1/logs", shown, 2, [to("5000", "'5000'")])
        compare_pages(b, "  jump to a time", "of 10,000", few, many, "/det/trials/1/logs", shown, 2, [to("2023-11-14T22:13:25Z", "'5000', '5001'")])
        compare_pages(b, "  jump to its end", "of 10,000", few, many, "/det/trials/1/logs?line=1", shown, 2, [to("end", "'end'")])


def measure_peers(b):
    """Fills b.peer, from the same machine in the same run."""
    directory = b.fresh("webui-mlflow")
    with MLflow(b.bin, directory) as server:
        webui_peers.fill_mlflow(server, directory + "/mlflow.db", 100, 1000)
        jobs = [webui_peers.mlflow_first(server), webui_peers.mlflow_chart(server, 100)]
        out = stopwatch(b, jobs)
    b.peer["mlflow_first_ms"], b.peer["mlflow_chart_ms"] = median(out["first"]), whole(out["chart"])
    shutil.rmtree(directory)
    with MLflow(b.bin, b.fresh("webui-mlflow")) as server:
        webui_peers.fill_mlflow(server, directory + "/mlflow.db", 10000, 1)
        out = stopwatch(b, [webui_peers.mlflow_table(server)])["table"]
    b.peer["mlflow_sort_ms"], b.peer["mlflow_next_ms"], b.peer["mlflow_search_ms"] = (median(out, at) for at in (1, 2, 3))
    webui_peers.fill_tensorboard(b.build + "/venv/bin/python", b.work + "/webui-tensorboard", 100, 1000)
    with webui_peers.TensorBoard(b.build + "/venv/bin/python", b.work + "/webui-tensorboard", 100) as board:
        out = stopwatch(b, [webui_peers.tensorboard_first(board), webui_peers.tensorboard_chart(board)])
    b.peer["tensorboard_first_ms"], b.peer["tensorboard_chart_ms"] = median(out["first"]), whole(out["chart"])


def section_webui(b):
    if b.bin:
        measure_peers(b)
    for part in (first_page, table, charts, one_series, logs):
        part(b)
