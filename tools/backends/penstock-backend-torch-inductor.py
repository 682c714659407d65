#!/usr/bin/env python3
"""Graphs as programs of torch.export, compiled ahead of time by TorchInductor, which calls a C++ compiler."""

import shutil
import zipfile

import penstock_backend


def example_inputs(exported):
    """Tensors as the program's inputs are, with the sizes that they had: a program that was loaded has none."""
    import torch

    def number(size):
        return size if isinstance(size, int) else size.node.hint

    names = set(exported.graph_signature.user_inputs)
    made = []
    for node in exported.graph.nodes:
        if node.op == "placeholder" and node.name in names:
            like = node.meta["val"]
            made.append(torch.zeros([number(size) for size in like.shape], dtype=like.dtype)
                        if isinstance(like, torch.Tensor) else number(like))
    return made


def compile_graph(request):
    import torch
    import torch._inductor
    from torch.utils import _pytree
    torch.set_num_threads(request.threads)
    package = str(request.folder / "package.pt2")
    if request.kept:
        with zipfile.ZipFile(request.kept) as kept:
            spec = _pytree.treespec_loads(kept.read("arguments").decode())
            kept.extract("package.pt2", request.folder)
    else:
        exported = torch.export.load(request.convert("pt2", "graph.pt2"))
        spec = exported.module_call_graph[0].signature.in_spec
        exported.example_inputs = _pytree.tree_unflatten(example_inputs(exported), spec)
        torch._inductor.aoti_compile_and_package(exported, package_path=package)
        with zipfile.ZipFile(request.keep, "w") as keep:
            keep.writestr("arguments", _pytree.treespec_dumps(spec))
            keep.write(package, "package.pt2")
    compiled = torch._inductor.aoti_load_package(package)

    def run(arrays):
        given = [torch.from_numpy(array) for array in arrays]
        arguments, keywords = _pytree.tree_unflatten(given, spec)
        with torch.inference_mode():
            results = compiled(*arguments, **keywords)
        # What is written is written in place.
        return [tensor.numpy() for tensor in (*_pytree.tree_leaves(results), *(given[at] for at in request.written))]

    return run


penstock_backend.serve(["torch"], compile_graph)
