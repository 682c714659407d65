"""Says of every case of fullgraph_table.py whether torch.compile(fullgraph=True) refuses it.

Run by `penstock run` and by plain Python (check_fullgraph.py). A call that plain Python refuses is left out: "raises".
"""

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import io
import itertools
import logging
import math
import operator
import os
import random
import sys
import time
import warnings

warnings.simplefilter("ignore")

import numpy as np
import torch
import torch._dynamo
import torch.nn as nn
import torch.nn.functional as F

from fullgraph_table import ACCEPTED, BLOCKS, OURS_ACCEPTS, REFUSED

x = torch.arange(6.0).reshape(2, 3)
i = torch.tensor([1, 0])
m = x > 2
log = logging.getLogger("table")
log.addHandler(logging.NullHandler())
log.propagate = False
lin = nn.Linear(3, 3)


@dataclasses.dataclass
class Pair:
    a: int
    b: object


@torch._dynamo.disable
def left(x):
    return x * 3


def made(name):
    """The case's function, whose file is named by the case: a refusal says where."""
    body = BLOCKS.get(name, "return " + name)
    text = "def f(x):\n    " + body.replace("\n", "\n    ") + "\n"
    exec(compile(text, f"<{name}>", "exec"), globals())
    return globals().pop("f")


def answer(name):
    torch._dynamo.reset()
    call = torch.compile(made(name), fullgraph=True, backend="eager")
    told = set()
    for _ in range(3):
        try:
            call(x.clone())
            told.add("accepts")
        except torch._dynamo.exc.TorchDynamoException as error:
            told.add("refuses" if f'"<{name}>", line' in str(error) or "from user code" in str(error) else "refuses elsewhere")
        except Exception as error:
            told.add(type(error).__name__)
    return " then ".join(sorted(told))


for name in [*ACCEPTED, *REFUSED, *OURS_ACCEPTS]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        told = answer(name)
    print(f"{told}: {name}", flush=True)
