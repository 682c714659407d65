#!/usr/bin/env python3
"""Checks `penstock serve`: what clients of the KServe v2 protocol get, alone and together, and what bad and broken ones get.

    check_serve.py BUILD-ROOT PYTHON                     requests of our own
    check_serve.py BUILD-ROOT PYTHON --client SECONDS    those of Triton's client, from PyPI, and load for so long with faults in it

Eager PyTorch is the oracle. The last line is `N passed, N failed`.
"""
import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from check_export import HEAD, MODELS
from suite import Suite

# Behind a model's program: exports nothing, writes what eager gives for so many rows, as JSON.
WANTED = """
if len(sys.argv) == 1:
    with torch.no_grad(): Net().eval()(*inputs(3, 5).values())
else:
    import json
    from torch.utils import _pytree
    net, out = Net().eval(), []
    with torch.no_grad():
        for n in range(2, 12):
            given = inputs(n, 5)
            out.append({"inputs": {k: [list(v.shape), v.flatten().tolist()] for k, v in given.items()},
                        "results": [x.flatten().tolist() for x in _pytree.tree_leaves(net(*given.values()))]})
    json.dump(out, open(sys.argv[1], "w"))
"""


class Server:
    """A server that runs, and connections to it."""

    def __init__(self, suite: Suite, *words: str):
        self.suite = suite
        self.process = subprocess.Popen(["penstock", "serve", "--port=0", *words], cwd=suite.work, env=suite.world, stderr=subprocess.PIPE, text=True)
        self.said = self.process.stderr.readline()
        self.port = int(re.search(r":(\d+)$", self.said.strip())[1])
        self.process.stderr.readline()

    def ask(self, method: str, path: str, body=None, headers=None):
        """(status, headers, body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def infer(self, model: str, inputs: dict, datatype: str = "FP32") -> tuple[int, dict]:
        body = {"inputs": [{"name": name, "datatype": datatype, "shape": shape, "data": data} for name, (shape, data) in inputs.items()]}
        status, _, answer = self.ask("POST", f"/v2/models/{model}/infer", json.dumps(body))
        return status, json.loads(answer)

    def figure(self, name: str) -> float:
        text = self.ask("GET", "/metrics")[2].decode()
        return sum(float(value) for value in re.findall(rf"^{name}{{[^}}]*}} (\S+)$", text, re.M))

    def wait_until(self, true, seconds: float = 30) -> bool:
        until = time.monotonic() + seconds
        while not (good := true()) and time.monotonic() < until:
            time.sleep(0.02)
        return good

    def end(self, status: int = 0) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.suite.check("the server ends", self.process.wait(60) == status, self.process.stderr.read())

    def memory(self) -> int:
        """kB"""
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1])


def close_to(got: dict, wanted: list) -> bool:
    return len(got["outputs"]) == len(wanted) and all(
        len(ours["data"]) == len(theirs) and all(abs(a - b) <= 1e-4 + 1e-4 * abs(b) for a, b in zip(ours["data"], theirs))
        for ours, theirs in zip(got["outputs"], wanted))


def prepare(suite: Suite, python: str) -> dict:
    """What eager gives, by model."""
    wanted = {}
    for name, (program, sizes) in MODELS.items():
        (suite.work / f"{name}.py").write_text(HEAD + program + WANTED)
        suite.command("penstock", "export", "--function=Net.forward", f"--dynamic-sizes={sizes}", "-o", f"{name}.pstk", f"{name}.py")
        suite.command(python, f"{name}.py", f"{name}.json")
        wanted[name] = json.loads((suite.work / f"{name}.json").read_text())
    return wanted


def check_answers(suite: Suite, wanted: dict) -> None:
    server = Server(suite, *(f"{name}.pstk" for name in MODELS))
    for name, rows in wanted.items():
        for each in rows:
            status, answer = server.infer(name, each["inputs"])
            # The new value of a buffer is behind the results.
            results = [output for output in answer.get("outputs", []) if output["name"] != "self.total"][:len(each["results"])]
            suite.check(f"{name}: as eager", status == 200 and close_to({"outputs": results}, each["results"]), answer)
    told = json.loads(server.ask("GET", "/v2/models/block")[2])
    suite.check("metadata", [(x["name"], x["datatype"], x["shape"]) for x in told["inputs"]] == [("x", "FP32", [-1, -1, 32]), ("mask", "FP32", [-1, -1])], told)
    told = json.loads(server.ask("GET", "/v2/models/mlp/versions/1/config")[2])
    suite.check("configuration", told["input"] == [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1, 8]}], told)
    told = json.loads(server.ask("POST", "/v2/repository/index", "{}")[2])
    suite.check("index", [row["name"] for row in told] == sorted(MODELS), told)
    for path in ("/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/mlp/ready", "/v2/models/mlp/stats"):
        status, headers, body = server.ask("GET", path)
        suite.check(path, status == 200 and headers["Content-Type"] == "application/json" and json.loads(body), body)
    check_binary(suite, server, wanted["mlp"][0])
    check_refused(suite, server)
    server.end()


def check_binary(suite: Suite, server: Server, each: dict) -> None:
    shape, data = each["inputs"]["x"]
    packed = struct.pack(f"<{len(data)}f", *data)
    text = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": shape, "parameters": {"binary_data_size": len(packed)}}],
                       "outputs": [{"name": "result", "parameters": {"binary_data": True}}]}).encode()
    status, headers, body = server.ask("POST", "/v2/models/mlp/infer", text + packed, {"Inference-Header-Content-Length": str(len(text))})
    length = int(headers.get("Inference-Header-Content-Length", 0))
    numbers = struct.unpack(f"<{(len(body) - length) // 4}f", body[length:])
    suite.check("bytes in and out", status == 200 and close_to({"outputs": [{"data": numbers}]}, each["results"]), body)


def check_refused(suite: Suite, server: Server) -> None:
    """What is no call gets a status and a sentence, and the server goes on."""
    good = {"name": "x", "datatype": "FP32", "shape": [1, 8], "data": [0.5] * 8}
    infer = "/v2/models/mlp/infer"
    for name, method, path, body, headers, status, words in (
            ("no JSON", "POST", infer, "{", {}, 400, "no JSON"),
            ("no inputs", "POST", infer, "{}", {}, 400, "list of inputs"),
            ("an input that lacks", "POST", infer, {"inputs": []}, {}, 400, "input x is missing"),
            ("an input too many", "POST", infer, {"inputs": [good, good | {"name": "y"}]}, {}, 400, "input y is not one"),
            ("an input twice", "POST", infer, {"inputs": [good, good]}, {}, 400, "given twice"),
            ("another type", "POST", infer, {"inputs": [good | {"datatype": "FP64"}]}, {}, 400, "float64[1, 8], the graph is called with"),
            ("another size", "POST", infer, {"inputs": [good | {"shape": [2, 4]}]}, {}, 400, "float32[2, 4]"),
            ("another rank", "POST", infer, {"inputs": [good | {"shape": [8]}]}, {}, 400, "float32[8]"),
            ("no rows", "POST", infer, {"inputs": [good | {"shape": [0, 8], "data": []}]}, {}, 400, "not for batch = 0"),
            ("no such output", "POST", infer, {"inputs": [good], "outputs": [{"name": "no"}]}, {}, 400, "no output no"),
            ("a header that is no number", "POST", infer, "{}", {"Inference-Header-Content-Length": "x"}, 400, "no number"),
            ("a coding", "POST", infer, "{}", {"Content-Encoding": "gzip"}, 415, "not supported"),
            ("no such model", "POST", "/v2/models/none/infer", {"inputs": []}, {}, 404, "no model none"),
            ("no such version", "GET", "/v2/models/mlp/versions/9", None, {}, 404, "nothing at this path"),
            ("no such path", "GET", "/", None, {}, 404, "nothing at this path"),
            ("the other method", "GET", infer, None, {}, 405, "other method")):
        got, _, answer = server.ask(method, path, json.dumps(body) if isinstance(body, dict) else body, headers)
        suite.check(f"refused: {name}", got == status and words in json.loads(answer)["error"], (got, answer))
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"NONSENSE\r\n\r\n")
        suite.check("what is no HTTP", raw.recv(4096).startswith(b"HTTP/1.1 400"))
    suite.check("and the next is answered", server.infer("mlp", {"x": [[1, 8], [0.5] * 8]})[0] == 200)


def check_together(suite: Suite, wanted: dict) -> None:
    """Requests that wait are called together, and each gets what it gets alone."""
    server = Server(suite, "--batch-delay=20000", "--max-rows=40", "mlp.pstk", "block.pstk", "--workers=2", "--threads=1")
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for name in ("mlp", "block"):
            rows = [each for each in wanted[name] for _ in range(6)]
            random.Random(0).shuffle(rows)
            answers = list(pool.map(lambda each, name=name: server.infer(name, each["inputs"]), rows))
            suite.check(f"{name}: {len(rows)} requests at once are as eager",
                        all(status == 200 and close_to(answer, each["results"]) for each, (status, answer) in zip(rows, answers)),
                        next(((status, answer) for each, (status, answer) in zip(rows, answers) if status != 200 or not close_to(answer, each["results"])), ""))
    requests, runs = server.figure("penstock_run_requests_total"), server.figure("penstock_runs_total")
    suite.check("in fewer calls", requests == 120 and runs < 100, (requests, runs))
    suite.check("with all answers counted", server.figure("penstock_request_seconds_count") == 120)
    server.end()


def check_bad_among_good(suite: Suite) -> None:
    """An index out of range is one request's alone."""
    (suite.work / "table.py").write_text("import torch\nfrom torch.nn import functional as F\ntable = torch.arange(20.).view(10, 2)\n"
                                         "def f(x):\n    return F.embedding(x, table)\nf(torch.zeros(3, 2, dtype=torch.long))\n")
    suite.command("penstock", "export", "--dynamic-sizes=x:0=n", "-o", "table.pstk", "table.py")
    server = Server(suite, "--batch-delay=100000", "table.pstk")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        rows = [[1, 2], [3, 11], [4, 5], [-1, 0]]
        answers = list(pool.map(lambda ids: server.infer("table", {"x": [[1, 2], ids]}, "INT64"), rows))
    suite.check("indices in range", [answers[i][1].get("outputs", [{}])[0].get("data") for i in (0, 2)] == [[2, 3, 4, 5], [8, 9, 10, 11]], answers)
    suite.check("indices out of range", all(answers[i][0] == 400 and "index" in answers[i][1]["error"] for i in (1, 3)), answers)
    server.end()


def check_limits(suite: Suite) -> None:
    one = {"x": [[1, 8], [0.5] * 8]}
    server = Server(suite, "--batch-delay=3000000", "--max-waiting=1", "--max-body=1", "--patience=1", "mlp.pstk")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = pool.submit(server.infer, "mlp", one)
        server.wait_until(lambda: server.figure("penstock_waiting_requests") == 1)
        status, headers, body = server.ask("POST", "/v2/models/mlp/infer", json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 8], "data": [0.5] * 8}]}))
        suite.check("too many", status == 429 and headers["Retry-After"] and "try again" in json.loads(body)["error"], body)
        suite.check("what was accepted is answered", first.result()[0] == 200)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may have been told before all was sent
        status, _, body = server.ask("POST", "/v2/models/mlp/infer", b"x" * (2 << 20))
        suite.check("too long", status == 413, body)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as half:
        half.sendall(b"POST /v2/models/mlp/infer HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
        suite.check("half a request is waited for as long as was said", half.recv(100) == b"")
    server.end()


def check_end(suite: Suite) -> None:
    """Behind a signal what was accepted is answered; behind a second one nothing is."""
    one = {"x": [[1, 8], [0.5] * 8]}
    for signals, status in ((1, 0), (2, 1)):
        server = Server(suite, "--batch-delay=1500000", "mlp.pstk")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(server.infer, "mlp", one)
            server.wait_until(lambda: server.figure("penstock_waiting_requests") == 1)
            server.process.send_signal(signal.SIGTERM)
            if signals == 2:
                time.sleep(0.2)
                server.process.send_signal(signal.SIGINT)
            suite.check(f"status behind {signals} signals", server.process.wait(60) == status, server.process.stderr.read())
            answered = waiting.exception() is None and waiting.result()[0] == 200
        suite.check(f"the request that waited, behind {signals} signals", answered == (signals == 1))
    busy = socket.create_server(("127.0.0.1", 0))
    with contextlib.closing(busy):
        told = suite.command("penstock", "serve", f"--port={busy.getsockname()[1]}", "mlp.pstk", status=6)
        suite.check("a port that is taken", "--port" in told, told)


def disturb(server: Server, stop: threading.Event) -> None:
    """Clients that die, stop in the middle, send too much, or nothing that is one."""
    parts = (b"POST /v2/models/mlp/infer HTTP/1.1\r\nContent-Length: 99999\r\n\r\n{", b"GET /v2 HTTP/1.1\r\n", b"\0" * 5000,
             b"POST /v2/models/mlp/infer HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n",
             b"POST /v2/models/mlp/infer HTTP/1.1\r\nContent-Length: 30\r\n\r\n" + b"[" * 30, b"GET /metrics HTTP/1.1\r\n\r\n")
    number = 0
    while not stop.wait(0.01):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port)) as raw:
            raw.sendall(parts[number % len(parts)])
            if number % 2:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        number += 1


# Triton's own client, in a process of its own: all that it asks for, then load.
CLIENT = """
import json, sys, threading, time
import numpy
import tritonclient.http as triton
url, rows, seconds = sys.argv[1], json.load(open(sys.argv[2])), float(sys.argv[3])
client = triton.InferenceServerClient(url)
assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("mlp")
assert client.get_server_metadata()["name"] == "penstock"
assert client.get_model_metadata("mlp")["inputs"][0]["shape"] == [-1, 8]
assert client.get_model_config("mlp")["name"] == "mlp" and client.get_model_repository_index()[0]["state"] == "READY"
def call(client, each, binary):
    shape, data = each["inputs"]["x"]
    given = triton.InferInput("x", shape, "FP32")
    given.set_data_from_numpy(numpy.array(data, numpy.float32).reshape(shape), binary_data=binary)
    wanted = triton.InferRequestedOutput("result", binary_data=binary)
    got = client.infer("mlp", [given], outputs=[wanted], request_id="9")
    assert got.get_response()["id"] == "9"
    return numpy.allclose(got.as_numpy("result").ravel(), each["results"][0], rtol=1e-4, atol=1e-4)
assert all(call(client, each, binary) for each in rows for binary in (True, False))
try:
    client.infer("none", [])
    sys.exit("no error")
except triton.InferenceServerException as error:
    assert "no model none" in str(error), error
counts = []
def load():
    own, right, until = triton.InferenceServerClient(url, concurrency=1), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        for each in rows:
            right += call(own, each, True)
            counts.append(1)
    done.append(right)
done = []
threads = [threading.Thread(target=load) for _ in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
assert len(done) == 8 and sum(done) == len(counts), (done, len(counts))
print(f"{len(counts) / max(seconds, 1):.0f} requests a second, all right; statistics of {client.get_inference_statistics('mlp')['model_stats'][0]['inference_count']}")
"""


def check_client(suite: Suite, python: str, seconds: float) -> None:
    subprocess.run([python, "-m", "venv", suite.work / "client"], check=True)
    inside = str(suite.work / "client/bin/python")
    subprocess.run([inside, "-m", "pip", "install", "-q", "tritonclient[http]"], check=True)
    server = Server(suite, "--workers=2", "--threads=1", "mlp.pstk")
    (suite.work / "client.py").write_text(CLIENT)
    suite.command(inside, "client.py", f"127.0.0.1:{server.port}", "mlp.json", "0")
    before, stop = server.memory(), threading.Event()
    disturber = threading.Thread(target=disturb, args=(server, stop))
    disturber.start()
    done = subprocess.run([inside, "client.py", f"127.0.0.1:{server.port}", "mlp.json", str(seconds)], cwd=suite.work, capture_output=True, text=True)
    stop.set()
    disturber.join()
    suite.check("Triton's client gets what is right", done.returncode == 0, done.stderr)
    print(done.stdout, f"{before} kB before, {server.memory()} kB behind it", sep="")
    suite.check("in memory that does not grow", server.memory() < before + (32 << 10), (before, server.memory()))
    server.end()


def main() -> int:
    build, python = (pathlib.Path(word).absolute() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="penstock-serve-") as work:
        suite = Suite(build, python, pathlib.Path(work))
        wanted = prepare(suite, str(python))
        if sys.argv[3:4] == ["--client"]:
            check_client(suite, str(python), float(sys.argv[4]))
        else:
            check_answers(suite, wanted)
            check_together(suite, wanted)
            check_bad_among_good(suite)
            check_limits(suite)
            check_end(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
