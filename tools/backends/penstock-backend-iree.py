#!/usr/bin/env python3
"""Graphs in MLIR's torch dialect, compiled by IREE for this CPU."""

import pathlib

import penstock_backend

OPTIONS = ["--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false"]


def load(code: bytes, threads: int):
    import iree.runtime
    iree.runtime.flags.parse_flags(f"--task_topology_max_group_count={threads}")
    config = iree.runtime.Config("local-task")
    module = iree.runtime.VmModule.copy_buffer(config.vm_instance, code)
    return iree.runtime.load_vm_modules(module, config=config)[-1]


def compile_graph(request):
    import numpy
    if request.kept:
        code = pathlib.Path(request.kept).read_bytes()
    else:
        import iree.compiler
        code = iree.compiler.compile_file(request.convert("mlir", "graph.mlir"), input_type="torch",
                                          target_backends=["llvm-cpu"], extra_args=OPTIONS)
        pathlib.Path(request.keep).write_bytes(code)
    module = load(code, request.threads)

    def run(arrays):
        # The runtime has no bool, and takes and gives bytes in its place.
        given = [array.view(numpy.int8) if array.dtype == numpy.bool_ else array for array in arrays]
        results = module.main(*given)
        results = results if isinstance(results, (tuple, list)) else (results,)
        return [numpy.asarray(result.to_host()) for result in results]

    return run


penstock_backend.serve(["iree-base-compiler", "iree-base-runtime"], compile_graph)
