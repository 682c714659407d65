"""One process of the bench of exported models.

ahead.py inputs NAME FILE          writes the inputs of the model, as numpy has them
ahead.py call NAME                 calls it once: what `penstock export` runs
ahead.py make-aoti|make-onnx NAME FILE
ahead.py eager NAME INPUTS RESULT  and  penstock|aoti|onnx FILE INPUTS RESULT: answers lines, as programs/models.py does
ahead.py compare RESULT RESULT TOLERANCE
"""
import json
import pathlib
import sys
import time

import numpy

MODELS = pathlib.Path(__file__).resolve().parents[2] / "programs/models.py"


def model_of(name):
    """The model, and its inputs by name."""
    import importlib.util

    import torch
    spec = importlib.util.spec_from_file_location("models", MODELS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    model, args, kwargs = module.MODELS[name]()
    named = kwargs or {"x": args[0]}
    return Called(model.eval(), list(named)), tuple(named.values())


def Called(model, names):
    """The model, called with tensors in order, giving the first tensor of what it gives: what all sides can do."""
    import torch

    class Call(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            out = self.model(x) if names == ["x"] else self.model(**{names[0]: x})
            return out if isinstance(out, torch.Tensor) else out[0]
    return Call().eval()


def since_start():
    """Seconds since this process began."""
    ticks = int(pathlib.Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    import os
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def caller_of(kind, file, inputs):
    """A function of no arguments that calls the model and gives an array."""
    if kind == "penstock":
        import penstock
        model = penstock.load(file)
        return lambda: numpy.asarray(model(*inputs)[0])
    if kind == "onnx":
        import onnxruntime
        options = onnxruntime.SessionOptions()
        import os
        options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        given = {each.name: array for each, array in zip(session.get_inputs(), inputs)}
        return lambda: session.run(None, given)[0]
    import torch
    tensors = [torch.from_numpy(array) for array in inputs]
    if kind == "eager":
        call, _ = model_of(file)
    else:
        call = torch._inductor.aoti_load_package(file)

    def run():
        with torch.no_grad():
            return call(*tensors).numpy()
    return run


def make(kind, name, file):
    import torch
    model, inputs = model_of(name)
    with torch.no_grad():
        if kind == "make-onnx":
            return torch.onnx.export(model, inputs, file, dynamo=True, external_data=False)
        return torch._inductor.aoti_compile_and_package(torch.export.export(model, inputs), package_path=file)


def say(record):
    print(json.dumps(record), flush=True)


def serve(kind, file, inputs, result):
    with numpy.load(inputs) as arrays:
        given = [arrays[name] for name in arrays.files]
    call = caller_of(kind, file, given)
    out = call()
    say({"start": since_start()})
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "steady":
            times, until = [], time.perf_counter_ns() + float(rest[0]) * 1e9
            while len(times) < 3 or time.perf_counter_ns() < until:
                begin = time.perf_counter_ns()
                out = call()
                times.append(time.perf_counter_ns() - begin)
            say({"times": times})
        else:
            peak = next(int(line.split()[1]) for line in open("/proc/self/status", encoding="ascii") if line.startswith("VmHWM"))
            with open(result, "wb") as into:
                numpy.save(into, out)
            say({"peak": peak})
            break


def main():
    kind, *rest = sys.argv[1:]
    if kind == "inputs":
        _, inputs = model_of(rest[0])
        with open(rest[1], "wb") as into:
            numpy.savez(into, **{f"input{i}": each.numpy() for i, each in enumerate(inputs)})
    elif kind == "call":
        import torch
        model, inputs = model_of(rest[0])
        with torch.no_grad():
            model(*inputs)
    elif kind == "compare":
        wanted, got = (numpy.load(file) for file in rest[:2])
        difference = numpy.abs(wanted - got).max() / numpy.abs(wanted).max()
        assert wanted.shape == got.shape and difference <= float(rest[2]), difference
    elif kind.startswith("make-"):
        make(kind, *rest)
    else:
        serve(kind, *rest)


main()
