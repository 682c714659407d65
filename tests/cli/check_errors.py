#!/usr/bin/env python3
"""Gives every tool that reads documents every kind of bad input and bad surroundings.

    check_errors.py BUILD-ROOT SAMPLES

SAMPLES holds one complete stream per level, LEVEL.json. Every failure must end with the documented
status, say `penstock-TOOL: error[CODE]`, leave an older output file alone, and read as one JSON object
with --diagnostics=json. The last line is `N passed, N failed`.
"""

import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile

PIPE = ["torch", "core", "placed", "loops", "kernels"]
TIMEOUT_SECONDS = 60


class Suite:
    def __init__(self, build: pathlib.Path, samples: pathlib.Path, work: pathlib.Path):
        self.tools = build / "tools"
        self.samples = samples
        self.work = work
        self.lines: dict[str, bytes] = {}
        self.passed = 0
        self.failed = 0

    def check(self, name: str, problem: str) -> None:
        if problem:
            self.failed += 1
            print(f"FAILED {name}: {problem}")
        else:
            self.passed += 1

    def sample(self, level: str) -> bytes:
        """The level's sample, one document a line, without its tensors, which no store has."""
        if level not in self.lines:
            file = self.samples / f"{level}.json"
            self.lines[level] = subprocess.check_output([self.tools / "penstock-convert", "--emit=json",
                                                          "--no-tensors", file])
        return self.lines[level]

    def inputs(self) -> pathlib.Path:
        """Tensors for the samples' inputs a and b, as safetensors."""
        header = {name: {"dtype": "F32", "shape": [10], "data_offsets": [40 * i, 40 * i + 40]}
                  for i, name in enumerate("ab")}
        text = json.dumps(header).encode()
        file = self.work / "inputs.safetensors"
        file.write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<20f", *range(20)))
        return file

    def run(self, tool: str, *arguments: str, data: bytes = b"", shell: str = "",
            before: str = ""):
        """Runs the tool; `shell` is appended to the command line for redirections, `before` is run in
        the same shell in front of it."""
        if tool == "pack" and "-o" not in arguments:
            arguments = ("-o", "packed.zip", *arguments)  # it writes to a named file only
        command = ["bash", "-c", f'{before} "$0" "$@" {shell}', str(self.tools / f"penstock-{tool}"), *arguments]
        world = {"HOME": str(self.work), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                 "PENSTOCK_COMPILE": "now", "PENSTOCK_STORE": str(self.work / "store")}
        return subprocess.run(command, input=data, capture_output=True, timeout=TIMEOUT_SECONDS,
                              cwd=self.work, env=world)

    def expect(self, tool: str, what: str, status: int, says: str, *arguments: str,
               data: bytes = b"", shell: str = "", before: str = "") -> None:
        """The failure has its status, its wording, and its JSON form."""
        name = f"{tool}: {what}"
        done = self.run(tool, *arguments, data=data, shell=shell, before=before)
        text = done.stderr.decode(errors="replace")
        problem = ""
        if done.returncode != status:
            problem = f"status {done.returncode}, expected {status}; {text}"
        elif f"penstock-{tool}: error[PS" not in text or says not in text:
            problem = f"standard error does not say {says!r}: {text}"
        self.check(name, problem)
        again = self.run(tool, "--diagnostics=json", *arguments, data=data, shell=shell,
                         before=before)
        try:
            rows = [json.loads(line) for line in again.stderr.decode().splitlines()]
            fits = any(row["exit"] == status and row["tool"] == f"penstock-{tool}" for row in rows)
            problem = "" if fits else str(rows)
        except (ValueError, IndexError, KeyError):
            problem = f"no JSON object: {again.stderr!r}"
        self.check(f"{name} as JSON", problem)


def describe(program: pathlib.Path) -> dict:
    return json.loads(subprocess.check_output([program, "--describe=json"]))


def changed(stream: bytes, **fields: object) -> bytes:
    """The stream with fields of its graph documents replaced."""
    lines = []
    for line in stream.decode().splitlines():
        document = json.loads(line)
        if document["penstock"] == "graph":
            document.update(fields)
        lines.append(json.dumps(document, sort_keys=True, separators=(",", ":")))
    return "\n".join(lines).encode() + b"\n"


def bad_input(suite: Suite, tool: str, level: str) -> None:
    good = suite.sample(level)
    lead, tail = (), ()
    if tool == "reduce":  # which runs a command
        tail = ("false",)
    if tool == "graphdiff":  # which compares with a good stream
        (suite.work / "good.json").write_bytes(good)
        lead = ("good.json",)

    def expect(what: str, status: int, says: str, *arguments: str, **how: object) -> None:
        file = arguments or ((lead or tail) and ("-",))
        suite.expect(tool, what, status, says, *lead, *file, *tail, **how)

    expect("empty input", 3, "", data=b"")
    expect("input without its end", 3, "", data=good[:good.rstrip().rfind(b"\n") + 1])
    expect("input cut in a document", 3, "", data=good[:len(good) // 2])
    expect("words", 3, "", data=b"this is no document\n")
    expect("other JSON", 3, "", data=b'{"name": "not a document"}\n')
    expect("binary garbage", 3, "", data=bytes(range(255, -1, -1)) * 8)
    expect("zeros", 3, "", data=bytes(4096))
    expect("deep nesting", 3, "", data=b"[" * 100_000)
    expect("newer major version", 3, "", data=changed(good, version=[99, 0]))
    expect("newer minor version that requires something", 3, "quantum-sizes",
                 data=changed(good, version=[1, 99], requires=["quantum-sizes"]))
    expect("unknown key", 3, "surprise", data=changed(good, surprise=1))
    expect("missing file", 6, "nowhere.json", "nowhere.json")
    expect("directory as input", 6, "", ".")
    expect("closed standard input", 6, "", shell="<&-")
    expect("device that never ends", 3, "", "/dev/zero")
    expect("socket as input", 6, "", "socket")


def wrong_levels(suite: Suite, tool: str, level: str) -> None:
    """Another level is refused, and the stage that is missing is named."""
    for other in PIPE:
        if other != level and (suite.samples / f"{other}.json").exists():
            suite.expect(tool, f"level {other}", 3, other, data=suite.sample(other))


def bad_output(suite: Suite, tool: str, level: str) -> None:
    good = suite.sample(level)
    suite.expect(tool, "full disk", 6, "No space left", data=good, shell=">/dev/full")
    suite.expect(tool, "closed standard output", 6, "standard output", data=good, shell=">&-")
    suite.expect(tool, "no such directory", 6, "nowhere", "-o", "nowhere/out.json", data=good)
    suite.expect(tool, "full device by name", 6, "/dev/full", "-o", "/dev/full", data=good)
    old = suite.work / "old.json"
    old.write_text("old")
    before = set(suite.work.iterdir())
    done = suite.run(tool, "-o", "old.json", data=good[:len(good) // 2])
    kept = old.read_text() == "old" and set(suite.work.iterdir()) <= before | {suite.work / "store"}
    suite.check(f"{tool}: a failure leaves the old output", "" if done.returncode and kept else "it does not")
    if tool != "run":  # which needs the tensors that the sample does not have
        done = suite.run(tool, data=good, shell="| head -c 0")
        suite.check(f"{tool}: closed pipe", "" if not done.stderr else repr(done.stderr))
        done = suite.run(tool, "-o", "old.json", data=good)
        suite.check(f"{tool}: good input", "" if done.returncode == 0 else done.stderr.decode())


def bad_text_output(suite: Suite, tool: str, *arguments: str, data: bytes = b"") -> None:
    """What is shown to people meets a full disk, no standard output, an output file that cannot be, and a
    reader that has left."""
    suite.expect(tool, "full disk", 6, "No space left", *arguments, data=data, shell=">/dev/full")
    suite.expect(tool, "closed standard output", 6, "standard output", *arguments, data=data, shell=">&-")
    suite.expect(tool, "no such directory", 6, "Name another place with -o", "-o", "nowhere/out.txt", *arguments,
                 data=data)
    suite.expect(tool, "full device by name", 6, "/dev/full", "-o", "/dev/full", *arguments, data=data)
    shown = suite.run(tool, *arguments, data=data)
    filed = suite.run(tool, "-o", "out.txt", *arguments, data=data)
    same = not filed.stdout and filed.returncode == shown.returncode and \
        (suite.work / "out.txt").read_bytes() == shown.stdout
    suite.check(f"{tool}: an output file", "" if same else str(filed))
    done = suite.run(tool, *arguments, data=data, shell="| head -c 0")
    suite.check(f"{tool}: closed pipe", "" if not done.stderr else repr(done.stderr))


def bad_pack(suite: Suite) -> None:
    """pack writes one file, whole or not at all."""
    good = suite.sample("torch")
    suite.expect("pack", "no such directory", 6, "nowhere", "-o", "nowhere/a.pack", data=good)
    suite.expect("pack", "full device by name", 6, "/dev/full", "-o", "/dev/full", data=good)
    before = set(suite.work.iterdir())
    suite.expect("pack", "file-size limit on the output", 6, "too large", "-o", "limited.pack", data=good,
                 before="ulimit -f 1;")
    left = set(suite.work.iterdir()) - before
    suite.check("pack: a failure leaves nothing behind", str(left) if left else "")


def with_tensors(suite: Suite, level: str) -> bytes:
    """The level's sample with its tensors, which no store has."""
    return subprocess.check_output([suite.tools / "penstock-convert", "--emit=json",
                                    suite.samples / f"{level}.json"])


def hostile_names(suite: Suite) -> None:
    """What a document says reaches no terminal as a command."""
    steers = "f\x1b]0;title\x07\x1b[2J"
    for level in PIPE:
        data = changed(suite.sample(level), name=steers)
        for tool, options in (("report", []), ("report", ["--color=always"]), ("convert", ["--emit=text"]),
                              ("graphdiff", ["--json", "-", "good.json"]), ("graphdiff", ["-", "good.json"])):
            done = suite.run(tool, *options, data=data)
            text = done.stdout + done.stderr
            steered = b"\x1b]" in text or b"\x07" in text or b"\x1b[2J" in text
            suite.check(f"{tool} {' '.join(options)}: a name that would steer a terminal, at {level}",
                        "" if not steered and (text or tool == "graphdiff") else repr(text))


def missing_blobs(suite: Suite) -> None:
    """A tensor that a stream names is not in the store: who needs it names the blob and the store."""
    for level in PIPE:
        data = with_tensors(suite, level)
        interpret = [] if level == "kernels" else ["--interpret"]
        suite.expect("run", f"missing blob at {level}", 6, "is not in the store", "--check", *interpret, data=data)
        suite.expect("verify", f"missing blob at {level}", 6, "is not in the store", data=data)
        suite.expect("pack", f"missing blob at {level}", 6, "is not in the store", data=data)
    for tool, level in (("decompose", "torch"), ("partition", "core"), ("fuse", "placed"),
                        ("codegen", "loops"), ("convert", "torch"), ("report", "torch")):
        done = suite.run(tool, data=with_tensors(suite, level))
        suite.check(f"{tool}: needs no tensors", "" if done.returncode == 0 else done.stderr.decode())


def bad_cache(suite: Suite) -> None:
    (suite.work / "no-directory").write_text("")
    for word in ("ls", "prune", "clear"):
        suite.expect("cache", f"{word} of a store that is no directory", 6, "Not a directory",
                     "--store=no-directory", word)
        suite.expect("cache", f"{word} of a store in a device", 6, "Not a directory",
                     "--store=/dev/null/store", word)
        done = suite.run("cache", "--store=none-yet", word)
        suite.check(f"cache: {word} of a store that is none yet", "" if done.returncode == 0 else str(done))
    bad_text_output(suite, "cache", "ls")


def dispatcher(suite: Suite) -> None:
    """`penstock` itself, which has no penstock-TOOL of its own."""
    def run(*arguments: str, shell: str = ""):
        return subprocess.run(["bash", "-c", f'"$0" "$@" {shell}', suite.tools / "penstock", *arguments],
                              capture_output=True, timeout=TIMEOUT_SECONDS, cwd=suite.work)
    cases = [("unknown tool", 2, "PS0105", ("decompse",), ""), ("unknown option", 2, "--nonsense", ("--nonsense",), ""),
             ("unknown code", 2, "PS9999", ("explain", "PS9999"), ""), ("no code", 2, "explain", ("explain",), ""),
             ("full disk", 6, "No space left", ("explain", "all"), ">/dev/full"),
             ("closed standard output", 6, "standard output", ("explain", "all"), ">&-"),
             ("help to a full disk", 6, "No space left", ("--help",), ">/dev/full")]
    for what, status, says, arguments, shell in cases:
        done = run(*arguments, shell=shell)
        text = done.stderr.decode()
        good = done.returncode == status and "penstock: error[PS" in text and says in text and "hint: " in text
        suite.check(f"penstock: {what}", "" if good else str(done))
    done = run("explain", "all", shell="| head -c 0")
    suite.check("penstock: closed pipe", "" if not done.stderr else repr(done.stderr))
    done = run()
    suite.check("penstock: nothing to do", "" if done.returncode == 2 and b"capture" in done.stdout else str(done))


def bad_store(suite: Suite) -> None:
    """codegen keeps machine code in the store: a limit on file sizes, and no store at all."""
    good = suite.sample("loops")
    suite.expect("codegen", "file-size limit on the store", 6, "File too large", "--store=limited",
                 data=good, before="ulimit -f 0;")
    suite.expect("codegen", "file-size limit on the output", 6, "too large", "-o", "limited.json",
                 data=good, before="ulimit -f 1;")
    suite.expect("codegen", "store that is no directory", 6, "/dev/null", "--store=/dev/null/store",
                 data=good)
    kernels = suite.run("codegen", data=good).stdout
    done = suite.run("run", f"--inputs={suite.inputs()}", data=kernels)
    suite.check("run: good input", "" if done.returncode == 0 else done.stderr.decode())
    done = suite.run("run", f"--inputs={suite.inputs()}", data=kernels, shell="| head -c 0")
    suite.check("run: closed pipe", "" if not done.stderr else repr(done.stderr))
    suite.expect("run", "store without the kernels' code", 6, "has no blob",
                 "--store=elsewhere", f"--inputs={suite.inputs()}", data=kernels)


def endless_options(suite: Suite) -> None:
    """Options that name a file to read, and files that are none or never end; memory is limited, so that a reader
    without a limit of its own fails soon."""
    kernels = suite.run("codegen", data=suite.sample("loops")).stdout
    header = json.dumps({"a": {"dtype": "F32", "shape": [10], "data_offsets": [0, 40]}}).encode()
    (suite.work / "start.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    few = "ulimit -v 4000000;"
    suite.expect("run", "inputs of a device", 3, "header", "--inputs=/dev/zero", data=kernels, before=few)
    suite.expect("run", "inputs of a full device", 3, "header", "--inputs=/dev/full", data=kernels, before=few)
    (suite.work / "kernels.json").write_bytes(kernels)
    suite.expect("run", "inputs that go on behind their header's end", 6, "promises", "--inputs=-", "kernels.json",
                 before=f"{few} cat start.safetensors /dev/zero |")
    suite.expect("run", "inputs cut in their tensors", 3, "do not exist", "--inputs=start.safetensors", data=kernels)
    for file, says in (("/dev/zero", "longer than"), ("/dev/full", "longer than"), (".", "rule file"), ("socket", "rule file")):
        suite.expect("run", f"rules of {file}", 6, says, f"--rules={file}", "-c", "pass", before=few)
        suite.expect("capture", f"rules of {file}", 6, says, f"--rules={file}", "-c", "pass", before=few)
    for file in (".", "socket"):
        suite.expect("run", f"inputs of {file}", 6, file, f"--inputs={file}", data=kernels)


def bad_options(suite: Suite, tool: str) -> None:
    suite.expect(tool, "unknown option", 2, "--nonsense", "--nonsense")
    suite.expect(tool, "misspelt option", 2, "Did you mean --color?", "--colr=never")
    suite.expect(tool, "bad choice", 2, "always", "--color=sometimes")
    suite.expect(tool, "missing value", 2, "--reproducer", "--reproducer")
    for question in ("--help", "--version", "--describe=json"):
        suite.expect(tool, f"{question} to a full disk", 6, "No space left", question, shell=">/dev/full")


def main() -> int:
    build, samples = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory(prefix="penstock-errors-") as work:
        suite = Suite(build, samples, pathlib.Path(work))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(suite.work / "socket"))
        for program in sorted((build / "tools").glob("penstock-*")):
            if program.is_dir():
                continue
            facts = describe(program)
            tool, level = facts["tool"], facts["level_in"]
            bad_options(suite, tool)
            if level in ("program", ""):
                continue
            given = "torch" if level == "any" else level
            if not (samples / f"{given}.json").exists():
                suite.check(f"{tool}: a sample of level {given}", "there is none")
                continue
            bad_input(suite, tool, given)
            if level in PIPE:
                wrong_levels(suite, tool, level)
            if facts["level_out"] and tool not in ("pack", "reduce"):
                bad_output(suite, tool, given)
        bad_text_output(suite, "report", data=suite.sample("torch"))
        bad_text_output(suite, "graphdiff", "good.json", "-", data=suite.sample("core"))
        suite.expect("verify", "a name that is no text", 6, "nowhere\\xff\\x1b", os.fsdecode(b"nowhere\xff\x1b"))
        bad_pack(suite)
        bad_store(suite)
        endless_options(suite)
        missing_blobs(suite)
        hostile_names(suite)
        bad_cache(suite)
        dispatcher(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
