"""Calls an exported model with numpy's arrays; torch is not imported:

    penstock export --dynamic-sizes=input:0=rows -o mlp.pstk mlp.py
    python call.py mlp.pstk 3
"""
import sys

import numpy
import penstock

model = penstock.load(sys.argv[1])
print(model)
rows, columns = int(sys.argv[2]), model.arguments[0].sizes[1].greatest
x = numpy.arange(rows * columns, dtype=numpy.float32).reshape(rows, columns) / (rows * columns)
result = numpy.from_dlpack(model(x)[0])
for number, row in enumerate(result):
    print(f"row {number} begins with {row[0]:.5f}")
assert "torch" not in sys.modules
