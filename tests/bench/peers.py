# SPDX-License-Identifier: Apache-2.0
"""The peers, in a virtual environment of their own: MLflow's server, the official client, the frameworks' loaders."""
import http.client
import json
import os
import shutil
import signal
import subprocess
import time

from cluster import descendants, free_port, status, wait_for

PACKAGES = ["mlflow", "determined==0.38.1", "torch==2.13.0", "tensorflow-cpu==2.21.0"]
HERE = os.path.dirname(os.path.abspath(__file__))


def install(directory):
    """The environment's bin directory, and what is in it."""
    pip, stamp = directory + "/bin/pip", directory + "/installed"
    wanted = "\n".join(PACKAGES)
    if not os.path.exists(stamp) or open(stamp).read() != wanted:
        print("installing", *PACKAGES, "into", directory, flush=True)
        subprocess.run(["python3", "-m", "venv", directory], check=True)
        done = subprocess.run([pip, "install", "--quiet", *PACKAGES], stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError("the peers could not be installed:\n" + done.stderr[-2000:])
        with open(stamp, "w") as f:
            f.write(wanted)
    listed = json.loads(subprocess.run([pip, "list", "--format", "json"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, check=True).stdout)
    names = [package.split("==")[0] for package in PACKAGES]
    return directory + "/bin", ", ".join(f"{p['name']} {p['version']}" for p in listed if p["name"].replace("_", "-") in names)


class MLflow:
    """`mlflow server` as it comes, its data in SQLite."""

    def __init__(self, bin_directory, directory):
        os.makedirs(directory, exist_ok=True)
        self.port = free_port()
        self.command = [bin_directory + "/mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port),
                        "--backend-store-uri", f"sqlite:///{directory}/mlflow.db",
                        "--default-artifact-root", directory + "/artifacts"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        wait_for(self.is_up, 180)
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(60)

    def is_up(self):
        try:
            return self.call("GET", "/health") == 200
        except OSError:
            return False

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        return json.loads(text) if body else reply.status

    def start_s(self):
        """Start to first answer with existing data; the server is left to __exit__."""
        began = time.monotonic()
        self.__enter__()
        return time.monotonic() - began

    def rss_mb(self):
        return sum(status(pid, "VmRSS") for pid in descendants(self.process.pid)) / 1024

    def batches(self, load, connections, seconds):
        """log_batch calls of five metrics a second."""
        run = self.call("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0", "start_time": 1700000000000})
        names = ["loss", "accuracy", "lr", "grad_norm", "seconds"]
        metrics = ",".join('{"key":"%s","value":0.6931,"timestamp":1700000000000,"step":@}' % name for name in names)
        body = '{"run_id":"%s","metrics":[%s]}' % (run["run"]["info"]["run_id"], metrics)
        out = subprocess.run([load, str(self.port), str(connections), str(seconds), "1",
                              "/api/2.0/mlflow/runs/log-batch", "-", body], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
        return float(out.split()[0])


def loader_gbs(bin_directory, which, items):
    """GB/s of torch's or TensorFlow's own loader."""
    out = subprocess.run([bin_directory + "/python", HERE + "/loaders.py", which, str(items)], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return float(out.split()[-1])


def measure(bin_directory, directory, load):
    """{key: figure} of MLflow's server."""
    shutil.rmtree(directory, ignore_errors=True)
    figures = {"mlflow_start_s": []}
    for _ in range(3):  # the first one makes the database and does not count
        server = MLflow(bin_directory, directory)
        figures["mlflow_start_s"].append(server.start_s())
        server.__exit__()
    figures["mlflow_start_s"] = min(figures["mlflow_start_s"][1:])
    with MLflow(bin_directory, directory) as server:
        wait_for(lambda: len(descendants(server.process.pid)) > 1)
        time.sleep(5)
        figures["mlflow_rss_mb"] = server.rss_mb()
        for connections in (8, 64):
            figures[f"mlflow_batches_{connections}"] = server.batches(load, connections, 8)
    return figures
