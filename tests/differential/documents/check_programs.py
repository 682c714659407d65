"""Programs go through the pipe: every call is a graph, all of it compiled, and gives what torch gave.

Usage: check_programs.py FOLDER_OF_TOOLS [NAME]…
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("PENSTOCK_TEST_PYTHON", sys.executable)

# Programs whose graphs, given an index that is too large, all fail.
BEYOND = {"indices.py"}


def check(tools, name, folder):
    """What is wrong, and how many graphs are right."""
    environment = dict(os.environ, PENSTOCK_COMPILE="now", PENSTOCK_STORE=os.path.join(folder, "store"), OMP_NUM_THREADS="2")

    def run(tool, *arguments):
        return subprocess.run([os.path.join(tools, tool), *arguments], capture_output=True, text=True, env=environment,
                              timeout=400, check=False)

    captured = os.path.join(folder, name + ".capture")
    done = run("capture", "--python=" + PYTHON, "--only=case_*", "-o", captured, os.path.join(HERE, name))
    if done.returncode != 0:
        return ["capture: " + done.stderr[-2000:]], 0
    calls = int(done.stdout)
    level = captured
    for stage in ("decompose", "partition", "fuse", "codegen"):
        made = os.path.join(folder, f"{name}.{stage}")
        done = run(stage, level, "-o", made)
        if done.returncode != 0:
            return [f"{stage}: {done.stderr[-2000:]}"], 0
        level = made
    done = run("run", "--check", "--emit=json", level)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    results = [document for document in results if document["penstock"] == "result"]
    wrong = [f"{r['name']}: {r['verdict']} {r.get('reason', '')} {[c for c in r['compared'] if not c['same']][:1]}"
             for r in results if r["verdict"] != "same"]
    if len(results) != calls:
        wrong.append(f"{calls} calls, {len(results)} graphs")
    if done.returncode != 0:
        wrong.append(done.stderr[-2000:])
    if name in BEYOND:
        wrong += check_beyond(run, captured, level, folder)
    return wrong, len(results)


def check_beyond(run, captured, kernels, folder):
    """With an index beyond its dim every graph says so, and gives nothing: as machine code and as reference."""
    tensors, given = os.path.join(folder, "beyond.safetensors"), {"at": [4, 0, 1], "table": [0.5] * 16}
    make = ("import json, sys, torch, safetensors.torch as s; g = json.loads(sys.argv[2]); "
            "s.save_file({'at': torch.tensor(g['at']), 'table': torch.tensor(g['table']).reshape(4, 4)}, sys.argv[1])")
    subprocess.run([PYTHON, "-c", make, tensors, json.dumps(given)], check=True)
    wrong = []
    for options in (["--interpret", captured], ["--interpret", kernels.replace(".codegen", ".decompose")],
                    ["--interpret", kernels.replace(".codegen", ".fuse")], [kernels]):
        done = run("run", "--emit=json", "--inputs", tensors, *options)
        for line in done.stdout.splitlines():
            result = json.loads(line)
            if result["penstock"] == "result" and (result.get("code") != "PS0808" or " is out of range for dim " not in result["reason"]):
                wrong.append(f"{options}: {result}")
        if done.returncode != 3 or "indices.py:" not in done.stderr:
            wrong.append(f"{options}: status {done.returncode} {done.stderr[-500:]}")
    return wrong


def main():
    tools, names = sys.argv[1], sys.argv[2:]
    names = names or sorted(n for n in os.listdir(HERE) if n.endswith(".py") and n not in ("check_programs.py", "roots.py"))
    passed = failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            wrong, graphs = check(tools, name, folder)
        for text in wrong:
            print(f"FAILED {name}: {text}")
        failed += len(wrong)
        passed += graphs - len(wrong) if graphs > len(wrong) else 0
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
