"""Models on an NVIDIA GPU under penstock, beside eager PyTorch and torch.compile: gpu [NAME]… [--modes A,B] [--rounds N] [--json FILE] [--kernels]

A mode is eager, one of torch.compile's, penstock, penstock-ungated (whose entries are all used), or penstock@DIR: another build of it, in
the folder DIR. Every mode of a row runs in a process of its own, the modes in turns, round after round. Prints one JSON object a row:
microseconds of one call and the wait for it ("latency"), of one of many calls back to back ("steady"), of the CPU until a call
returns while the GPU is idle ("cpu"), and seconds of the first call ("cold"), by mode, the medians of the rounds. --json adds the
row to a file of such lines. --kernels prints what each mode runs on the GPU in one call instead: calls, microseconds and name of
each kernel. Without a GPU the status is 77.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

MODES = ("eager", "default", "reduce-overhead", "penstock")
WARM_UP, CALLS, REPEATS = 60, 40, 15


# -- the rows: a function and its arguments

def mlp(torch, nn):
    net = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 32), nn.ReLU(), nn.LayerNorm(32)).cuda().eval()
    return net, [torch.randn(16, 64, device="cuda")]


def pointwise(torch, nn):
    def gelu_add(x, bias, residual):
        return nn.functional.gelu(x + bias, approximate="tanh") + residual

    make = dict(device="cuda", dtype=torch.bfloat16)
    return gelu_add, [torch.randn(1024, 3072, **make), torch.randn(3072, **make), torch.randn(1024, 3072, **make)]


def softmax(torch, nn):
    return lambda x: torch.softmax(x * 0.125, -1), [torch.randn(12288, 128, device="cuda", dtype=torch.bfloat16)]


class Layer:
    """A layer of a transformer, made as a module where torch is at hand."""

    @staticmethod
    def make(torch, nn, width, heads, causal, approximate="none"):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def forward(self, x):
                batch, length, _ = x.shape
                q, k, v = self.qkv(self.first(x)).view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
                mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
                return x + self.down(nn.functional.gelu(self.up(self.second(x)), approximate=approximate))

        return Block()


def layers4(torch, nn):
    net = nn.Sequential(*(Layer.make(torch, nn, 512, 8, False) for _ in range(4))).cuda().bfloat16().eval()
    return net, [torch.randn(8, 128, 512, device="cuda", dtype=torch.bfloat16)]


def bert(torch, nn):
    net = nn.Sequential(nn.Embedding(30522, 768), *(Layer.make(torch, nn, 768, 12, False) for _ in range(12)), nn.LayerNorm(768))
    return net.cuda().bfloat16().eval(), [torch.randint(30522, (8, 128), device="cuda")]


def gpt2(torch, nn):
    layers = (Layer.make(torch, nn, 768, 12, True, "tanh") for _ in range(12))
    net = nn.Sequential(nn.Embedding(50257, 768), *layers, nn.LayerNorm(768), nn.Linear(768, 50257, bias=False))
    return net.cuda().bfloat16().eval(), [torch.randint(50257, (4, 128), device="cuda")]


def decode(width):
    """One token against a cache of 512, in four layers as llama's."""
    def make(torch, nn):
        heads = 8 if width == 512 else 32

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
                self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
                hidden = 11008 if width == 4096 else 4 * width
                self.gate, self.up, self.down = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)
                for name in ("keys", "values"):
                    self.register_buffer(name, torch.randn(1, heads, 512, width // heads))

            def forward(self, x, position, mask, cos, sin):
                def turned(t):
                    one, other = t.chunk(2, -1)
                    return t * cos + torch.cat((-other, one), -1) * sin

                normed = self.first(x)
                q, k, v = (p(normed).view(1, 1, heads, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
                self.keys.index_copy_(2, position, turned(k))
                self.values.index_copy_(2, position, v)
                mixed = nn.functional.scaled_dot_product_attention(turned(q), self.keys, self.values, attn_mask=mask)
                x = x + self.o(mixed.transpose(1, 2).reshape(1, 1, width))
                normed = self.second(x)
                return x + self.down(nn.functional.silu(self.gate(normed)) * self.up(normed))

        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(Block() for _ in range(4))
                self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, 32000, bias=False)

            def forward(self, x, position, mask, cos, sin):
                for layer in self.layers:
                    x = layer(x, position, mask, cos, sin)
                return self.head(self.norm(x))

        like = dict(device="cuda", dtype=torch.bfloat16)
        mask = (torch.arange(512, device="cuda") <= 300).view(1, 1, 1, 512)
        size = width // heads
        return Decoder().cuda().bfloat16().eval(), [torch.randn(1, 1, width, **like), torch.tensor([300], device="cuda"), mask, torch.randn(1, 1, 1, size, **like), torch.randn(1, 1, 1, size, **like)]

    return make


def vit(torch, nn):
    class Patches(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.place = nn.Conv2d(3, 384, 16, 16), nn.Parameter(torch.randn(1, 197, 384))
            self.first = nn.Parameter(torch.randn(1, 1, 384))

        def forward(self, image):
            tokens = self.patches(image).flatten(2).transpose(1, 2)
            return torch.cat((self.first.expand(image.shape[0], -1, -1), tokens), 1) + self.place

    net = nn.Sequential(Patches(), *(Layer.make(torch, nn, 384, 6, False) for _ in range(12)), nn.LayerNorm(384))
    return net.cuda().bfloat16().eval(), [torch.randn(8, 3, 224, 224, device="cuda", dtype=torch.bfloat16)]


def resnet50(batch, half):
    """In bfloat16, laid out channels-last, or in TF32 as it is made."""
    def make(torch, nn):
        import torchvision

        torch.set_float32_matmul_precision("high")
        kind = dict(dtype=torch.bfloat16, memory_format=torch.channels_last) if half else {}
        net = torchvision.models.resnet50().cuda().eval().to(**kind)
        return net, [torch.randn(batch, 3, 224, 224, device="cuda").to(**kind)]

    return make


def trained(make):
    """A row of which a call is a step of training: the model, forward and backward, and an optimizer."""
    def make_model(torch, nn):
        model, arguments = make(torch, nn)
        return model.train(), arguments

    return make_model


def step_of(torch, model, call):
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)

    def step(*arguments):
        optimizer.zero_grad()
        loss = call(*arguments).float().square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


ROWS = {"mlp": mlp, "pointwise": pointwise, "softmax": softmax, "layers4": layers4, "bert": bert, "gpt2": gpt2, "vit": vit, "resnet50": resnet50(32, True), "resnet50_b8": resnet50(8, True), "resnet50_tf32": resnet50(32, False), "resnet50_b8_tf32": resnet50(8, False), "decode512": decode(512), "decode4096": decode(4096)}
TRAINED = {"layers4_train": trained(layers4), "bert_train": trained(bert), "resnet50_train": trained(resnet50(32, True))}


# -- one mode of one row

def list_kernels(torch, call, arguments):
    """What the GPU did in a call: how often, microseconds in all, and the kernel; the longest first."""
    for calls in (WARM_UP, 5):  # that a profile is made may make another entry
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
            for _ in range(calls):
                call(*arguments)
            torch.cuda.synchronize()
    rows = [(event.count / calls, event.self_device_time_total / calls, event.key) for event in seen.key_averages() if event.self_device_time_total > 0]
    return [(count, round(time, 1), name[:90]) for count, time, name in sorted(rows, key=lambda row: -row[1])]


def measure(row, mode, listed):
    import torch
    from torch import nn

    torch.manual_seed(0)
    function, arguments = (ROWS | TRAINED)[row](torch, nn)
    call = function if mode == "eager" or mode.startswith("penstock") else torch.compile(function, mode=mode)
    if row in TRAINED:
        call = step_of(torch, function, call)
    with torch.set_grad_enabled(row in TRAINED):
        begin = time.perf_counter()
        result = call(*arguments)
        torch.cuda.synchronize()
        cold = time.perf_counter() - begin
        for _ in range(WARM_UP):
            result = call(*arguments)
            torch.cuda.synchronize()
        latency, cpu, steady = [], [], []
        for _ in range(REPEATS * CALLS // 4):
            begin = time.perf_counter()
            result = call(*arguments)
            returned = time.perf_counter()
            torch.cuda.synchronize()
            latency.append(time.perf_counter() - begin)
            cpu.append(returned - begin)
        for _ in range(REPEATS):
            begin = time.perf_counter()
            for _ in range(CALLS):
                result = call(*arguments)
            torch.cuda.synchronize()
            steady.append((time.perf_counter() - begin) / CALLS)
        kernels = list_kernels(torch, call, arguments) if listed else []
    micro = {name: round(1e6 * statistics.median(times), 1) for name, times in (("latency", latency), ("steady", steady), ("cpu", cpu))}
    print(json.dumps(micro | {"cold": round(cold, 3), "sum": float(result.double().abs().mean()), "gpu": torch.cuda.get_device_name(), "kernels": kernels}))


def run(row, mode, store, listed=False):
    own = [os.path.abspath(__file__), "--row", row, "--mode", mode, *(["--kernels"] if listed else [])]
    if mode.startswith("penstock"):
        build = mode.partition("@")[2] or os.environ["PENSTOCK_BUILD_ROOT"]
        tool = os.path.join(build, "tools", "penstock-run")
        # Builds know nothing of each other's verdicts.
        own_store = os.path.join(store, build.strip("/").replace("/", "_"))
        ungated = ["--deterministic"] if mode.startswith("penstock-ungated") else []
        command = [tool, f"--python={sys.executable}", f"--store={own_store}", *ungated, *own]
    else:
        command = [sys.executable, *own]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        return {"error": done.stderr[-2000:]}
    return json.loads(lines[-1])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*")
    options.add_argument("--modes", default=",".join(MODES))
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--json")
    options.add_argument("--kernels", action="store_true")
    options.add_argument("--row")
    options.add_argument("--mode")
    given = options.parse_args()
    if given.row:
        return measure(given.row, given.mode, given.kernels)
    asked = subprocess.run([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"], capture_output=True, text=True, check=False)
    if asked.stdout.strip() != "True":
        print("gpu: skipped, there is no GPU")
        return 77
    with tempfile.TemporaryDirectory() as store:
        for row in given.names or ROWS | TRAINED:
            for mode in given.modes.split(",") if given.kernels else ():
                seen = run(row, mode, store, True)
                print(f"{row} {mode} {seen.get('gpu', seen)}", *(f"{count:8.1f} {time:9.1f}  {name}" for count, time, name in seen.get("kernels", ())), sep="\n", flush=True)
            if given.kernels:
                continue
            rounds = [{mode: run(row, mode, store) for mode in given.modes.split(",")} for _ in range(given.rounds)]
            line = {"row": row}
            for mode in rounds[0]:
                good = [each[mode] for each in rounds if "error" not in each[mode]]
                line[mode] = {key: statistics.median(each[key] for each in good) for key in ("latency", "steady", "cpu", "cold", "sum")} if good else rounds[0][mode]
                line["gpu"] = good[0]["gpu"] if good else line.get("gpu")
            print(json.dumps(line), flush=True)
            if given.json:
                with open(given.json, "a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
