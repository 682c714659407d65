#!/usr/bin/env python3
"""Graphs as ONNX models, run by ONNX Runtime on the CPU."""

import os

import penstock_backend

MOST_KEPT = 1 << 30  # a protocol buffer has at most two of them


def compile_graph(request):
    import onnxruntime
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = request.threads
    options.inter_op_num_threads = 1
    # Behind a call the processor is the program's.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    model = request.kept
    if model:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    else:
        model = request.convert("onnx", "model.onnx")
        if os.path.getsize(model) < MOST_KEPT and not os.path.exists(model + ".data"):
            options.optimized_model_filepath = request.keep
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]

    def run(arrays):
        if len(arrays) != len(names):
            raise penstock_backend.Declined("numbers that Python computed are inputs of the graph")
        return session.run(None, dict(zip(names, arrays)))

    return run


penstock_backend.serve(["onnxruntime"], compile_graph)
