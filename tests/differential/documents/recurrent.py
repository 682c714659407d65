"""Cells of recurrent networks step by step: a decoder's loop, several layers, states that lie otherwise."""
import torch

import roots


def decoded(cell, tokens, table, state, w_ih, w_hh, b_ih, b_hh):
    for step in range(tokens.shape[0]):
        state = cell(table[tokens[step]], state, w_ih, w_hh, b_ih, b_hh)
    return state


def layered(x, first, second, w, v, b):
    h, c = torch.lstm_cell(x, first, w, v, b, b)
    g, e = torch.lstm_cell(h, second, v, v, None, b)
    return h, c, g, e


for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
    tokens, table = torch.tensor([[1, 0, 3], [2, 2, 1]]), roots.steps(4, 5, dtype=dtype)
    for cell, gates in ((torch.rnn_tanh_cell, 1), (torch.rnn_relu_cell, 1), (torch.gru_cell, 3)):
        w_ih, w_hh, bias = (roots.steps(*sizes, dtype=dtype, high=0.3, low=-0.3) for sizes in ((4 * gates, 5), (4 * gates, 4), (4 * gates,)))
        for state in (roots.steps(3, 4, dtype=dtype), roots.steps(4, 3, dtype=dtype).t(), roots.steps(1, 4, dtype=dtype).expand(3, 4)):
            roots.call(decoded, cell, tokens, table, state, w_ih, w_hh, bias, None)
    w, v, b = (roots.steps(*sizes, dtype=dtype, high=0.4, low=-0.5) for sizes in ((16, 5), (16, 4), (16,)))
    states = roots.steps(4, 3, 4, dtype=dtype)
    roots.call(layered, roots.steps(3, 5, dtype=dtype), (states[0], states[1]), (states[2], states[3]), w, v, b)
print(roots.COUNT)
