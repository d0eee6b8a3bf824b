# SPDX-License-Identifier: Apache-2.0
"""reproducibility.deterministic in a Python program, with stand-ins for the frameworks (tests/e2e/3040 and 3041 have the
real ones)."""
import os
import subprocess
import sys
import tempfile
import unittest

# A module that notes which of its functions are called.
STAND_IN = """
import types

calls = []


class Part(types.SimpleNamespace):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, Part(path=self.path + name + "."))
        return getattr(self, name)

    def __call__(self, *args):
        calls.append((self.path.rstrip("."), *args))


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return globals().setdefault(name, Part(path=name + "."))
"""


def run(code, **variables):
    """What the program prints, among stand-ins for all frameworks."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("numpy", "torch", "tensorflow"):
            with open(f"{folder}/{name}.py", "w", encoding="utf-8") as f:
                f.write(STAND_IN)
        path = os.pathsep.join([folder, os.environ["PYTHONPATH"]])
        clean = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "CUBLAS_WORKSPACE_CONFIG")}
        done = subprocess.run([sys.executable, "-c", code], env={**clean, "PYTHONPATH": path, **variables},
                              stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


WANTED = {"DET_DETERMINISTIC": "1", "DET_TRIAL_SEED": "5"}
SHOW = "print(torch.calls, tensorflow.calls, numpy.calls)"
CALLS = ("[('use_deterministic_algorithms', True), ('manual_seed', 5)] "
         "[('config.experimental.enable_op_determinism',), ('random.set_seed', 5)] [('random.seed', 5)]")


class Determinism(unittest.TestCase):
    def test_each_framework_is_set_when_it_is_imported(self):
        self.assertEqual(run("import determined, torch, tensorflow, numpy\n" + SHOW, **WANTED), [CALLS])

    def test_also_if_it_was_imported_before(self):
        self.assertEqual(run("import torch, tensorflow, numpy, determined\n" + SHOW, **WANTED), [CALLS])

    def test_nothing_is_set_without_the_key(self):
        self.assertEqual(run("import determined, torch, tensorflow, numpy\n" + SHOW), ["[] [] []"])

    def test_cudnn_does_not_choose_by_speed(self):
        code = "import determined, torch\nprint(torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic)"
        self.assertEqual(run(code, **WANTED), ["False True"])

    def test_flags_of_the_configuration_are_kept(self):
        code = "import determined, os\nprint(os.environ['XLA_FLAGS'])\nprint(os.environ['CUBLAS_WORKSPACE_CONFIG'])"
        self.assertEqual(run(code, **WANTED, XLA_FLAGS="--xla_dump_to=/d", CUBLAS_WORKSPACE_CONFIG=":16:8"),
                         ["--xla_dump_to=/d --xla_gpu_deterministic_ops=true", ":16:8"])

    def test_random_has_the_seed_of_the_trial(self):
        code = "import determined, random\nprint(random.random())"
        self.assertEqual(run(code, **WANTED), run(code, **WANTED))
        self.assertNotEqual(run(code, **WANTED), run(code, DET_DETERMINISTIC="1", DET_TRIAL_SEED="6"))


if __name__ == "__main__":
    unittest.main()
