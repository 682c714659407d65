"""What the back ends that come with penstock share: they answer the requests of penstock-backend(7).

A back end calls serve() with the distributions that it needs and a function that compiles a graph: it is given a Request
and returns a function of NumPy arrays, one for each input that calls pass, which gives the results in their order.
"""

import importlib.metadata
import json
import mmap
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

ANSWERS, MEMORY = 3, 4  # descriptors


class Declined(Exception):
    """The graph cannot be compiled here, for the reason that is the message."""


class Request:
    """What there is to compile."""

    def __init__(self, fields: dict, folder: pathlib.Path):
        self.threads = fields["threads"]
        self.written = fields["written"]  # positions of inputs that the graph writes
        self.kept = fields["kept"]  # the file that an earlier process left in `keep`, or ""
        self.keep = fields["keep"]  # what is left here, the next process has as `kept`
        self.folder = folder        # for files that are not kept
        self._fields = fields

    def convert(self, form: str, name: str) -> str:
        """The graph in another form (onnx, mlir, pt2), as a file."""
        path = str(self.folder / name)
        command = [self._fields["penstock"], "convert", f"--emit={form}", "--store", self._fields["store"], "-o", path,
                   self._fields["document"]]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.strip()] or [f"convert ended with {done.returncode}"]
            raise Declined(said[0].partition("]: ")[2] or said[0])
        return path


def version_of(distributions: list[str]) -> str:
    return " ".join(dict.fromkeys(importlib.metadata.version(name) for name in distributions))


def one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else ""
    return text if isinstance(error, Declined) else f"{type(error).__name__}: {text}"[:400]


class Server:
    """The graphs of one process."""

    def __init__(self, distributions, compile_graph):
        self.distributions = distributions
        self.compile_graph = compile_graph
        self.graphs = {}
        self.memory = None

    def describe(self, _fields: dict) -> str:
        try:
            return version_of(self.distributions)
        except importlib.metadata.PackageNotFoundError as error:
            raise Declined(f"{sys.executable} has no package {error.name or error}") from None

    def compile(self, fields: dict) -> str:
        with tempfile.TemporaryDirectory(prefix="penstock-backend-") as folder:
            self.graphs[fields["graph"]] = self.compile_graph(Request(fields, pathlib.Path(folder)))
        return ""

    def tensors(self, places: list[dict]):
        import numpy
        for place in places:
            dtype = numpy.dtype(place["dtype"])  # bfloat16 is none
            count = 1
            for size in place["sizes"]:
                count *= size
            yield numpy.frombuffer(self.memory, dtype, count, place["offset"]).reshape(place["sizes"]) if count else \
                numpy.empty(place["sizes"], dtype)

    def run(self, fields: dict) -> str:
        if self.memory is None or len(self.memory) < fields["bytes"]:
            self.memory = mmap.mmap(MEMORY, fields["bytes"])
        results = self.graphs[fields["graph"]](list(self.tensors(fields["inputs"])))
        places = list(self.tensors(fields["outputs"]))
        if len(results) != len(places):
            raise ValueError(f"{len(results)} results, and the graph has {len(places)}")
        for place, result in zip(places, results):
            if place.dtype != result.dtype or place.shape != tuple(result.shape):
                raise ValueError(f"a result is {result.dtype}{list(result.shape)}, not {place.dtype}{list(place.shape)}")
            place[...] = result
        return ""

    def forget(self, fields: dict) -> str:
        self.graphs.pop(fields["graph"], None)
        return ""


def serve(distributions: list[str], compile_graph) -> None:
    """Answers requests until there are no more."""
    server = Server(distributions, compile_graph)
    requests = {"describe": server.describe, "compile": server.compile, "run": server.run, "forget": server.forget}
    with os.fdopen(ANSWERS, "w") as answers:
        for line in sys.stdin:
            fields = json.loads(line)
            try:
                answer = f"yes {requests[fields['do']](fields)}"
            except Exception as error:
                if not isinstance(error, Declined):
                    traceback.print_exc()
                answer = "no " + one_line(error)
            answers.write(answer.rstrip() + "\n")
            answers.flush()
