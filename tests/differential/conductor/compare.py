"""Runs programs plainly and under a mode of the extension and compares all that can be seen from outside.

    compare.py LAUNCHER PYTHON [--mode conduct|idle]

Standard output, standard error, exit status. Programs: behaviour.py (what a program can notice from
inside) and the ways to start Python: script, module, command, standard input, directory, errors,
exits, signals, child processes.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ADDRESS = re.compile(r"0x[0-9a-f]+")

SCRIPTS = {
    "arguments": "import sys; print(sys.argv, sys.orig_argv[1:], __name__, __file__, sys.path[0], sorted(globals()))",
    "uncaught": "def f():\n    return 1 // 0\nprint('before')\nf()",
    "exit_number": "import atexit, sys\natexit.register(print, 'bye')\nsys.exit(7)",
    "exit_text": "import sys\nsys.exit('message')",
    "exit_hard": "import os\nprint('x', flush=True)\nos._exit(9)",
    "killed": "import os, signal\nprint('x', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)",
    "aborted": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "spawn": """
        import multiprocessing as m
        def square(x): return x * x
        if __name__ == "__main__":
            with m.get_context("spawn").Pool(2) as pool: print(pool.map(square, range(4)))
        """,
    "forked": """
        import concurrent.futures as c, multiprocessing as m
        def square(x): return x * x
        if __name__ == "__main__":
            with c.ProcessPoolExecutor(2, mp_context=m.get_context("fork")) as pool: print(list(pool.map(square, range(4))))
        """,
    "children": """
        import os, subprocess, sys
        print("out", flush=True); os.write(1, b"raw\\n"); os.system("echo shell")
        print(subprocess.run([sys.executable, "-c", "import os; print([k for k in os.environ if 'PENSTOCK' in k or k == 'LD_PRELOAD'])"],
                             capture_output=True, text=True).stdout)
        """,
    "reads": "import sys\nprint(sys.stdin.read().upper())",
    "syntax": "def f(:\n",
}


def outside(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    errors = re.sub(r"^frames: .*\n?", "", done.stderr, flags=re.MULTILINE)
    return done.returncode, ADDRESS.sub("0x", done.stdout), ADDRESS.sub("0x", errors)


def main():
    launcher, python = os.path.abspath(sys.argv[1]), sys.argv[2]
    mode = sys.argv[4] if len(sys.argv) > 4 else "conduct"
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        cases = {"behaviour": [str(HERE / "behaviour.py")]}
        for name, source in SCRIPTS.items():
            (root / f"{name}.py").write_text(textwrap.dedent(source))
            cases[name] = [str(root / f"{name}.py"), "one", "--two"]
        package = root / "package"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "__main__.py").write_text("import sys; print(__package__, sys.argv[1:])")
        (package / "bad.py").write_text("raise LookupError('in a module')")
        cases |= {
            "module": ["-m", "package", "x"], "bad_module": ["-m", "package.bad"], "no_module": ["-m", "nowhere"],
            "command": ["-c", "import sys; print(sys.argv); raise SystemExit(3)", "a"], "directory": [str(package)],
            "missing": [str(root / "missing.py")], "stdin": ["-", "q"], "version": ["--version"],
            "options": ["-O", "-u", "-E", "-s", str(root / "arguments.py")], "isolated": ["-I", str(root / "reads.py")],
            "json": ["-m", "json.tool"],
        }
        os.chdir(root)
        for name, program in cases.items():
            text = "print('from stdin')" if name == "stdin" else '{"a": 1}'
            # Linux gives the whole of a program's life; 128 + n stands for death by signal n.
            expected = outside([python, *program], text)
            seen = outside([launcher, "--python", python, "--set", f"mode={mode}", "--frames", "--", *program], text)
            if name == "version":  # ends before there is a program: the launcher says so
                seen = (seen[0], seen[1], "")
                expected = (seen[0], expected[1], "")
            if seen == expected:
                passed += 1
            else:
                failed += 1
                print(f"FAILED {name}\n  expected {expected}\n  seen     {seen}")
    # A signal sent to the parent reaches the program. Many short sleeps: one that arrives between
    # Python's last look for signals and the system call is handled only when that call is over.
    child = subprocess.Popen([launcher, "--python", python, "--set", f"mode={mode}", "--", "-c",
                              "import signal, time\nsignal.signal(signal.SIGTERM, lambda *a: exit(5))\n"
                              "print('ready', flush=True)\nfor _ in range(600): time.sleep(0.1)"], stdout=subprocess.PIPE)
    child.stdout.readline()
    child.send_signal(signal.SIGTERM)
    if child.wait(30) == 5:
        passed += 1
    else:
        failed += 1
        print("FAILED forwarding", child.returncode)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
