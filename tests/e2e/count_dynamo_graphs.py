"""Counts the graphs that TorchDynamo makes of a call of each model of the sweep: the peer's column of its table.

Usage: count_dynamo_graphs.py TABLE [NAME…]: models that TABLE (JSON) lacks are added to it, one after the other. A
model that TorchDynamo gives up gets the reason instead of a number.
"""
import json
import sys
from pathlib import Path

import torch

import sweep_models


def graphs_of(name):
    model, args, kwargs = sweep_models.build(name)
    graphs = []

    def count(graph, _):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    try:
        with torch.no_grad():
            model(*args, **kwargs)  # what a model sets up in its first call is not counted
            torch.compile(model, backend=count)(*args, **kwargs)
    except Exception as error:  # TorchDynamo's refusal is a result
        return f"{type(error).__name__}: {str(error).splitlines()[:1]}"
    return len(graphs)


def main():
    table_file, *names = sys.argv[1:]
    file = Path(table_file)
    table = json.loads(file.read_text()) if file.exists() else {"torch": torch.__version__, "graphs": {}}
    for name in names or sweep_models.NAMES:
        if name not in table["graphs"]:
            table["graphs"][name] = graphs_of(name)
            file.write_text(json.dumps(table, indent=1) + "\n")


main()
