"""Cases of cells of recurrent networks: (name, run) pairs."""
import torch

from case import FLOATS
from image_cases import numbers

GATES = {"rnn_tanh_cell": 1, "rnn_relu_cell": 1, "gru_cell": 3, "lstm_cell": 4}


def step(call, cell, x, states, parameters):
    """One step; an LSTM's takes and gives a hidden state and a cell state."""
    result = call(cell + ".default", x, states if len(states) > 1 else states[0], *parameters)
    return list(result) if len(states) > 1 else result


def layouts(features, dtype):
    """Inputs or states of three rows, and how they lie."""
    yield "", numbers(3, features, dtype=dtype)
    yield "transposed", numbers(features, 3, dtype=dtype).t()
    yield "expanded", numbers(1, features, dtype=dtype).expand(3, features)
    yield "every other", numbers(3, 2 * features, dtype=dtype)[:, ::2]


def cells():
    for cell, gates in GATES.items():
        for dtype in FLOATS:
            w_ih, w_hh = numbers(gates * 4, 5, dtype=dtype, high=1), numbers(gates * 4, 4, dtype=dtype, low=-1)
            biases = [numbers(gates * 4, dtype=dtype), numbers(gates * 4, dtype=dtype, low=0.5)]
            for (name, x), (state_name, h) in zip(layouts(5, dtype), reversed(list(layouts(4, dtype)))):
                states = [h, h * 0.5][: 2 if cell == "lstm_cell" else 1]
                for parameters in ([w_ih, w_hh], [w_ih, w_hh, *biases], [w_ih, w_hh, None, biases[1]]):
                    tag = f"{cell} {dtype} {name} {state_name} {[p is not None for p in parameters[2:]]}"
                    yield tag, lambda call, c=cell, x=x, s=states, p=parameters: step(call, c, x, s, p)
            states = [numbers(0, 4, dtype=dtype)] * (2 if cell == "lstm_cell" else 1)
            yield f"{cell} {dtype} of no row", lambda call, c=cell, s=states, x=numbers(0, 5, dtype=dtype), p=[w_ih, w_hh, *biases]: step(call, c, x, s, p)
    w = numbers(16, 4)
    for name, cell_state in {"one row": numbers(1, 4), "NaN": numbers(3, 4, special=True), "transposed": numbers(4, 3).t()}.items():
        yield f"lstm_cell with a cell state: {name}", lambda call, c=cell_state: step(call, "lstm_cell", numbers(3, 4), [numbers(3, 4, low=0), c], [w, w])
