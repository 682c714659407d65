"""Kernels for a GPU, made on a machine that need not have one.

    check_devices.py BUILD-ROOT PYTHON

The graphs of check_devices_functions.py are put on a GPU in their documents and go through decompose, partition, fuse and codegen.
Every step but scans is a kernel or a call of the GPU's library; where libnvJitLink is found (torch's wheels for CUDA bring it, and
`pip install nvidia-nvjitlink`), it assembles their PTX: no errors, no spilled registers.
"""
import ctypes
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICE = "cuda:0"
PTX = 2  # NVJITLINK_INPUT_PTX
TORCHS = {"prefix"}  # scans are torch's
CALLS = {"angles"}  # large ones are reduced by a function of its own, around which registers are kept


def put_on_device(part):
    """Every type of a tensor of a torch-level document is one of a tensor on the GPU; numbers stay."""
    if isinstance(part, list):
        for item in part:
            put_on_device(item)
    elif isinstance(part, dict):
        if {"dtype", "sizes", "strides"} <= part.keys() and part.get("kind") not in ("scalar", "size"):
            part["device"] = DEVICE
        for item in part.values():
            put_on_device(item)


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}: {done.stderr[-3000:]}")
    return done.stdout


def assembler(python):
    """nvJitLink, or None."""
    asked = "import glob, sys; print([f for p in sys.path for f in glob.glob(p + '/nvidia/**/libnvJitLink.so.*', recursive=True)][0])"
    found = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False).stdout.strip()
    for name in (os.environ.get("PENSTOCK_NVJITLINK"), found, "libnvJitLink.so.13", "libnvJitLink.so.12"):
        try:
            return ctypes.CDLL(name) if name else None
        except OSError:
            continue
    return None


def assemble(library, text, calls):
    """What is wrong with the text; `calls`: kernels may call functions."""
    handle, options = ctypes.c_void_p(), (ctypes.c_char_p * 2)(b"-arch=sm_90", b"-verbose")
    if library.nvJitLinkCreate(ctypes.byref(handle), 2, options) != 0:
        return "nvJitLink takes no sm_90"
    code = text.encode() + b"\0"
    status = library.nvJitLinkAddData(handle, PTX, code, ctypes.c_size_t(len(code)), b"kernels") or library.nvJitLinkComplete(handle)
    logs = ""
    for kind in ("Error", "Info"):
        size = ctypes.c_size_t()
        getattr(library, f"nvJitLinkGet{kind}LogSize")(handle, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        getattr(library, f"nvJitLinkGet{kind}Log")(handle, log)
        logs += log.value.decode(errors="replace")
    library.nvJitLinkDestroy(ctypes.byref(handle))
    spilled = [line for line in logs.splitlines() if "spill" in line and "0 bytes spill stores, 0 bytes spill loads" not in line]
    return logs if status else "" if calls else "\n".join(spilled)


def main():
    build, python = sys.argv[1], sys.argv[2]
    tool = os.path.join(build, "tools", "penstock-")
    library = assembler(python)
    wrong, graphs = [], 0
    with tempfile.TemporaryDirectory() as store:
        os.environ["PENSTOCK_STORE"] = store
        stream = run(tool + "capture", "--dynamic=off", "--python=" + python, "--store=" + store, os.path.join(HERE, "check_devices_functions.py"))
        documents = [json.loads(line) for line in stream.splitlines()]
        for document in documents:
            if document["penstock"] == "graph":
                put_on_device({key: part for key, part in document.items() if key != "guards"})
        loops = run(tool + "fuse", text=run(tool + "partition", text=run(tool + "decompose", text="\n".join(map(json.dumps, documents)) + "\n")))
        bundles = run(tool + "codegen", text=loops)
        for line in bundles.splitlines():
            document = json.loads(line)
            if document["penstock"] != "graph":
                continue
            graphs += 1
            ours = ["launch" in step or step["kind"] == "library" for step in document["steps"]]
            if document.get("device") != DEVICE or all(ours) == (document["name"] in TORCHS):
                wrong.append(f"{document['name']}: {sum(ours)} of {len(ours)} steps are kernels")
        end = stream.splitlines()[-1] + "\n"
        for line in loops.splitlines():
            document = json.loads(line)
            if document["penstock"] != "graph" or library is None:
                continue
            text = run(tool + "codegen", "--emit=assembly", text=line + "\n" + end)
            problem = assemble(library, text, document["name"] in CALLS) if document["name"] not in TORCHS else ""
            if problem:
                wrong.append(f"{document['name']}: {problem}")
    if library is None:
        print("not assembled: there is no libnvJitLink")
    print("\n".join(wrong))
    print(f"{graphs - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong or graphs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
