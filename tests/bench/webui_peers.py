# SPDX-License-Identifier: Apache-2.0
"""The same runs in MLflow and in TensorBoard: made quickly, and how their pages say that they are done.

Metrics go straight into MLflow's database, as its server would have written them, since its API takes
minutes for a million of them; TensorBoard's files are written by its own writer.
"""
import json
import os
import signal
import sqlite3
import subprocess

from cluster import free_port, wait_for
from peers import MLflow

METRICS = [f"m{i}" for i in range(10)]


def value(run, metric, step):
    return (run + 1) * 1000.0 / (step + 10 + metric) + (step * 7 + run * 13 + metric * 5) % 17 / 17


def fill_mlflow(server, database, runs, steps):
    """`runs` runs with ten metrics of `steps` steps each, in experiment 0."""
    made = server.call("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0", "start_time": 1700000000000, "run_name": "like"})
    like = made["run"]["info"]["run_id"]
    server.call("POST", "/api/2.0/mlflow/runs/log-batch", {"run_id": like, "metrics": [
        {"key": "m0", "value": 1, "timestamp": 1700000000000, "step": 0}]})
    db = sqlite3.connect(database)
    db.execute("PRAGMA synchronous = OFF")
    columns = [row[1] for row in db.execute("PRAGMA table_info(runs)")]
    row = dict(zip(columns, db.execute(f"SELECT {', '.join(columns)} FROM runs WHERE run_uuid = ?", (like,)).fetchone()))
    ids = [f"{i:032x}" for i in range(1, runs + 1)]
    for i, run in enumerate(ids):
        new = {**row, "run_uuid": run, "name": f"run-{i * 7919 % runs:06d}", "start_time": 1700000000000 + i, "artifact_uri": row["artifact_uri"].replace(like, run)}
        db.execute(f"INSERT INTO runs ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", [new[c] for c in columns])
        db.execute("INSERT INTO tags (key, value, run_uuid) VALUES ('mlflow.runName', ?, ?)", (new["name"], run))
        for m, name in enumerate(METRICS):
            db.executemany("INSERT INTO metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES (?, ?, ?, ?, ?, 0)",
                           [(name, value(i, m, step), 1700000000000 + step, run, step) for step in range(steps)])
            db.execute("INSERT INTO latest_metrics (key, value, timestamp, step, is_nan, run_uuid) VALUES (?, ?, ?, ?, 0, ?)",
                       (name, value(i, m, steps - 1), 1700000000000 + steps, steps - 1, run))
    db.execute("DELETE FROM latest_metrics WHERE run_uuid = ?", (like,))
    db.execute("DELETE FROM metrics WHERE run_uuid = ?", (like,))
    db.execute("UPDATE runs SET lifecycle_stage = 'deleted' WHERE run_uuid = ?", (like,))
    db.commit()
    db.close()


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from webui_peers import METRICS, value
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
for run in range(int(sys.argv[3])):
    writer = EventFileWriter(f"{sys.argv[2]}/run-{run:04d}", max_queue_size=100000, flush_secs=600)
    for step in range(int(sys.argv[4])):
        writer.add_event(Event(wall_time=1700000000 + step, step=step, summary=Summary(
            value=[Summary.Value(tag="all/" + name, simple_value=value(run, m, step)) for m, name in enumerate(METRICS)])))
    writer.close()
"""


def fill_tensorboard(python, directory, runs, steps):
    if not os.path.isdir(directory):
        subprocess.run([python, "-c", WRITER, os.path.dirname(os.path.abspath(__file__)), directory, str(runs), str(steps)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class TensorBoard:
    """Loaded: its server reads all files before anybody looks."""

    def __init__(self, python, directory, runs):
        self.port = free_port()
        self.runs = runs
        self.command = [python, "-m", "tensorboard.main", "--logdir", directory, "--port", str(self.port), "--host", "127.0.0.1",
                        "--samples_per_plugin", "scalars=1000"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        wait_for(self.is_loaded, 300)
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(60)

    def is_loaded(self):
        done = subprocess.run(["curl", "-sf", f"http://127.0.0.1:{self.port}/data/plugin/scalars/tags"], stdout=subprocess.PIPE)
        try:
            return len(json.loads(done.stdout)) == self.runs and all(len(tags) == len(METRICS) for tags in json.loads(done.stdout).values())
        except ValueError:
            return False


# ---- how their pages say that they are done ----

def mlflow_runs(server):
    return f"http://127.0.0.1:{server.port}/#/experiments/0/runs?workflowType=machine_learning"


NAMES = "[...document.querySelectorAll('[role=row], tr')].map((row) => row.textContent).filter((text) => /run-\\d/.test(text))"


def mlflow_first(server):
    return {"name": "first", "url": mlflow_runs(server), "until": NAMES + ".length > 5", "rounds": 3}


def mlflow_chart(server, runs):
    """Its page of charts shows ten runs until one asks for all of them: page, menu and all runs together count."""
    press = ("const press = (node) => ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'].forEach((name) => node.dispatchEvent("
             "new (name.startsWith('p') ? PointerEvent : MouseEvent)(name, {bubbles: true, cancelable: true, button: 0})));")
    menu = "document.querySelector('[data-testid=experiment-view-runs-visibility-column-header]')"
    entry = "[...document.querySelectorAll('[role=menuitemradio]')].find((node) => node.textContent === 'Show all runs')"
    return {"name": "chart", "url": mlflow_runs(server) + "&compareRunsMode=CHART", "rounds": 1, "height": 2600, "until": f"{NAMES}.length > 5 && {menu}",
            "then": [{"do": f"{press} press({menu})", "until": entry},
                     {"do": f"{press} press({entry})", "until": f"document.querySelectorAll('.js-plotly-plot .scatterlayer .trace').length >= {runs * len(METRICS)}"}]}


def mlflow_table(server):
    """A column's head, "Load more", which stands where others have a next page, and a filter typed and entered."""
    first = NAMES + "[0]"
    count = "document.querySelector('.ag-root[aria-rowcount]').getAttribute('aria-rowcount')"
    more = "[...document.querySelectorAll('button')].find((one) => /load more/i.test(one.textContent))"
    typed = ("const box = document.querySelector('input[placeholder*=metrics]'); box.focus();"
             "Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(box, \"attributes.run_name ILIKE '%77%'\");"
             "box.dispatchEvent(new Event('input', {bubbles: true}));"
             "box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', code: 'Enter', keyCode: 13, bubbles: true}))")
    return {"name": "table", "url": mlflow_runs(server), "until": f"{NAMES}.length > 5 && {more}", "rounds": 3,
            "then": [{"do": f"window.before = {first}; document.querySelector('[data-testid=\"sort-header-Run Name\"]').click()", "until": f"{first} && {first} !== window.before"},
                     {"do": f"window.before = {count}; {more}.click()", "until": f"{count} !== window.before"},
                     {"do": f"window.before = {first}; {typed}", "until": f"{first} && {first} !== window.before && {NAMES}.every((name) => name.includes('77'))"}]}


def tensorboard_first(board):
    return {"name": "first", "url": f"http://127.0.0.1:{board.port}/#timeseries", "rounds": 3,
            "until": "/m0/.test(document.body.innerText) && /run-00/.test(document.body.innerText)"}


def tensorboard_chart(board):
    """Of more than 40 runs it selects none by itself: the box above their names selects all.  Both figures together count."""
    select = "document.querySelector('runs-data-table input[type=checkbox], runs-table input[type=checkbox], [role=columnheader] input[type=checkbox]').click()"
    return {"name": "chart", "url": f"http://127.0.0.1:{board.port}/#timeseries", "rounds": 1, "height": 2600,
            "until": "/m0/.test(document.body.innerText) && /run-00/.test(document.body.innerText)",
            "then": [{"do": select, "until": "document.querySelectorAll('line-chart').length >= 10 && !document.querySelector('mat-spinner, [role=progressbar]')"}]}
