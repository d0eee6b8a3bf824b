# SPDX-License-Identifier: Apache-2.0
"""Which Keras this process uses: Keras 3, or with TF_USE_LEGACY_KERAS=1 its predecessor `tf_keras`. Every module
of this package takes `keras` from here."""
import os

is_legacy = os.environ.get("TF_USE_LEGACY_KERAS", "") in ("1", "true", "True")

try:
    if is_legacy:
        import tf_keras as keras  # type: ignore[import-untyped,import-not-found,unused-ignore]
    else:
        import keras  # type: ignore[import-untyped,import-not-found,unused-ignore,no-redef]
    if getattr(keras, "__file__", None) is None:  # a folder of that name, not a package
        raise ModuleNotFoundError("", name=keras.__name__)
except ModuleNotFoundError as error:
    wanted = "tf_keras" if is_legacy else "keras"
    if error.name != wanted:
        raise
    raise ModuleNotFoundError(
        f"determined.keras needs the package '{wanted}', which this Python does not have: name it "
        "in environment.requirements of the experiment, or install it "
        f"(pip install {'tf_keras' if is_legacy else 'keras tensorflow-cpu'})",
        name=wanted,
    ) from None

if is_legacy:
    import tensorflow as _tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

    class tree:
        """keras.tree of Keras 3."""

        flatten = staticmethod(_tf.nest.flatten)
        map_structure = staticmethod(_tf.nest.map_structure)
        lists_to_tuples = staticmethod(_tf.__internal__.nest.list_to_tuple)

else:
    tree = keras.tree
backend: str = "tensorflow" if is_legacy else keras.backend.backend()
# One class under two names in Keras 3; tf_keras has the older name only.
Sequence = keras.utils.Sequence if is_legacy else keras.utils.PyDataset
