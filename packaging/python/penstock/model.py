"""Calls models that `penstock export` made, from a Python that needs neither torch nor numpy.

    import penstock
    model = penstock.load("model.pstk")
    print(model.arguments, model.results)
    logits = numpy.from_dlpack(model(x)["logits"])

Arguments are arrays of anybody's: numpy's, or what has __dlpack__ (torch, jax, cupy's of the CPU). They are read where they lie.
Results have __dlpack__ and __array_interface__, and memory of their own.
"""

import ctypes
import glob
import threading
from pathlib import Path
from typing import NamedTuple

from penstock.dlpack import NAMES, Tensor, tensor_of
from penstock.session import PenstockError

_OPTIONS = [("size", ctypes.c_size_t), ("store", ctypes.c_char_p), ("graph", ctypes.c_char_p), ("trust", ctypes.c_int),
            ("deterministic", ctypes.c_int)]


class _Options(ctypes.Structure):
    _fields_ = _OPTIONS


class _Value(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("size_texts", ctypes.POINTER(ctypes.c_char_p)), ("least", ctypes.POINTER(ctypes.c_int64)),
                ("greatest", ctypes.POINTER(ctypes.c_int64)), ("is_new_value", ctypes.c_int)]


class Size(NamedTuple):
    """A size of an argument or a result: a number where `least` is `greatest`."""
    text: str
    least: int
    greatest: int


class Value(NamedTuple):
    """What a model takes or gives. `new_value`: of a result, what a tensor holds that the call writes."""
    name: str
    dtype: str
    sizes: tuple
    new_value: bool


def _find_library():
    """The library of this package, or of the prefix that the package lies in; else the loader finds one."""
    here = Path(__file__).resolve()
    in_package = here.parent / "lib/libpenstock.so"
    if in_package.exists():
        return str(in_package)
    name = "libpenstock.so.1"
    in_prefix = [folder for prefix in here.parents[4:5] for folder in glob.glob(f"{prefix}/lib*/{name}") + glob.glob(f"{prefix}/lib*/*/{name}")]
    return in_prefix[0] if in_prefix else name


def _declared(library):
    """The functions of penstock.h that are used here, with their types."""
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    into = ctypes.POINTER(pointer)
    values, tensors = ctypes.POINTER(_Value), ctypes.POINTER(Tensor.Structure)
    for name, result, arguments in (
            ("load", pointer, [ctypes.c_char_p, ctypes.POINTER(_Options), into]),
            ("model_free", None, [pointer]), ("model_name", ctypes.c_char_p, [pointer]),
            ("argument_count", size, [pointer]), ("result_count", size, [pointer]),
            ("argument", values, [pointer, size]), ("result", values, [pointer, size]),
            ("runner_new", pointer, [pointer, into]), ("runner_free", None, [pointer]),
            ("runner_set_threads", None, [pointer, ctypes.c_int]), ("run", pointer, [pointer, tensors, size, into]),
            ("results_count", size, [pointer]), ("results_tensor", tensors, [pointer, size]),
            ("results_free", None, [pointer]), ("error_message", ctypes.c_char_p, [pointer]),
            ("error_hint", ctypes.c_char_p, [pointer]), ("error_code", ctypes.c_char_p, [pointer]),
            ("error_place", ctypes.c_char_p, [pointer]), ("error_free", None, [pointer])):
        function = getattr(library, f"penstock_{name}")
        function.restype, function.argtypes = result, arguments
    return library


class _Library:
    """libpenstock, opened by the first model."""
    _opened = None
    _lock = threading.Lock()

    @classmethod
    def get(cls):
        with cls._lock:
            if cls._opened is None:
                try:
                    cls._opened = _declared(ctypes.CDLL(_find_library()))
                except OSError as error:
                    raise PenstockError(f"libpenstock cannot be opened: {error}; install penstock again") from None
            return cls._opened


def _check(library, error):
    """Raises what the library gives as an error."""
    if not error:
        return
    parts = [getattr(library, f"penstock_error_{part}")(error).decode() for part in ("place", "message", "hint", "code")]
    library.penstock_error_free(error)
    place, message, hint, code = parts
    raise PenstockError(f"{place}: {message} [{code}]. {hint}" if place else f"{message} [{code}]. {hint}")


class Results(tuple):
    """What a call gave: a tuple of tensors, which have names too (`results["logits"]`, `results.names`)."""

    def __new__(cls, tensors, names):
        made = super().__new__(cls, tensors)
        made.names = names
        return made

    def __getitem__(self, key):
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.names:
            raise KeyError(f"{key}: there are {', '.join(self.names)}")
        return super().__getitem__(self.names.index(key))

    def __reduce__(self):
        raise TypeError("results hold memory of this process; pickle copies of them, such as numpy's")


class _Memory:
    """The results of one call, freed with the last tensor of them."""

    def __init__(self, library, results):
        self._library, self._results = library, results

    def __del__(self):
        self._library.penstock_results_free(self._results)


class Model:
    """An exported model; threads may call it at once."""

    def __init__(self, path, store=None, graph=None, trust=False, threads=0, deterministic=False):
        self._model = None
        self._library = library = _Library.get()
        self._threads, self._idle, self._lock = threads, [], threading.Lock()
        options = _Options(ctypes.sizeof(_Options), None if store is None else str(store).encode(),
                           None if graph is None else graph.encode(), trust, deterministic)
        model = ctypes.c_void_p()
        _check(library, library.penstock_load(str(path).encode(), ctypes.byref(options), ctypes.byref(model)))
        self._model = model
        self.name = library.penstock_model_name(model).decode()
        self.arguments = self._values("argument")
        self.results = self._values("result")
        self._names = [value.name for value in self.results]

    def _values(self, kind):
        count = getattr(self._library, f"penstock_{kind}_count")(self._model)
        out = []
        for index in range(count):
            value = getattr(self._library, f"penstock_{kind}")(self._model, index).contents
            sizes = tuple(Size(value.size_texts[i].decode(), value.least[i], value.greatest[i]) for i in range(value.rank))
            out.append(Value(value.name.decode(), NAMES[value.dtype], sizes, bool(value.is_new_value)))
        return out

    def __del__(self):
        if getattr(self, "_model", None) is None:
            return
        for runner in self._idle:
            self._library.penstock_runner_free(runner)
        self._library.penstock_model_free(self._model)

    def __repr__(self):
        def text(value):
            return f"{value.name}: {value.dtype}[{', '.join(size.text for size in value.sizes)}]"
        return f"<penstock model {self.name}({', '.join(map(text, self.arguments))}) -> ({', '.join(map(text, self.results))})>"

    def _ordered(self, arguments, named):
        names = [value.name for value in self.arguments]
        for name in named:
            if name not in names:
                raise TypeError(f"{self.name} has no argument {name}: it has {', '.join(names)}")
            if names.index(name) < len(arguments):
                raise TypeError(f"{self.name} got two values for argument {name}")
        missing = [name for name in names[len(arguments):] if name not in named]
        if len(arguments) > len(names) or missing:
            raise TypeError(f"{self.name} takes {len(names)} arguments ({', '.join(names)})"
                            + (f"; {', '.join(missing)} is missing" if missing else f", and {len(arguments)} were given"))
        return [*arguments, *(named[name] for name in names[len(arguments):])]

    def _runner(self):
        with self._lock:
            if self._idle:
                return self._idle.pop()
        runner = ctypes.c_void_p()
        _check(self._library, self._library.penstock_runner_new(self._model, ctypes.byref(runner)))
        self._library.penstock_runner_set_threads(runner, self._threads)
        return runner

    def __call__(self, *arguments, **named):
        """Calls the model with arrays, in order or by name."""
        given = self._ordered(arguments, named)
        tensors = [tensor_of(array, value.name) for array, value in zip(given, self.arguments)]
        row = (Tensor.Structure * len(tensors))(*(tensor.structure for tensor in tensors))
        runner, results = self._runner(), ctypes.c_void_p()
        try:
            _check(self._library, self._library.penstock_run(runner, row, len(tensors), ctypes.byref(results)))
        finally:
            with self._lock:
                self._idle.append(runner)
        memory = _Memory(self._library, results)
        count = self._library.penstock_results_count(results)
        return Results((Tensor(self._library.penstock_results_tensor(results, index).contents, memory) for index in range(count)),
                       self._names)


def load(path, store=None, graph=None, trust=False, threads=0, deterministic=False):
    """The model in a file that `penstock export` wrote.

    store: the folder that weights and code are unpacked into and mapped from (else as `penstock` finds it); graph: which one, where the
    file has several; trust: run code that was made on another machine, which can do whatever this process can;
    threads: of a call, else as many as OpenMP gives; deterministic: the same bits for any number of threads.
    """
    return Model(path, store, graph, trust, threads, deterministic)
