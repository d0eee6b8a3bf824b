# SPDX-License-Identifier: Apache-2.0
"""A separate master with very many experiments, written into its database while it was stopped."""
import os
import sqlite3
import subprocess

from testbed import Testbed, until

ROWS = """
WITH RECURSIVE n (i, r) AS (SELECT 1, 654435 UNION ALL SELECT i + 1, (i + 1) * 2654435761 % 1000003 FROM n WHERE i < {count})
INSERT INTO experiments (id, state, job_id, owner_id, project_id, parent_id, resource_pool, priority, weight, max_slots,
    submitted_us, start_us, end_us, progress, trials, search_seq, snapshot_seq, name, description, labels, searcher_type,
    searcher_metric, checkpoint_count, checkpoint_size)
SELECT i, CASE r % 10 WHEN 0 THEN 'ERROR' WHEN 1 THEN 'CANCELED' ELSE 'COMPLETED' END, 'job-' || i,
    CASE r % 10 WHEN 0 THEN (SELECT id FROM users WHERE username = 'determined') ELSE 1 + r % 2 END, 1, 0, 'default',
    r % 99, 1, -1, 1700000000000000 + i * 60000000, 1700000000000000 + i * 60000000, 1700000000000000 + i * 60000000 + r * 1000,
    1, 1, 0, 0, 'crowd-' || printf('%06d', r) || '-' || i, 'one of many', '["crowd"]', 'single', 'loss', 0, r
FROM n;
INSERT INTO experiment_configs SELECT id, '{{"name":"x","searcher":{{"name":"single","metric":"loss"}}}}', '' FROM experiments;
INSERT OR REPLACE INTO numbers SELECT 'next_experiment', MAX(id) + 1 FROM experiments;
"""


class ManyExperiments(Testbed):
    """Starts the master, stops it, fills its database, and starts it again."""

    def __init__(self, program, count):
        super().__init__(program, slots=0)
        self.start()
        subprocess.run([program, "stop"], env=self.env, stdout=subprocess.DEVNULL, check=True)
        until(lambda: not self.processes(), "the master has ended")
        database = sqlite3.connect(self.path("home/data/det", self.database()))
        with database:
            database.executescript(ROWS.format(count=count))
        database.close()
        self.start()

    def database(self):
        for folder, _, files in os.walk(self.path("home/data/det")):
            if "det.db" in files:
                return os.path.join(folder, "det.db")
        raise FileNotFoundError("det.db")
