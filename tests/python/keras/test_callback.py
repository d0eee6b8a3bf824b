# SPDX-License-Identifier: Apache-2.0
"""The callback API: its reports, its checkpoints, its errors."""
import json
import os
import unittest
from unittest import mock

import keras
import numpy as np
import training
from training import Training, callback

import determined as det
from determined import core
from determined.keras import _hooks


class Seen(Training):
    """Remembers the reports."""

    def setUp(self):
        super().setUp()
        self.seen = seen = []
        before = core.TrainContext._report

        def report(self, group, steps, metrics, batch_metrics=None):
            seen.append((group, steps, dict(metrics)))
            return before(self, group, steps, metrics, batch_metrics)

        core.TrainContext._report = report
        self.addCleanup(setattr, core.TrainContext, "_report", before)

    def steps(self, group):
        return [steps for found, steps, _ in self.seen if found == group]

    def fit(self, made=None, options=None, callbacks=(), **fit):
        made = made or training.model()
        fit = {"epochs": 2, "batch_size": 16, "verbose": 0, **fit}
        with det.core.init() as context:
            loop = callback(context, **(options or {}))
            made.fit(fit.pop("x", training.X), fit.pop("y", training.Y), callbacks=[loop, *callbacks], **fit)
        return loop


class Reports(Seen):
    def test_metrics_are_reported_by_epochs(self):
        validation = (training.X, training.Y)
        self.fit(validation_data=validation)
        self.assertEqual(self.steps("training"), [13, 26])
        self.assertEqual(self.steps("validation"), [13, 26])
        group, _, metrics = self.seen[-1]
        self.assertEqual(sorted(metrics), ["batches", "epochs", "loss", "mae"])
        self.assertEqual({found for found, _, _ in self.seen}, {"training", "validation"})

    def test_metrics_are_reported_every_so_many_batches(self):
        self.fit(options={"train_metrics_report_period": 10})
        self.assertEqual(self.steps("training"), [10, 20, 26])

    def test_checkpoints_come_by_epochs_and_at_the_end(self):
        saved = []

        class Saving(det.keras.DeterminedCallback):
            def save_model(self, model, path, distributed):
                saved.append(self.batches)
                super().save_model(model, path, distributed)

        made = training.model()
        with det.core.init() as context:
            loop = Saving(context, None, 1, checkpoint_epochs=2)
            made.fit(training.X, training.Y, batch_size=16, epochs=5, verbose=0, callbacks=[loop])
        self.assertEqual(saved, [26, 52, 65])
        self.assertIn("model.weights.h5", self.files())

    def saved_after(self, policy, epochs):
        """The epochs after which it saves a training of four with a validation that is better each time."""
        os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps(
            {"checkpoint_policy": policy, "searcher": {"name": "single", "metric": "loss"}}
        )
        self.in_folder(f"{policy}{epochs}")
        saved, save = [], det.keras.DeterminedCallback.save

        def note(loop):
            saved.append(loop.epochs)
            return save(loop)

        made = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(2)])
        made.compile(keras.optimizers.SGD(0.01), "mse")
        with mock.patch.object(det.keras.DeterminedCallback, "save", note):
            self.fit(made, {"checkpoint_epochs": epochs}, epochs=4, validation_data=(training.X, training.Y))
        losses = [metrics["loss"] for group, _, metrics in self.seen if group == "validation"][-4:]
        self.assertEqual(losses, sorted(losses, reverse=True))
        return saved

    def test_checkpoint_epochs_says_when_to_save_and_the_best_validation_does_not(self):
        self.assertEqual(self.saved_after("best", 0), [4])
        self.assertEqual(self.saved_after("none", 0), [4])
        self.assertEqual(self.saved_after("none", 3), [3, 4])
        self.assertEqual(self.saved_after("best", 3), [3, 4])
        self.assertEqual(self.saved_after("all", 0), [1, 2, 3, 4])

    def test_a_model_saved_in_a_form_of_the_users_resumes_exactly_too(self):
        class Own(det.keras.DeterminedCallback):
            def save_model(self, model, path, distributed):
                np.savez(os.path.join(path, "own.npz"), *[each.numpy() for each in model.weights])

            def load_model(self, model, path, distributed):
                held = np.load(os.path.join(path, "own.npz"))
                model.set_weights([held[name] for name in held.files])

        def train(stop_after):
            made = training.model()
            with det.core.init() as context:
                loop = Own(context, context.latest_checkpoint, 1)
                stop = training.StopAfter(loop, stop_after)
                made.fit(training.X, training.Y, batch_size=16, epochs=3, verbose=0, callbacks=[loop, stop])
            return [each.numpy().tobytes() for each in made.variables]

        self.in_folder("whole")
        wanted = train(0)
        self.in_folder("stopped")
        train(20)
        self.assertEqual(train(0), wanted)

    def test_steps_per_execution_counts_batches(self):
        made = training.model()
        made.compile("adam", "mse", steps_per_execution=4)
        loop = self.fit(made, {"train_metrics_report_period": 4}, x=training.X[:192], y=training.Y[:192])
        self.assertEqual(loop.batches, 24)
        self.assertEqual(self.steps("training"), [4, 8, 12, 16, 20, 24])


class Continuing(Seen):
    def test_another_continue_id_takes_the_weights_only(self):
        self.fit()
        with open(os.path.join(self.path("run"), "latest.json")) as file:
            uuid = json.load(file)["uuid"]
        made = training.model()
        with det.core.init() as context:
            loop = det.keras.DeterminedCallback(context, uuid, "another")
            history = made.fit(training.X, training.Y, batch_size=16, epochs=1, verbose=0, callbacks=[loop])
        self.assertEqual(loop.batches, 13)
        self.assertEqual(history.epoch, [0])
        self.assertEqual(int(made.optimizer.iterations.numpy()), 13)

    def test_a_training_that_is_complete_trains_no_more(self):
        self.fit()
        self.seen.clear()
        made = training.model()
        loop = self.fit(made)
        self.assertEqual((loop.batches, self.seen), (26, []))
        self.assertEqual(int(made.optimizer.iterations.numpy()), 26)

    def test_a_longer_one_goes_on(self):
        self.fit()
        loop = self.fit(epochs=3)
        self.assertEqual(loop.batches, 39)

    def test_a_training_that_had_enough_trains_no_more(self):
        stop = keras.callbacks.EarlyStopping(monitor="loss", patience=0, min_delta=100)
        loop = self.fit(epochs=9, callbacks=[stop])
        self.assertEqual(loop.batches, 26)
        stop = keras.callbacks.EarlyStopping(monitor="loss", patience=0, min_delta=100)
        self.assertEqual(self.fit(epochs=9, callbacks=[stop]).batches, 26)

    def test_a_stopped_epoch_is_not_ended(self):
        ended = []
        end = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: ended.append(epoch))
        made = training.model()
        with det.core.init() as context:
            loop = callback(context)
            made.fit(
                training.X,
                training.Y,
                batch_size=16,
                epochs=3,
                verbose=0,
                validation_data=(training.X, training.Y),
                callbacks=[loop, end, training.StopAfter(loop, 17)],
            )
        self.assertEqual(ended, [0])
        self.assertEqual(self.steps("validation"), [13])
        self.assertEqual(made.evaluate(training.X, training.Y, verbose=0, return_dict=True).keys(), {"loss", "mae"})


class BadInput(Seen):
    def test_arguments(self):
        with det.core.init() as context:
            for wanted, make in {
                "core_context is None": lambda: det.keras.DeterminedCallback(None, None, 1),
                "continue_id is None": lambda: det.keras.DeterminedCallback(context, None, None),
                "train_metrics_report_period is 0": lambda: callback(context, train_metrics_report_period=0),
                "train_metrics_report_period is 'batch'": lambda: callback(
                    context, train_metrics_report_period="batch"
                ),
                "checkpoint_epochs is -1": lambda: callback(context, checkpoint_epochs=-1),
            }.items():
                with self.assertRaisesRegex((TypeError, ValueError), wanted):
                    make()

    def test_fit_twice(self):
        made = training.model()
        with det.core.init() as context:
            loop = callback(context)
            made.fit(training.X, training.Y, verbose=0, callbacks=[loop])
            with self.assertRaisesRegex(RuntimeError, "fit\\(\\) was called a second time"):
                made.fit(training.X, training.Y, verbose=0, callbacks=[loop])

    def test_a_checkpoint_of_another_model_names_the_layer(self):
        self.fit()
        with self.assertRaisesRegex(ValueError, "its weight '.*first/kernel' is 6 x 8, the model's '.*first/kernel' is 6 x 9"):
            self.fit(training.model(9))

    def test_a_checkpoint_with_more_layers(self):
        self.fit()
        made = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(8)])
        made.compile("adam", "mse")
        with self.assertRaisesRegex(ValueError, "the checkpoint has a weight '.*gamma', the model does not"):
            self.fit(made, y=np.zeros((training.ROWS, 8)))

    def test_a_checkpoint_that_is_not_ours(self):
        with det.core.init() as context:
            with context.checkpoint.store_path({"steps_completed": 3}) as (path, uuid):
                (path / "weights").write_text("mine")
        with self.assertRaisesRegex(ValueError, "was not saved by determined.keras"):
            self.fit()

    def test_a_mistake_in_a_layer_is_told_as_it_is(self):
        class Boom(keras.layers.Layer):
            def call(self, x):
                return self.nothing

        made = keras.Sequential([Boom(), keras.layers.Dense(2)])
        made.compile("sgd", "mse")
        with self.assertRaisesRegex(AttributeError, "'Boom' object has no attribute 'nothing'"):
            self.fit(made)

    def test_no_data(self):
        with self.assertRaisesRegex(ValueError, "the training data is empty"):
            self.fit(x=training.X[:0], y=training.Y[:0])
        for empty in (training.dataset().take(0), training.dataset().filter(lambda x, y: False)):
            with self.assertRaisesRegex(ValueError, "the training data is empty"):
                self.fit(x=empty, y=None, batch_size=None)

    def test_a_metric_of_the_searcher_that_is_never_reported(self):
        made = training.model()
        with det.core.init() as context:
            loop = callback(context)
            loop._config = {"searcher": {"metric": "val_accuracy"}}
            with self.assertRaisesRegex(ValueError, "'val_accuracy' is not among the validation metrics: loss, mae"):
                made.fit(training.X, training.Y, validation_data=(training.X, training.Y), verbose=0, callbacks=[loop])


class Hooks(Seen):
    def test_what_keras_must_have(self):
        """Names the parts that a new Keras has lost, instead of training wrongly."""
        found = []

        class Look(keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                found.append(_hooks.Fit(self.model))

        made = training.model()
        made.fit(training.X, training.Y, verbose=0, callbacks=[Look()])
        fit = found[0]
        for owner, names in (
            (fit.iterator, "_enumerate_iterator _get_iterator data_adapter _num_batches _steps_seen"),
            (fit.iterator, "steps_per_epoch steps_per_execution _distributed_dataset _distribute_strategy"),
            (fit.adapter, "_inputs _num_samples _batch_size _shuffle on_epoch_begin on_epoch_end"),
            (made, "_symbolic_build _initial_epoch _should_eval train_step call"),
            (fit.callbacks, "callbacks"),
        ):
            for name in names.split():
                self.assertTrue(hasattr(owner, name), f"Keras {keras.__version__}: {type(owner).__name__}.{name} is gone")
        self.assertIn(_hooks._COMPILED_STEP, made.train_function.__code__.co_freevars)
        keras.random.uniform(())
        self.assertEqual(len(_hooks.seeds(made)), 1)


if __name__ == "__main__":
    unittest.main()
