# SPDX-License-Identifier: Apache-2.0
"""Combining metrics, and messages between ranks; as far as one process can test it. On two ranks: test_ddp.py."""
import json
import math
import pickle
import random
import unittest
from unittest import mock

import numpy as np
import torch

from determined.pytorch import MetricReducer, Reducer, _reducer
from determined.pytorch._device import to_device
from determined.pytorch._reducer import Means, Metrics, Reducers, pack, unpack


def group(states):
    """Ranks whose parts are these."""
    return mock.Mock(size=len(states), allgather=lambda mine: states)


class Numbers(unittest.TestCase):
    def test_a_mean_does_not_depend_on_who_saw_what(self):
        draw = random.Random(3)
        batches = [(draw.uniform(-1, 1) * 10 ** draw.randrange(-12, 12), draw.randrange(1, 99)) for _ in range(3000)]
        exact = math.fsum(value * weight for value, weight in batches) / sum(weight for _, weight in batches)
        for ranks in (1, 2, 3, 7):
            parts = [Means() for _ in range(ranks)]
            for i, (value, weight) in enumerate(batches):
                parts[i % ranks].add({"loss": value}, weight)
            states = [part.state() for part in parts]
            for part in parts:
                self.assertEqual(part.means(group(states)), {"loss": exact})

    def test_nor_on_where_it_was_interrupted(self):
        whole, first, second = Means(), Means(), Means()
        for i in range(2500):
            value = {"loss": torch.tensor(0.1) * i, "b": 1e20 if i == 7 else i / 3}
            whole.add(value, i % 5 + 1)
            (first if i < 1700 else second).add(value, i % 5 + 1)
            if i == 1699:
                second.load(json.loads(json.dumps(first.state())))
        self.assertEqual(second.means(), whole.means())
        self.assertEqual(second.state(), whole.state())

    def test_each_name_has_its_reducer(self):
        metrics = Metrics({"a": Reducer.AVG, "b": Reducer.SUM, "c": Reducer.MAX, "d": Reducer.MIN})
        for i, weight in ((1, 3), (4, 1)):
            metrics.add(dict.fromkeys("abcd", i), weight)
        self.assertEqual(metrics.values(), {"a": 1.75, "b": 5.0, "c": 4.0, "d": 1.0})
        self.assertTrue(metrics)
        metrics.reset()
        self.assertFalse(metrics)
        self.assertEqual(metrics.values(), {})
        with self.assertRaisesRegex(ValueError, "no reducer for the metric 'e'; there are: a, b, c, d"):
            metrics.add({"e": 1})
        self.assertRaisesRegex(TypeError, "the reducer 'avg' is not one of", Metrics, "avg")

    def test_what_is_not_finite_stays_to_be_seen(self):
        for values, mean, most in (
            ([1.0, math.nan], math.nan, math.nan),
            ([1.0, math.inf], math.inf, math.inf),
            ([-math.inf, math.inf], math.nan, math.inf),
            ([1e308, 1e308, 1e308], math.inf, 1e308),
        ):
            means, maxima = Means(), Metrics(Reducer.MAX)
            for value in values:
                means.add({"x": value})
                maxima.add({"x": torch.tensor(value, dtype=torch.float64)})
            for got, wanted in ((means.means()["x"], mean), (maxima.values()["x"], most)):
                self.assertEqual(str(got), str(wanted), values)

    def test_a_rank_may_have_nothing(self):
        means = Means()
        means.add({"x": 2}, 5)
        states = [{}, means.state()]
        self.assertEqual(Means().means(group(states)), {"x": 2.0})
        self.assertEqual(Means().means(group([{}, {}])), {})

    def test_tensors_are_put_aside_and_not_looked_at(self):
        means = Means()
        weight = torch.nn.Parameter(torch.tensor([2.0]))
        counter = torch.tensor(5)
        loss = (weight * 3).sum()
        with mock.patch.object(torch.Tensor, "item", side_effect=AssertionError), mock.patch.object(
            torch.Tensor, "tolist", side_effect=AssertionError
        ):
            means.add({"loss": loss, "weight": weight, "counter": counter, "half": torch.ones(1, 1, dtype=torch.bfloat16)})
        with torch.no_grad():
            weight.zero_()
            counter += 1
        self.assertEqual(means.means(), {"loss": 6.0, "weight": 2.0, "counter": 5.0, "half": 1.0})

    def test_each_number_of_an_array_or_tensor_is_a_metric(self):
        kinds = {"f1": Reducer.AVG, "most": Reducer.MAX, "loss": Reducer.AVG}
        metrics = Metrics(kinds)
        metrics.add({"f1": torch.tensor([1.0, 0.0]), "most": np.array([[1, 5]]), "loss": torch.ones(1)}, 1)
        metrics.add({"f1": torch.tensor([0.0, 1.0]), "most": np.array([[2, 3]]), "loss": 2.0}, 3)
        wanted = {"f1.0": 0.25, "f1.1": 0.75, "most.0.0": 2.0, "most.0.1": 5.0, "loss": 1.75}
        self.assertEqual(metrics.values(), wanted)
        loaded = Metrics(kinds)
        loaded.load(metrics.state())
        self.assertEqual(loaded.values(), wanted)
        with self.assertRaisesRegex(ValueError, r"'f1' with the shape \(3,\), but \(2,\) for the batches before it"):
            metrics.add({"f1": torch.ones(3), "most": np.array([[2, 3]]), "loss": 2.0})

    def test_what_is_no_number_says_so(self):
        means = Means()
        for value, sentence in (
            (torch.ones(1001), r"the metric 'x' is a tensor of shape \(1001,\) and torch.float32; expected one number"),
            (torch.tensor(1j), "torch.complex64"),
            ("text", "the metric 'x' is 'text'; expected a number"),
            ([1], r"the metric 'x' is \[1\]"),
            (None, "the metric 'x' is None"),
        ):
            with self.assertRaisesRegex(TypeError, sentence):
                means.add({"x": value})
        self.assertRaisesRegex(TypeError, "named 3; expected a string", means.add, {3: 1})
        means.add({"x": np.float32(2), "y": True})
        self.assertEqual(means.means(), {"x": 2.0, "y": 1.0})


class Count(MetricReducer):
    def __init__(self):
        self.trial = self  # objects that are not data are not saved
        self.model = torch.nn.Linear(1, 1)
        self.reset()

    def reset(self):
        self.seen = []
        self.table = {"sum": np.zeros(2)}

    def per_slot_reduce(self):
        return len(self.seen)

    def cross_slot_reduce(self, per_slot_metrics):
        return {"count": sum(per_slot_metrics)}


class Own(unittest.TestCase):
    alone = mock.Mock(size=1)

    def test_functions_get_all_values(self):
        reducers = Reducers()
        total = reducers.wrap(sum, name="total")
        total.update(3)
        total.update(torch.tensor(4.0, requires_grad=True))
        self.assertFalse(total.values[1].requires_grad)
        self.assertEqual(reducers.reduce(self.alone, training=True), {"total": 7.0})
        reducers.reset(training=True)
        self.assertEqual(reducers.reduce(self.alone, training=False), {"total": 0})

    def test_each_is_for_training_or_validation_or_both(self):
        reducers = Reducers()
        count = reducers.wrap(Count(), for_training=False)
        reducers.wrap(len, name="values", for_validation=False).update(1)
        count.seen.append(1)
        reducers.reset(training=True)
        self.assertEqual(reducers.reduce(self.alone, training=True), {"values": 0})
        self.assertEqual(reducers.reduce(self.alone, training=False), {"count": 1})

    def test_without_a_name_it_is_a_dictionary(self):
        reducers = Reducers()
        reducers.wrap(lambda values: 3)
        with self.assertRaisesRegex(TypeError, r"without a name \(_Function\) returned 3; expected a dictionary"):
            reducers.reduce(self.alone, training=True)

    def test_what_cannot_be_wrapped(self):
        reducers = Reducers()
        self.assertRaisesRegex(TypeError, "expected a MetricReducer, or a function", reducers.wrap, 3)
        self.assertRaisesRegex(TypeError, "expected a MetricReducer, or a function", reducers.wrap, Count)
        self.assertRaisesRegex(ValueError, "but this one is neither", reducers.wrap, sum, "a", False, False)
        reducers.wrap(sum, "a")
        self.assertRaisesRegex(ValueError, "there is already a reducer with the name 'a'", reducers.wrap, max, "a")
        with self.assertRaisesRegex(TypeError, "abstract"):
            MetricReducer()

    def test_they_go_on_where_they_were(self):
        first, second = Reducers(), Reducers()
        for reducers in (first, second):
            reducers.wrap(Count())
            reducers.wrap(max, name="most")
        first._all[0].reducer.seen += [1, torch.tensor(2.0)]
        first._all[0].reducer.table["sum"][1] = 5
        first._all[1].reducer.update(9)
        state = first.state()
        self.assertEqual(sorted(state[0]), ["seen", "table"])
        second.load(pickle.loads(pickle.dumps(state)))
        self.assertEqual(second.reduce(self.alone, True), {"count": 2, "most": 9})
        self.assertEqual(second._all[0].reducer.table["sum"].tolist(), [0, 5])
        self.assertRaisesRegex(ValueError, "checkpoint has 2 reducers, but this trial wraps 0", Reducers().load, state)

    def test_what_was_on_a_gpu_goes_back_there(self):
        """A checkpoint has it on the processor; `meta` stands for any other device."""
        first, second = Reducers(), Reducers()
        for reducers in (first, second):
            reducers.wrap(Count())
            reducers.wrap(max, name="most")
        first._all[0].reducer.seen = [1, torch.ones(2, device="meta")]
        first._all[1].reducer.update(torch.tensor(9))
        self.assertEqual(first.elsewhere(), [["seen"], []])
        saved = first.state()
        saved[0]["seen"] = [1, torch.ones(2)]
        second.load(saved, first.elsewhere(), lambda value: to_device(value, torch.device("meta"), set()))
        self.assertEqual([second._all[0].reducer.seen[0], second._all[0].reducer.seen[1].device.type], [1, "meta"])
        self.assertEqual(second._all[1].reducer.values[0].device.type, "cpu")


class Messages(unittest.TestCase):
    def same(self, one, other):
        self.assertEqual(type(one), type(other))
        if isinstance(one, torch.Tensor):
            self.assertEqual((one.dtype, one.shape), (other.dtype, other.shape))
            self.assertTrue(torch.equal(one, other))
        elif isinstance(one, np.ndarray):
            self.assertEqual((one.dtype, one.shape), (other.dtype, other.shape))
            self.assertEqual(one.tobytes(), other.tobytes())
        elif isinstance(one, dict):
            self.assertEqual(list(one), list(other))
            for name in one:
                self.same(one[name], other[name])
        elif isinstance(one, (list, tuple)):
            self.assertEqual(len(one), len(other))
            for a, b in zip(one, other):
                self.same(a, b)
        else:
            self.assertEqual(one, other)

    def test_what_is_sent_comes_as_it_was(self):
        kinds = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool)
        stuff = {
            "tensors": [torch.arange(7).to(kind) for kind in kinds],
            "empty": (torch.zeros(0), torch.zeros(3, 0), np.zeros((0, 2)), []),
            "scalars": [torch.tensor(1.5), torch.tensor(True), np.float32(3), 2, 2.5, None, "text", 1 + 2j],
            "views": [torch.arange(12.0).view(3, 4).t(), torch.arange(12.0)[::3], np.arange(12).reshape(3, 4)[:, 1]],
            "arrays": [np.arange(5, dtype=kind) for kind in ("f2", "f4", "f8", "i1", "i8", "u2")],
            "complex": torch.tensor([1j, 2]),
            "odd": [np.array(["a", None], dtype=object), np.array(["ab"]), np.arange(3, dtype=">i4"), {1, 2}],
        }
        got = unpack(pack(stuff))
        self.same({k: v for k, v in stuff.items() if k != "odd"}, {k: v for k, v in got.items() if k != "odd"})
        self.assertEqual([each.tolist() if hasattr(each, "tolist") else each for each in got["odd"]], [["a", None], ["ab"], [0, 1, 2], {1, 2}])
        got["tensors"][0][0] = 9  # may be written to
        got["arrays"][1][0] = 9

    def test_the_bulk_is_no_pickle(self):
        values = torch.arange(100000.0)
        views = list(values.split(100))
        message = pack({"views": views, "weights": torch.nn.Parameter(torch.ones(2))})
        self.assertLess(len(message), values.numel() * 4 + 60000)
        self.assertIn(values.numpy().tobytes(), message)
        self.same(unpack(message)["views"], views)

    def test_a_reader_that_does_not_know_says_so(self):
        self.assertRaisesRegex(pickle.UnpicklingError, "tensor 3 lies outside", _reducer._packed, 3)


if __name__ == "__main__":
    unittest.main()
