"""What `penstock doctor` runs: tells about the Python that it is in, and calls a function that can be compiled, or with `training` trains a weight."""
import json
import os
import platform
import sys
import sysconfig

facts = {
    "executable": sys.executable,
    "implementation": platform.python_implementation(),
    "version": platform.python_version(),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "debug": hasattr(sys, "gettotalrefcount"),
}
try:
    import torch
except Exception as error:
    facts["no_torch"] = f"{type(error).__name__}: {error}"
else:
    facts["torch"] = torch.__version__
    facts["folder"] = os.path.dirname(torch.__file__)
    facts["threads"] = torch.get_num_threads()
    facts["gpus"] = torch.cuda.device_count()

    def small_program(x):
        return (x * 2 + 1).relu().sum()

    def training_step(weight, optimizer, x):
        optimizer.zero_grad()
        loss = (x * weight).sum()
        loss.backward()
        optimizer.step()

    if sys.argv[1:] == ["training"]:
        weight = torch.ones(1000, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.125)
        for _ in range(4):
            training_step(weight, optimizer, torch.ones(1000))
        facts["result"] = float(weight.detach().sum())
    else:
        for _ in range(8):
            result = small_program(torch.arange(1000.0))
        facts["result"] = float(result)
print(json.dumps(facts))
