#!/usr/bin/env python3
"""Graphs as ONNX models, compiled by OpenVINO for the CPU."""

import pathlib

import penstock_backend


def compile_graph(request):
    import openvino
    # Results are compared with float32's, and threads are the program's to place.
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": request.threads, "NUM_STREAMS": 1,
                "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False}
    core = openvino.Core()
    if request.kept:
        compiled = core.import_model(pathlib.Path(request.kept).read_bytes(), "CPU", settings)
    else:
        compiled = core.compile_model(core.read_model(request.convert("onnx", "model.onnx")), "CPU", settings)
        made = compiled.export_model()
        pathlib.Path(request.keep).write_bytes(made if isinstance(made, bytes) else made.getvalue())
    call, count = compiled.create_infer_request(), len(compiled.inputs)

    def run(arrays):
        if len(arrays) != count:
            raise penstock_backend.Declined("numbers that Python computed are inputs of the graph")
        for at, array in enumerate(arrays):
            # What the memory holds is read in place.
            call.set_input_tensor(at, openvino.Tensor(array, shared_memory=array.size > 0))
        call.infer()
        return [call.get_output_tensor(at).data for at in range(len(compiled.outputs))]

    return run


penstock_backend.serve(["openvino"], compile_graph)
