"""What `penstock run --compile=auto` records: what is called often enough that it pays, and nothing else.

Usage: check_tier_up.py PENSTOCK_RUN
Every program prints what it prints under plain Python. How often entries ran is read from the documents of the run.
"""
import json
import os
import subprocess
import sys
import tempfile

PYTHON = os.environ.get("PENSTOCK_TEST_PYTHON", sys.executable)

COMMON = """
import torch
from torch import nn
torch.manual_seed(0)
x, w = torch.rand(400, 400), torch.rand(400, 400) / 400
def ops(x, w):
    a = torch.sin(x) @ w
    return (torch.exp(-a * a) + a).tanh()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(400, 400), nn.GELU(), nn.Linear(400, 400), nn.Tanh())
    def forward(self, x):
        return self.layers(x) * 2 + 1
net = Net()
"""
OFTEN = """
with torch.no_grad():
    print(f"{sum(ops(x, w).sum().item() for _ in range(200)):.3e}")
"""

# By name: what must be told of a function that is not recorded, or not any more.
LEFT = {"optimizers": ("Adam.step", "what optimizers do"), "a root that is slower with entries": ("mixed", "slower with entries")}

# By name: how many calls of compiled graphs there must be at least.
CALLS = {"a loop that counts": 4000}
# At most, where calls with entries take six times as long as those without: some 130 are made.
MOST_CALLS = {"a root that is slower with entries": 1000}

# By name: the program behind COMMON, and for parts of functions' names how many graphs of theirs there may be.
PROGRAMS = {
    "called once": ("with torch.no_grad(): print(f'{ops(x, w).sum():.3e} {net(x).sum():.3e}')", {}),
    "called a few times": ("with torch.no_grad():\n  for i in range(3): print(f'{ops(x[:9, :9], w[:9, :9]).sum():.3e}')", {}),
    "called often": (OFTEN, {"ops": range(1, 2)}),
    # The model as one graph, and none of its layers.
    "a model": ("with torch.no_grad():\n  print(f'{sum(net(x).sum().item() for i in range(150)):.3e}')",
                {"Net.forward": range(1, 2), "Module": range(0, 1)}),
    # A turn of the loop as one graph, and neither the model nor its layers.
    "a loop": ("with torch.no_grad():\n  for i in range(150): y = net(x)\n  print(f'{y.sum():.3e}')", {"<module>": range(1, 2), "Net.forward": range(0, 2)}),
    # What the turns count is no constant of a graph, and a graph is a turn.
    "a loop that counts": ("""
y, turns = x[0], 0
while True:
    y = torch.sin(y) * 0.9 + torch.cos(y)
    turns += 1
    if turns > 9000:
        break
for i in range(4000):
    y = torch.sin(y + i % 7) * 0.9
    if i % 1000 == 999: print(i, f"{y.sum():.3e}")
print(turns, f"{y.sum():.3e}")
""", {"<module>": range(1, 3)}),
    "a loop in a function that is called once": ("""
def simulate(count):
    place = torch.full((400000,), 0.5)
    speed = place * 0
    for i in range(count):
        speed = speed * 0.9 + place.cos() * 0.01
        place = (place + speed * 0.01).clamp(-1, 1)
    return place.sum()
print(f"{simulate(300):.3e}")
""", {"simulate": range(1, 4)}),
    # The first entry is for one size, and no call comes back to it; the second is for any.
    "sizes that grow with every call": ("""
def grow(x):
    y = x
    for i in range(30):
        y = torch.sin(y) * 0.9 + x
    return y.sum()
with torch.no_grad():
    print(f"{sum(grow(x[:n % 399 + 1, :8]).item() for n in range(5000)):.3e}")
""", {"grow": range(2, 3)}),
    "a loop without ops": ("""
def count(number):
    total = 0
    for i in range(number):
        total += i % 7
    return torch.tensor(total)
print(count(300000))
""", {}),
    # Backward is compiled where that pays; so few steps are left to Python, or a few graphs of them are made.
    "training": ("""
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for i in range(120):
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.2e}")
""", {"": range(0, 8)}),
    # What the inner turns compute is gathered behind them, where the outer one goes backward: that is the unit.
    "turns of tasks": ("""
w = torch.full((16, 16), 0.1, requires_grad=True)
def adapt(w, x):
    loss = (torch.tanh(x @ w) - x).square().mean()
    return w - 0.1 * torch.autograd.grad(loss, w, create_graph=True)[0]
for i in range(300):
    w.grad = None
    total = 0.0
    for task in range(4):
        x = torch.rand(8, 16)
        fast = w
        for k in range(2):
            fast = adapt(fast, x)
        total = total + (torch.tanh(x @ fast) - x).square().mean()
    total.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
print(f"{total.item():.2e}")
""", {"<module>": range(1, 8)}),
    "optimizers": ("""
parameters = [nn.Parameter(torch.rand(64)) for _ in range(6)]
class Own(torch.optim.Optimizer):
    def __init__(self, parameters): super().__init__(parameters, {})
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]: parameter.add_(parameter.grad.sign() * 0.5, alpha=-0.01)
for optimizer in (torch.optim.Adam(parameters), Own(parameters)):
    for i in range(1500):
        optimizer.zero_grad()
        for parameter in parameters: parameter.grad = parameter.detach() * 0.1
        optimizer.step()
print(f"{sum(parameter.sum().item() for parameter in parameters):.2e}")
""", {"<module>": range(0, 9)}),
    "training_loops.py": (open(os.path.join(os.path.dirname(__file__), "weighed/training_loops.py")).read(),
                          {"": range(1, 60)}),
    "watched_loops.py": (open(os.path.join(os.path.dirname(__file__), "weighed/watched_loops.py")).read(), {"": range(1, 50)}),
    "fused_steps.py": (open(os.path.join(os.path.dirname(__file__), "weighed/fused_steps.py")).read(), {"": range(0, 9)}),
    # Eight threads wait for each other, so how long a call seems to take is chance, and whether it is recorded too.
    **{f"first_calls.py {again}": (open(os.path.join(os.path.dirname(__file__), "weighed/first_calls.py")).read(), {"": range(0, 9)})
       for again in range(3)},
    # A kernel writes a parameter once in a step, the loop twice.
    "optimizers by kernels": ("""
import sys
parameters = [nn.Parameter(torch.rand(64)) for _ in range(3)]
written = []
for optimizer in (torch.optim.AdamW(parameters), torch.optim.Adam(parameters, weight_decay=0.1, amsgrad=True),
                  torch.optim.Adagrad(parameters), torch.optim.SGD(parameters, 0.01, momentum=0.9)):
    for i in range(100):
        for parameter in parameters: parameter.grad = parameter.detach() * 0.1
        optimizer.step()
    written.append(optimizer.state[parameters[0]].get("exp_avg_sq", parameters[0])._version)
print(f"{sum(parameter.sum().item() for parameter in parameters):.3e}")
print(*written, file=sys.stderr)
""", {"<module>": range(0, 9)}),
    # Between its segments are a thousand instructions that plain Python runs ten times faster.
    "a root that is slower with entries": ("""
def mixed(x, n):
    total = 0.0
    for i in range(n):
        total += (x * i + 1).sum().item()
        for j in range(1000): total += j % 3
    return total
with torch.no_grad(): print(f"{sum(mixed(x[0], 3) for _ in range(6000)):.3e}")
""", {"mixed": range(1, 9)}),
    # Each turn would be an entry of its own, and waiting for another one costs more than it can save.
    "a loop whose turns fit no entry": ("""
seen, total, few = {}, 0.0, w[:64, :64].clone()
for i in range(6000):
    words = [str(i * j % 97) for j in range(60)]
    for word in words: seen[word] = seen.get(word, 0) + 1
    y = (few @ few[:, :4]).relu().sum()
    total += y.item()
print(len(seen), f"{total:.3e}")
""", {"<module>": range(0, 2)}),
    # Each number of turns would be an entry, and none is wanted twice before long.
    "turns that never come again": ("""
def turns(x, n):
    a = torch.sin(x)
    for _ in range(n):
        a = torch.cos(a)
    return a.sum()
with torch.no_grad():
    print(f"{sum(turns(x, n % 60 + 1).item() for n in range(240)):.3e}")
""", {"turns": range(0, 5)}),
    # One code object is behind the function that gives nothing and behind the one that does.
    "code that rested": ("""
def timed(function):
    def wrapper(*arguments):
        return function(*arguments)
    return wrapper
plain, often = timed(lambda number: number % 7), timed(lambda n: sum(ops(x, w).sum().item() for _ in range(n)))
print(sum(plain(number) for number in range(30000)))
with torch.no_grad(): print(f"{often(200):.3e}")
""", {"ops": range(1, 2)}),
    "threads of code that rested": ("""
import threading
def run(job):
    thread = threading.Thread(target=job)
    thread.start()
    thread.join()
@torch.no_grad()
def work():
    print(f"{sum(ops(x, w).sum().item() for _ in range(200)):.3e}")
for number in range(100): run(lambda: number)
run(work)
""", {"ops": range(1, 2)}),
    # The hook that the child has is as its parent's.
    "children of code that rested": ("""
import ctypes, os
get, current = ctypes.pythonapi._PyInterpreterState_GetEvalFrameFunc, ctypes.pythonapi.PyInterpreterState_Get
get.restype = current.restype = ctypes.c_void_p
get.argtypes = [ctypes.c_void_p]
def hook():
    return get(current())
def run(number, forks):
    if forks and os.fork() == 0:
        child(number)
    return number
def child(number):
    print("hooked as the parent:", hook() == hooked, f"{ops(x, w).sum():.2e}", flush=True)
    os._exit(0)
hooked = hook()
for number in range(100): run(number, False)
run(100, True)
print(os.waitstatus_to_exitcode(os.wait()[1]), hook() == hooked)
""", {}),
    "errors and generators of code that rested": ("""
def fails(number):
    if number % 3 == 0: raise ValueError(number)
    return number
def counts(number):
    got = yield number
    while got != number:
        got = yield got
    return got
def sends(number):
    generator, total = counts(number), 0
    total += next(generator) + generator.send(number + 1)
    try:
        generator.send(number)
    except StopIteration as stop:
        total += stop.value
    return total
def deep(number):
    return 0 if number == 0 else 1 + deep(number - 1)
caught = total = 0
for number in range(5000):
    try:
        total += fails(number)
    except ValueError as error:
        caught += error.args[0]
    total += sends(number)
    made = {}
    exec("def fresh(a): return a + 1", made)  # code that is gone before it rests, or while it does
    total += sum(made["fresh"](number) for _ in range(20))
print(caught, total, sum(deep(number % 300) for number in range(200)), torch.ones(3).sum())
""", {}),
    "a large import": ("""
import gc, os, sys, tempfile
def collections():
    return sum(generation["collections"] for generation in gc.get_stats())
with tempfile.TemporaryDirectory() as folder:
    library = os.path.join(folder, "site-packages")
    os.mkdir(library)
    for number in range(20):
        with open(os.path.join(library, f"library{number}.py"), "w") as file:
            file.write("kept = [[i, (i, i)] for i in range(20000)]\\n")
    sys.path.insert(0, library)
    for number in range(20):  # after so many quiet calls code rests
        try:
            __import__(f"missing{number}")
        except ModuleNotFoundError:
            pass
    before = collections()
    for number in range(20):
        __import__(f"library{number}")
    print(collections() - before, sum(map(gc.is_tracked, sys.modules["library19"].kept[0])), file=sys.stderr)
class Last:
    def __del__(self):
        print(gc.get_freeze_count() > 100000, file=sys.stderr)
last = Last()
""", {}),
    "torch.compile": ("compiled = torch.compile(ops)\nwith torch.no_grad(): print(f'{compiled(x, w).sum():.3e} {compiled(x, w).sum():.3e}')",
                      {"ops": range(1, 2)}),
    "mark_dynamic": ("import torch._dynamo\nt = torch.rand(30, 400)\ntorch._dynamo.mark_dynamic(t, 0)\nwith torch.no_grad(): print(f'{ops(t, w).sum():.3e} {ops(t, w).sum():.3e}')",
                     {"ops": range(1, 2)}),
    "--compile=now": ("with torch.no_grad(): print(f'{ops(x, w).sum():.3e} {ops(x, w).sum():.3e}')", {"ops": range(1, 2)}),
    "--deterministic": ("with torch.no_grad(): print(f'{ops(x, w).sum():.3e} {ops(x, w).sum():.3e}')", {"ops": range(1, 2)}),
}


def graphs_of(documents):
    """How many graphs each function has, and why others have none."""
    graphs, left = {}, {}
    for line in documents.splitlines():
        document = json.loads(line)
        if document["penstock"] == "graph":
            name = document["name"]
            graphs[name] = graphs.get(name, 0) + 1
        elif document["penstock"] == "skip" and document["code"] == "PS0810":
            left[document["name"]] = document["reason"]
    return graphs, left


def check(tool, name, folder):
    text, expected = PROGRAMS[name]
    program, documents = os.path.join(folder, "program.py"), os.path.join(folder, "documents.json")
    with open(program, "w") as file:
        file.write(text if ".py" in name else COMMON + text)
    environment = dict(os.environ, PENSTOCK_STORE=os.path.join(folder, "store"), OMP_NUM_THREADS="1")
    option = name if name.startswith("--") else "--compile=auto"
    command = [tool, option, f"--python={PYTHON}", "--emit=json", "-o", documents, program]
    plain, ours = (subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300, check=False)
                   for words in ([PYTHON, program], command))
    if plain.returncode or (plain.returncode, plain.stdout) != (ours.returncode, ours.stdout) or "penstock" in ours.stderr:
        return f"plain Python {plain.returncode} {plain.stdout}{plain.stderr}, penstock {ours.returncode} {ours.stdout}{ours.stderr}"
    if name == "optimizers by kernels":
        loops, kernels = ([int(word) for word in run.stderr.split()] for run in (plain, ours))
        # A turn of the program's loop may be plain Python's, to be compared: then the optimizer's own loop runs.
        if loops != [200, 200, 400, 500] or not all(70 <= loop - kernel <= 100 for loop, kernel in zip(loops, kernels)):
            return f"writes by optimizers: plain Python {plain.stderr}, penstock {ours.stderr}"
    if "import" in name:
        (often, atoms, collected), (seldom, ours_atoms, spared) = (run.stderr.split() for run in (plain, ours))
        if int(often) < 200 or int(seldom) > 30 or (atoms, ours_atoms, collected, spared) != ("0", "0", "False", "True"):
            return f"collections at imports: plain Python {plain.stderr}, penstock {ours.stderr}"
    with open(documents) as file:
        text = file.read()
    graphs, left = graphs_of(text)
    calls = sum(row["count"] for row in json.loads(text.splitlines()[-1])["calls"])
    if calls < CALLS.get(name, 0):
        return f"only {calls} calls of compiled graphs"
    if calls > MOST_CALLS.get(name, calls):
        return f"{calls} calls of compiled graphs"
    for part, counts in expected.items():
        found = sum(count for function, count in graphs.items() if part in function)
        if found not in counts:
            return f"{found} graphs of {part!r}: {graphs}, left {left}"
    if others := [function for function in graphs if not any(part in function for part in expected)]:
        return f"graphs of {others}"
    if name in LEFT and LEFT[name][1] not in left.get(LEFT[name][0], ""):
        return f"{LEFT[name][0]} is not left to Python: {left}"
    asks = "first_calls" not in name and "loop" not in name and "import" not in name and "code that rested" not in name
    if option == "--compile=auto" and not graphs and asks and not left:
        return "nothing tells why there are no graphs"
    return ""


def main():
    failed = 0
    for name in sys.argv[2:] or PROGRAMS:
        for _ in range(3):  # times decide, and what else the machine does may have disturbed them
            with tempfile.TemporaryDirectory() as folder:
                wrong = check(sys.argv[1], name, folder)
            if not wrong:
                break
        if wrong:
            failed += 1
            print(f"FAILED {name}: {wrong}")
    print(f"{len(sys.argv[2:] or PROGRAMS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
