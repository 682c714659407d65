#!/usr/bin/env python3
"""`penstock run --watch`: the page of a program that runs, served to who knows its address.

    check_watch.py BUILD-ROOT PYTHON        the last line is `N passed, N failed`
"""

import http.client
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

from suite import TIMEOUT_SECONDS, Suite

# Goes a step on with each line that it reads.
PROGRAM = """
import sys, torch
def f(x): return torch.relu(x * 2).sum()
def g(x): return (x - 1).abs().sum()
x = torch.ones(8)
print("ready", flush=True)
for line in sys.stdin:
    for n in range(3): (f if line == "f\\n" else g)(x)
    print("done", flush=True)
sys.exit(3)
"""


class Watched(Suite):
    def start(self, *options: str) -> subprocess.Popen:
        (self.work / "program.py").write_text(PROGRAM)
        started = subprocess.Popen([self.world["PATH"].split(":")[0] + "/penstock", "run", "--watch", *options, "program.py"], cwd=self.work, env=self.world, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started.address = re.search(r"http://\S+/", started.stderr.readline())[0]
        self.check("the program runs", started.stdout.readline() == "ready\n")
        return started

    def step(self, started: subprocess.Popen, word: str) -> None:
        started.stdin.write(word + "\n")
        started.stdin.flush()
        self.check("the program goes on", started.stdout.readline() == "done\n")

    def end(self, started: subprocess.Popen) -> float:
        """How long the end takes."""
        began = time.monotonic()
        _, told = started.communicate(timeout=TIMEOUT_SECONDS)
        self.check("status and stderr are the program's", (started.returncode, told) == (3, ""), (started.returncode, told))
        return time.monotonic() - began


def ask(address: str, path: str = "", method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    place = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=20)
    connection.request(method, path if path.startswith("/") else place.path + path, headers=headers)
    answer = connection.getresponse()
    return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read().decode()


def report_of(page: str) -> dict:
    return json.loads(re.search(r'id="penstock-report">(.*?)</script>', page, re.DOTALL)[1])


def shows_the_program(suite: Watched) -> None:
    started = suite.start("-o", "run.json")
    status, headers, page = ask(started.address)
    suite.check("there is a page before anything has happened", status == 200 and report_of(page)["graphs"] == [], (status, page[:300]))
    suite.check("nobody keeps it", headers["cache-control"] == "no-store", headers)
    suite.check("it may ask for news, and nothing else of the net", "default-src 'none'; connect-src 'self'; script-src 'sha256" in page, page[:400])
    first = json.loads(ask(started.address, "state")[2])
    suite.step(started, "f")
    second = json.loads(ask(started.address, "state")[2])
    suite.check("news are told", first["running"] and second["running"] and first["generation"] < second["generation"], (first, second))
    names = {graph["name"] for graph in report_of(ask(started.address)[2])["graphs"]}
    suite.step(started, "g")
    later = {graph["name"] for graph in report_of(ask(started.address)[2])["graphs"]}
    suite.check("the page has what has happened so far", (names, later) == ({"f"}, {"f", "g"}), (names, later))
    started.stdin.close()
    deadline = time.monotonic() + 10
    news = second
    while news["running"] and time.monotonic() < deadline:
        time.sleep(0.05)
        news = json.loads(ask(started.address, "state")[2])
    suite.check("the end is told to who looks", not news["running"], news)
    suite.check("who gets the last page, too", len(report_of(ask(started.address)[2])["graphs"]) == 2)
    started.stdin = None
    suite.check("and then it ends", suite.end(started) < 3)
    told = suite.command("penstock", "report", "--summary", "run.json")
    suite.check("-o has the documents", re.search(r"\b2\b", told), told)


def ends_with_the_program(suite: Watched) -> None:
    started = suite.start()
    place = urllib.parse.urlsplit(started.address)
    idle = socket.create_connection((place.hostname, place.port))
    started.stdin.close()
    started.stdin = None
    suite.check("nobody looks: the end is at once", suite.end(started) < 3)
    idle.close()
    try:
        ask(started.address)
        suite.check("nothing is served any more", False)
    except OSError:
        suite.check("nothing is served any more", True)


def refuses(suite: Watched) -> None:
    started = suite.start()
    place = urllib.parse.urlsplit(started.address)
    suite.check("the address is of this machine, and not to be guessed",
                place.hostname == "127.0.0.1" and re.fullmatch(r"/[0-9a-f]{32}/", place.path), started.address)
    suite.check("another host's name is refused", ask(started.address, Host="evil.example")[0] == 403)
    suite.check("its own other name is not", ask(started.address, Host=f"localhost:{place.port}")[0] == 200)
    for path in ("/", "/0123456789abcdef0123456789abcdef/", place.path + "../etc/passwd", place.path[:-1]):
        suite.check(f"{path} is not there", ask(started.address, path)[0] == 404)
    suite.check("nothing can be sent", ask(started.address, method="POST")[0] == 405)
    for rubbish in (b"\0" * 100, b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 10000, b"GET " + b"a" * 100000):
        with socket.create_connection((place.hostname, place.port)) as connection:
            connection.settimeout(20)
            try:
                connection.sendall(rubbish)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass
            except OSError:
                pass
    suite.check("rubbish does no harm", ask(started.address)[0] == 200)
    busy = suite.command("penstock", "run", "--watch", f"--watch-port={place.port}", "program.py", status=6)
    suite.check("a port that is taken is an error with the way out", "Leave --watch-port out" in busy, busy)
    started.stdin.close()
    started.stdin = None
    suite.end(started)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        suite = Watched(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(folder))
        for part in (shows_the_program, ends_with_the_program, refuses):
            part(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return suite.failed > 0


if __name__ == "__main__":
    sys.exit(main())
