"""The programs and documents that the tests of the report's page look at."""

import json

PROGRAM = """\
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(32) for _ in range(2)])
        self.scale = 1.0

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        if x.sum() > 1e6:
            x = x * 0.5
        return (x * self.scale).softmax(-1)

net = Net().eval()
with torch.no_grad():
    for step in range(6):
        net.scale = 1.0 + step % 2
        net(torch.randn(4 + step % 3, 32))
"""

def chain(length: int) -> str:
    """A program of one graph of `length` ops, one of them a subtraction."""
    return ("import torch\n\ndef f(x):\n    for _ in range(%d):\n        x = x + 1\n    x = x - 2\n    for _ in range(%d):\n        x = x + 1\n    return x\n\n"
            "f(torch.ones(4))\n" % (length // 2, length // 2))


HOSTILE = ["</script><script>document.title='ran'</script>", "<img src=x onerror=\"document.title='ran'\">", "]]><!--<script>",
           "line\u2028separator\u2029", "\\u003cimg src=x>", "${document.title='ran'}", "javascript:document.title='ran'"]


def hostile(stream: str) -> str:
    """The stream with names that try to get out of the page's data and into its markup."""
    documents = [json.loads(line) for line in stream.splitlines() if line.strip()]
    for number, document in enumerate(documents):
        bad = HOSTILE[number % len(HOSTILE)]
        if document["penstock"] == "graph":
            document["name"] = bad
            for at, call in enumerate(document["calls"]):
                call["target"] = HOSTILE[at % len(HOSTILE)]
                for frame in call["stack"]:
                    frame["function"] = bad
        if document["penstock"] == "break":
            document["reason"] = document["hint"] = bad
        if document["penstock"] == "recompile":
            for failed in (guard for entry in document["entries"] for guard in entry["failed"]):
                failed.update(actual=bad, expected=bad, hint=bad, text=bad)
        if document["penstock"] == "program":
            document["argv"] = [*document["argv"], *HOSTILE]
    return "".join(json.dumps(document) + "\n" for document in documents)


def large(report: str, graphs: int, nodes: int) -> str:
    """The report with so many graphs, the first of them with so many calls, each a kernel or part of one."""
    document = json.loads(report)
    pattern = max(document["graphs"], key=lambda graph: len(graph["calls"]))
    one = pattern["calls"][0]
    calls = [one | {"name": f"call_{at}", "reads": [-1 if at == 0 else at - 1] + ([at - 9] if at % 7 == 0 and at > 9 else [])} for at in range(nodes)]
    steps = [pattern["steps"][0] | {"name": f"k{at}", "calls": [2 * at, 2 * at + 1]} for at in range(nodes // 2)]
    first = pattern | {"calls": calls, "steps": steps, "ops": nodes, "id": "0/0", "passes": []}
    document["graphs"] = [first] + [pattern | {"id": f"{at}/0"} for at in range(1, graphs)]
    return json.dumps(document)
