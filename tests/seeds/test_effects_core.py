# SPDX-License-Identifier: Apache-2.0
"""Arguments of determined.core whose effect no other test shows."""
import contextlib
import io
import unittest
from unittest import mock

from offline_case import Offline

import determined as det
from determined import core, launch
from determined.core._preempt import PreemptContext
from determined.launch import torch_distributed


class Ranks(Offline):
    def joins(self, make):
        """What libdet is asked for: (arguments, keywords)."""
        group = mock.Mock(ranks=(0, 1, 0, 1, 0, 1))
        with mock.patch("determined._det.distributed", return_value=group) as distributed:
            make()
        return distributed.call_args

    def test_the_address_of_the_chief(self):
        hvd = mock.Mock(**{f"{name}.return_value": value for name, value in
                           dict(rank=0, size=2, local_rank=0, local_size=1, cross_rank=0, cross_size=2).items()})
        self.assertEqual(self.joins(lambda: core.DistributedContext.from_horovod(hvd, "10.0.0.7")).args[2], "10.0.0.7")
        for make in (core.DistributedContext.from_deepspeed, core.DistributedContext.from_torch_distributed):
            self.assertEqual(self.joins(lambda: make("10.0.0.7")).kwargs["chief"], "10.0.0.7")

    def test_a_port_from_the_environment_has_the_offset(self):
        ranks = dict(rank=0, size=2, local_rank=0, local_size=1, cross_rank=0, cross_size=2)
        options = dict(pub_port=4000, port_offset=3, secret="s", force_tcp=True)
        call = self.joins(lambda: core.DistributedContext(**ranks, **options))
        self.assertEqual(call.args[3], 4003)
        self.assertEqual((call.kwargs["secret"], call.kwargs["tcp"]), ("s", True))


class Preempt(unittest.TestCase):
    def test_the_request_is_acknowledged_at_once_or_on_demand(self):
        for at_once in (True, False):
            library = mock.Mock()
            dist = mock.Mock(rank=0)
            dist._group.preempted.return_value = True
            context = PreemptContext(library, dist, core.PreemptMode.WorkersAskChief)
            self.assertTrue(context.should_preempt(auto_ack=at_once))
            self.assertEqual(library.preempt_ack.called, at_once)
            context.acknowledge_preemption_signal()
            self.assertTrue(library.preempt_ack.called)


class Spaces(unittest.TestCase):
    def test_a_grid_takes_as_many_values_as_it_is_told(self):
        for space in (det.Integer(1, 5, count=3), det.Double(0.5, 1.5, count=3), det.Log(-3, -1, base=2.0, count=3)):
            self.assertEqual(space["count"], 3)


class Launching(unittest.TestCase):
    def test_options_of_torchrun_without_a_meaning_are_named(self):
        for name in (*torch_distributed._LEFT_OUT, *torch_distributed._FLAGS_LEFT_OUT):
            value = ["x"] if name in torch_distributed._LEFT_OUT else []
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                self.assertEqual(torch_distributed.split([f"--{name}", *value, "--", "a"]), ([], ["a"]))
            self.assertEqual(said.getvalue(), f"determined: torchrun's --{name} has no effect here\n")

    def test_options_with_a_value(self):
        for name in launch._TAKE_A_VALUE:
            self.assertEqual(launch._split([name, "2", "a"]), ([name, "2"], ["a"]))


if __name__ == "__main__":
    unittest.main()
