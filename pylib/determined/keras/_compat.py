# SPDX-License-Identifier: Apache-2.0
"""Names and arguments of Keras 2 that Keras 3 dropped.

Programs written for Keras 2 keep running: `install()` restores what they use. Three kinds are missing, and each
kind is restored in one way:

    names       of modules: the modules get a `__getattr__` (PEP 562), which is called only for names
                that Keras itself does not have.  Tables: _NAMES, _BORROWED, _MODULES.
    arguments   of methods: the method is replaced, in the class that defines it, by one that
                translates the old arguments and calls it.  Keras compares methods with those of
                its own classes (`compile`, when a model is loaded), so no subclass may differ.
                Tables: METHODS of _compat_model, _compat_optimizer and _compat_files.
    functions   that other modules imported by name: replaced in every module that holds them.

A program that uses none of them sees no difference: every shim begins where Keras would raise. The first use of
each is logged in one line: the old name, and what to write today.

tf.keras is the same Keras under more module names: `keras.x`, `keras._tf_keras.keras.x` and
`tensorflow.keras.x` (made when it is imported) may be three module objects.

With tf_keras, which is Keras 2, nothing is installed.

Importing determined.keras does not import Keras: `when_imported()` waits until the program does.
"""
import functools
import importlib
import logging
import sys
import types
from typing import Any, Callable, Dict, Iterator, Optional, Set, Tuple

_log = logging.getLogger("determined.keras")
_said: Set[str] = set()

_HERE = "determined.keras._compat_model."
_ROOTS = ("keras", "keras._tf_keras.keras", "tensorflow.keras")

# module, old name: the object, and what to write today if it has another name
_NAMES: Dict[Tuple[str, str], Tuple[str, str]] = {
    ("", "Sequence"): ("keras.utils.PyDataset", ""),
    ("utils", "Sequence"): ("keras.utils.PyDataset", ""),
    ("callbacks", "Callbacks"): ("keras.callbacks.Callback", ""),
    ("optimizers.legacy", "Adadelta"): ("keras.optimizers.Adadelta", ""),
    ("optimizers.legacy", "Adagrad"): ("keras.optimizers.Adagrad", ""),
    ("optimizers.legacy", "Adam"): ("keras.optimizers.Adam", ""),
    ("optimizers.legacy", "Adamax"): ("keras.optimizers.Adamax", ""),
    ("optimizers.legacy", "Ftrl"): ("keras.optimizers.Ftrl", ""),
    ("optimizers.legacy", "Nadam"): ("keras.optimizers.Nadam", ""),
    ("optimizers.legacy", "Optimizer"): ("keras.optimizers.Optimizer", ""),
    ("optimizers.legacy", "RMSprop"): ("keras.optimizers.RMSprop", ""),
    ("optimizers.legacy", "SGD"): ("keras.optimizers.SGD", ""),
    ("backend", "get_value"): (_HERE + "get_value", "variable.numpy()"),
    ("backend", "set_value"): (_HERE + "set_value", "variable.assign(value)"),
    ("backend", "batch_get_value"): (_HERE + "batch_get_value", "variable.numpy() of each"),
    ("backend", "batch_set_value"): (_HERE + "batch_set_value", "variable.assign(value) of each"),
    ("backend", "learning_phase"): (_HERE + "learning_phase", "the argument training= of call()"),
    ("backend", "set_learning_phase"): (_HERE + "set_learning_phase", "training= when the model is called"),
}
# modules with names that only tf.keras has
_BORROWED = ("backend", "preprocessing.image", "preprocessing.sequence", "preprocessing.text")
# old modules: the module that has their names today
_MODULES = {
    "utils.data_utils": "keras.utils",
    "utils.np_utils": "keras.utils",
    "layers.advanced_activations": "keras.layers",
    "layers.convolutional": "keras.layers",
    "layers.core": "keras.layers",
    "layers.embeddings": "keras.layers",
    "layers.merge": "keras.layers",
    "layers.normalization": "keras.layers",
    "layers.pooling": "keras.layers",
    "layers.recurrent": "keras.layers",
}
_MARK = "_determined_compat"


def say(what: str, today: str) -> None:
    """Logs one line at the first use of `what`."""
    if what not in _said:
        _said.add(what)
        _log.warning("%s is of Keras 2 and still understood; today: %s", what, today)


def is_keras_3(keras: Any) -> bool:
    return str(getattr(keras, "__version__", "2")).split(".", 1)[0] == "3" and keras.__name__ == "keras"


def install(keras: Any) -> bool:
    """Restores what Keras 3 dropped. Does nothing the second time, nor with another Keras. Returns whether it is
    installed."""
    if not is_keras_3(keras):
        return False
    if getattr(keras, _MARK, False):
        return True
    from determined.keras import _compat_files, _compat_model, _compat_optimizer

    if "tensorflow" in sys.modules:
        _import_tensorflow_keras()
    stub = keras.optimizers.legacy.__dict__.get("Adam")
    for part in (_compat_optimizer, _compat_model, _compat_files):
        for cls, methods in part.METHODS.items():
            for name, make in methods.items():
                _replace_method(cls, name, make)
    functions = [(old, new) for part in (_compat_files, _compat_model) for old, new in part.FUNCTIONS]
    _put_names_back()
    _replace_where_held(functions, stub)
    setattr(keras, _MARK, True)
    return True


def _import_tensorflow_keras() -> None:
    """`tensorflow.keras.x` becomes a module when it is first imported. We import it here, so it is not made later
    without our additions."""
    for name in {where for where, _ in _NAMES} | set(_BORROWED) | {"utils", "layers", "models", "saving"}:
        try:
            importlib.import_module(("tensorflow.keras." + name).rstrip("."))
        except ImportError:  # not every backend has all of them
            pass


# ---- methods ---------------------------------------------------------------------------------


def _replace_method(cls: type, name: str, make: Callable[..., Any]) -> None:
    """Replaces the attribute `name` of the class from which `cls` has it by make(the old one); if no class has it,
    sets make(None) on `cls` itself."""
    owner = next((base for base in cls.__mro__ if name in vars(base)), None)
    if owner is None:
        setattr(cls, name, make(None))
        return
    old = vars(owner)[name]
    new = make(old)
    if callable(old) and callable(new):
        new = functools.update_wrapper(new, old)
    setattr(owner, name, new)


# ---- names -----------------------------------------------------------------------------------


def _find(path: str) -> Any:
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def _put_names_back() -> None:
    for name, today in _MODULES.items():
        for root in _ROOTS:
            _add_module(root, name, today)
    wanted: Dict[str, Dict[str, Tuple[str, str]]] = {module: {} for module in _BORROWED}
    for (module, name), what in _NAMES.items():
        wanted.setdefault(module, {})[name] = what
    for module, names in wanted.items():
        for root in _ROOTS:
            path = f"{root}.{module}".rstrip(".")
            found = sys.modules.get(path)
            if found is not None:
                _offer(found, module, names, module in _BORROWED)


def _offer(module: types.ModuleType, place: str, names: Dict[str, Tuple[str, str]], is_borrowing: bool) -> None:
    """Gives a module names that it lacks. Names with the same meaning as today are left alone."""
    for name, (path, _) in names.items():
        if name in vars(module) and vars(module)[name] is not _find(path):
            delattr(module, name)  # it only raises, or it does not know Keras's variables
    former = vars(module).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if name in names:
            path, today = names[name]
            say(f"keras.{place}.{name}".replace("..", "."), today or path)
            return _find(path)
        if former is not None:
            return former(name)
        if is_borrowing and not name.startswith("__"):
            lender = importlib.import_module("keras._tf_keras.keras." + place)
            if lender is not module and hasattr(lender, name):
                say(f"keras.{place}.{name}", f"keras.ops, or tf.keras.{place}.{name}")
                return getattr(lender, name)
        raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")

    vars(module)["__getattr__"] = __getattr__


def _add_module(root: str, name: str, today: str) -> None:
    """An old module with the names that another has today; an existing module stays."""
    path = f"{root}.{name}"
    parent_path, last = path.rsplit(".", 1)
    parent = sys.modules.get(parent_path)
    if parent is None or path in sys.modules or hasattr(parent, last):
        return
    module = types.ModuleType(path, f"Names that are in {today} today.")

    def __getattr__(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(f"module '{path}' has no attribute '{attribute}'")
        value = getattr(importlib.import_module(today), attribute)
        say(f"keras.{name}", today)
        return value

    vars(module)["__getattr__"] = __getattr__
    sys.modules[path] = module
    vars(parent)[last] = module


# ---- functions -------------------------------------------------------------------------------


def _held() -> Iterator[Tuple[str, Dict[str, Any]]]:
    """The names of every module, without loading lazy modules."""
    for path, module in list(sys.modules.items()):
        if path.startswith("determined.keras."):
            continue
        try:
            yield path, object.__getattribute__(module, "__dict__")
        except (AttributeError, TypeError):  # not every entry of sys.modules is a module
            continue


def _replace_where_held(functions: Any, stub: Optional[type]) -> None:
    """`from keras.models import load_model` before this package was imported holds Keras's own function. `from
    keras.optimizers.legacy import RMSprop` holds a class that only raises, the same for all optimizers: there
    the name says which one is meant."""
    new_of = {id(old): new for old, new in functions}
    for path, names in _held():
        for name, value in list(names.items()):
            if id(value) in new_of:
                names[name] = new_of[id(value)]
            elif stub is not None and value is stub and not path.startswith(("keras.", "tensorflow.")):
                today = _NAMES.get(("optimizers.legacy", name))
                if today is not None:
                    say("keras.optimizers.legacy." + name, today[0])
                    names[name] = _find(today[0])
