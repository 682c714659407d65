"""One process of the train bench: one model and optimizer on one side, timed step by step and phase by phase.

Usage: train.py MODELS NAME OPTIMIZER SIDE
MODELS: the file with the builders timm and hf (tests/programs/models.py). SIDE: program (the model as it is: plain Python, or
ours under `penstock run`), model (torch.compile of the model) or step (torch.compile of the whole step, whose phases nobody
sees).

Prints one JSON object after the first steps, then one for each line that it reads: `steady SECONDS` takes steps for about so
long, `end` reports memory. A step is [forward, backward, optimizer] in nanoseconds of the clock, and all of it of the
processor. All of it stands at the top level of this file: a `<module>` is never a region, so that the measuring runs natively
under `penstock run` too.
"""

import importlib.util
import json
import sys
import time

import torch
from torch import nn

FIRST_STEPS = 4  # whose losses are compared


def kilobytes(field):
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field))


def say(record):
    print(json.dumps(record), flush=True)


class Block(nn.Module):
    """A layer of nanoGPT: causal attention and an MLP, each behind a norm and beside a residual."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))


class NanoGPT(nn.Module):
    def __init__(self, layers=4, width=384, heads=6, words=65, length=256):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class MLP(nn.Module):
    def __init__(self, width=64, classes=10):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, classes)
        self.norm, self.other = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        x = x + nn.functional.gelu(self.norm(self.first(x)))
        x = x + nn.functional.gelu(self.other(self.second(x)))
        return self.head(x)


def classified(model, inputs, classes):
    """A model whose result is scores of classes, what it is called with, and its loss."""
    count = inputs.shape if inputs.dtype == torch.int64 else inputs.shape[:1]
    targets = torch.randint(classes, tuple(count))
    return model, {"args": (inputs,)}, lambda out: nn.functional.cross_entropy(out.flatten(0, -2), targets.flatten())


def own_loss(model, inputs):
    """One of transformers', which computes its loss itself."""
    return model, {"kwargs": inputs}, lambda out: out.loss


def bert(builders, **settings):
    model, _, inputs = builders.hf("BertForSequenceClassification", "BertConfig", **settings)
    return own_loss(model, dict(inputs, labels=torch.randint(2, (4,))))


def gpt2(builders):
    model, _, inputs = builders.hf("GPT2LMHeadModel", "GPT2Config", resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    return own_loss(model, dict(inputs, labels=inputs["input_ids"]))


def image_classifier(builders, name):
    model, (images,), _ = builders.timm(name)
    return classified(model, images, 1000)


MODELS = {
    "resnet50": lambda builders: image_classifier(builders, "resnet50"),
    "bert": lambda builders: bert(builders, hidden_dropout_prob=0, attention_probs_dropout_prob=0),
    "bert-dropout": bert,
    "gpt2": gpt2,
    "vit": lambda builders: image_classifier(builders, "vit_small_patch16_224"),
    "nanogpt": lambda builders: classified(NanoGPT(), torch.randint(65, (8, 256)), 65),
    "mlp": lambda builders: classified(MLP(), torch.randn(32, 64), 10),
}
OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-4),
}


def train_step(model, args, kwargs, loss_of, optimizer):
    loss = loss_of(model(*args, **kwargs))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


path, name, optimizer_name, side = sys.argv[1:]
spec = importlib.util.spec_from_file_location("models", path)
builders = importlib.util.module_from_spec(spec)
spec.loader.exec_module(builders)
torch.manual_seed(0)
model, given, loss_of = MODELS[name](builders)
args, kwargs = given.get("args", ()), given.get("kwargs", {})
model.train()
optimizer = OPTIMIZERS[optimizer_name](model.parameters())
built = kilobytes("VmRSS")
whole = None
if side != "program":
    import torch._inductor.compile_fx  # its import is not part of a first step
if side == "model":
    model = torch.compile(model)
if side == "step":
    whole = torch.compile(train_step)
steps, losses, until = [], [], None
while True:
    processor, start = time.process_time_ns(), time.perf_counter_ns()
    if whole is None:
        loss = loss_of(model(*args, **kwargs))
        forward = time.perf_counter_ns()
        loss.backward()
        backward = time.perf_counter_ns()
        optimizer.step()
        optimizer.zero_grad()
        end = time.perf_counter_ns()
        phases = [forward - start, backward - forward, end - backward]
    else:
        loss = whole(model, args, kwargs, loss_of, optimizer)
        end = time.perf_counter_ns()
        phases = [end - start]
    steps.append({"phases": phases, "cpu": time.process_time_ns() - processor})
    losses.append(loss.item())
    if until is None and len(losses) < FIRST_STEPS:
        continue
    if until is not None and (len(steps) < 3 or time.perf_counter_ns() < until):
        continue
    said = {"steps": steps}
    if until is None:
        said |= {"losses": losses, "threads": torch.get_num_threads(), "built": built, "instructions": torch.backends.cpu.get_cpu_capability()}
    say(said)
    line = sys.stdin.readline().split()
    if line[:1] != ["steady"]:
        break
    steps, until = [], time.perf_counter_ns() + float(line[1]) * 1e9
say({"peak": kilobytes("VmHWM")})
