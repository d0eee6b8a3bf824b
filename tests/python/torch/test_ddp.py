# SPDX-License-Identifier: Apache-2.0
"""Two ranks without a master: weights are equal, and those of one process that takes the same batches; metrics are
exact; a rank that lost another one says so. Started by `det launch torch_distributed`, in a task:
tests/e2e/3024-pytorch-two-slots.sh."""
import math
import unittest
from unittest import mock

import children
import ddp_ranks
import torch
from offline_case import Offline

from determined.pytorch import _ddp

class Ranks(Offline):
    def near(self, first, second, delta):
        for one, other in zip(first, second, strict=True):
            for a, b in zip(one, other, strict=True):
                self.assertAlmostEqual(a, b, delta=delta)

    def test_two_ranks_train_as_one_process_does(self):
        done = children.run_ranks(2, ddp_ranks.main, DET_TRIAL_SEED=5)
        alone = children.run(ddp_ranks.alone, DET_TRIAL_SEED=5)
        for each in (*done, alone):
            self.assertEqual(each["code"], 0, each["log"])
        ranks = [each["value"] for each in done]
        for name in ("plain", "aggregated", "half", "amp"):
            with self.subTest(name):
                # Equal on both, and wrapped; metrics too, to the last bit.
                self.assertEqual(ranks[0][name], ranks[1][name])
                self.assertEqual(ranks[0][name]["difference"], None)
                self.assertEqual(ranks[0][name]["wrapped"], "_Parallel")
        self.check_training(ranks[0], alone["value"])
        self.check_parts([each["parts"] for each in ranks])
        self.check_exchange([each["exchange"] for each in ranks])

    def check_training(self, found, alone):
        """Two ranks with batches of 4 take the steps of one process that averages two such batches."""
        self.assertEqual(alone["plain"]["wrapped"], "Sequential")
        for name, wanted in alone.items():
            self.near(found[name]["weights"], wanted["weights"], 1e-6)
            self.assertAlmostEqual(found[name]["metrics"]["error"], wanted["metrics"]["error"], delta=1e-6)
            # Values that do not depend on rounding are the same to the last bit, with 3, 3, 3 and 1 records
            # in batches.
            for metric in ("target", "spread", "parts", "largest"):
                self.assertEqual(found[name]["metrics"][metric], wanted["metrics"][metric], metric)
        y = ddp_ranks.data(ddp_ranks.HELD, 2).tensors[1]
        self.assertEqual(alone["plain"]["metrics"]["parts"], 4)
        self.assertEqual(alone["plain"]["metrics"]["spread"], float(y.max() - y.min()))
        self.assertEqual(alone["plain"]["metrics"]["largest"], float(y.max()))
        self.assertAlmostEqual(alone["plain"]["metrics"]["target"], float(y.double().mean()), delta=1e-15)
        # Less precise, and different: so the conversions did happen.
        for name in ("half", "amp"):
            self.near(found[name]["weights"], alone["plain"]["weights"], 0.05)
            self.assertNotEqual(found[name]["weights"], found["plain"]["weights"])
        self.assertNotEqual(found["aggregated"]["weights"], found["plain"]["weights"])

    def check_parts(self, ranks):
        for each in ranks:
            self.assertEqual((each["device"], each["is_distributed"], each["kept"]), ("cpu", True, True))
            self.assertEqual(each["frozen"], ranks[0]["frozen"])
            self.assertEqual(each["frozen"][0], "Linear")
            self.assertEqual(each["buffers"], ranks[0]["buffers"])
            self.assertTrue(each["again"])
            self.assertIsNone(each["alike"])
            self.assertEqual(each["told"], [False, True])
            self.assertRegex(each["different"], r"^ranks 0 and 1 have different weights \(model 0: bias\)")

    def check_exchange(self, ranks):
        self.assertEqual(ranks[0]["means"], ranks[1]["means"])
        values = [0.1 * i if i % 4 == 0 else float(torch.tensor(0.1 * i)) for i in range(9)]
        exact = math.fsum(value * i for i, value in enumerate(values)) / sum(range(9))
        self.assertEqual(ranks[0]["means"], {"x": exact, "rare": (16 + 64) / 12})
        self.assertIsNone(ranks[1]["gathered"])
        self.assertEqual(ranks[0]["gathered"], [[[1.5], 0, 0, "rank 0"], [[1.5, 1.5], 1, 1, "rank 1"]])
        self.assertEqual([each["all"] for each in ranks], [[0, 1], [0, 1]])

    def test_who_has_lost_a_rank_says_so_after_it(self):
        for how, code in (("raised", 1), ("killed", children.KILLED)):
            zero, one = children.run_ranks(2, ddp_ranks.lose, how)
            with self.subTest(how):
                self.assertEqual(one["code"], code)
                self.assertEqual(zero["code"], 1)
                self.assertIn("the connection to another process of this training broke", zero["log"])
        self.assertNotIn("error", one)


class Alone(Offline):
    def group(self, **ranks):
        return mock.Mock(rank=0, size=1, local_rank=0, local_size=1, cross_size=1, **ranks)

    def test_one_rank_has_nothing_to_do(self):
        ranks = _ddp.join(self.group())
        model = torch.nn.Linear(1, 1)
        self.assertIs(ranks.wrap(model), model)
        self.assertIs(_ddp.plain(model), model)
        with ranks.no_sync(), ranks.evaluating(), ranks.guard():
            self.assertIsNone(ranks.difference())
        ranks.compress(torch.optim.SGD(model.parameters()))
        ranks.leave()
        self.assertFalse(torch.distributed.is_initialized())

    def test_a_gpu_that_is_not_there(self):
        with mock.patch.object(torch.cuda, "is_available", return_value=True), mock.patch.object(
            torch.cuda, "device_count", return_value=1
        ), mock.patch.object(torch.cuda, "set_device") as chosen:
            self.assertEqual(_ddp.device(0, 2), torch.device("cuda", 0))
            chosen.assert_called_once_with(0)
            with self.assertRaisesRegex(RuntimeError, "process 1 of 2 on this machine has no GPU: 1 can be seen"):
                _ddp.device(1, 2)

    def test_those_that_do_not_come_are_not_waited_for_for_ever(self):
        distributed = mock.Mock(rank=0, size=2, cross_size=1)
        distributed.broadcast.side_effect = lambda value: value
        with self.assertRaisesRegex(
            RuntimeError, "rank 0 could not reach the other 1 processes of this training on this machine within 0.2 seconds"
        ):
            _ddp._open(distributed, "gloo", 0.2)
        self.assertFalse(torch.distributed.is_initialized())

    def test_who_has_lost_a_peer_stands_back(self):
        ranks = _ddp.join(self.group())
        ranks.size = 2
        for error, waits in (
            (RuntimeError("[gloo/transport/tcp/pair.cc:538] Connection closed by peer [127.0.0.1]:1"), True),
            (RuntimeError("shapes cannot be multiplied"), False),
            (ValueError("gloo"), False),
        ):
            with mock.patch.object(_ddp, "_stand_back") as stand_back, self.assertRaises(type(error)) as caught:
                with ranks.guard():
                    raise error
            self.assertIs(caught.exception, error)
            self.assertEqual(stand_back.called, waits)
        with self.assertRaisesRegex(RuntimeError, "find_unused_parameters=True"), ranks.guard():
            raise RuntimeError(_ddp._UNUSED + " ...")


if __name__ == "__main__":
    unittest.main()
