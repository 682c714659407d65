"""Recurrent networks over sequences of other lengths in each call, padded and packed, with and without gradients."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)


def made(*sizes, seed=1):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


def shown(tensor):
    return [f"{x:.3f}" for x in tensor.detach().flatten().tolist()[:4]]


def states_of(states):
    return states if isinstance(states, tuple) else (states,)


class Padded(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.network = kind(6, 5, **options)

    def forward(self, x):
        results, states = self.network(x.sin())
        return results.relu(), *[state.tanh() for state in states_of(states)]


class Packed(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.network = kind(6, 5, batch_first=True, **options)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        results, states = self.network(packed)
        results, found = pad_packed_sequence(results, batch_first=True)
        return results.relu(), found, *[state.tanh() for state in states_of(states)]


def learned(module, *inputs):
    module.zero_grad()
    results = module(*inputs)
    sum((one * (i + 1)).sum() for i, one in enumerate(results) if one.requires_grad).backward()
    return results


def trained(module, *inputs):
    results = learned(module, *inputs)
    print([(tuple(one.shape), one.stride(), shown(one)) for one in results],
          [f"{p.grad.norm():.3f}" for p in module.parameters()][:3])


kinds = {"LSTM": (nn.LSTM, {}), "two layers": (nn.LSTM, {"num_layers": 2, "bidirectional": True}),
         "projected": (nn.LSTM, {"proj_size": 3}), "GRU": (nn.GRU, {"batch_first": True}),
         "RNN": (nn.RNN, {"bidirectional": True}), "relu": (nn.RNN, {"nonlinearity": "relu", "batch_first": True})}
for name, (kind, options) in kinds.items():
    module = Padded(kind, **options)
    print(name)
    for length in (4, 5, 7, 9, 12, 1):
        trained(module, made(length, 3, 6, seed=length))
    with torch.no_grad():
        for batch in (2, 3, 6, 8):
            print([shown(one) for one in module(made(5, batch, 6, seed=batch))])
for name, (kind, options) in {"LSTM": (nn.LSTM, {}), "GRU": (nn.GRU, {"bidirectional": True}), "RNN": (nn.RNN, {})}.items():
    module = Packed(kind, **options)
    print("packed", name)
    for step in range(6):
        trained(module, made(4, 9, 6, seed=step), torch.tensor([3 + step, 9, 1 + step % 2, 5]))
    with torch.no_grad():
        for batch in (2, 3, 5):
            print([shown(one) for one in module(made(batch, 7, 6, seed=batch), torch.arange(batch) + 2)])

gru = Padded(nn.GRU)
results, state = gru(made(4, 3, 6))
results.sum().backward(retain_graph=True)
state.sum().backward()
print([f"{p.grad.norm():.3f}" for p in gru.parameters()])
results, state = gru(made(6, 3, 6))
results.sum().backward()
try:
    state.sum().backward()
    print("twice")
except RuntimeError as error:
    print(str(error)[:40])


def of_sizes(numbers, x):
    rows = numbers.sort().values[-1]
    return torch.zeros(rows, 3) + x[:rows], torch.ones((2, rows, 1)) * 2, x.new_full((rows, 2), 5.0)


for step in range(5):
    print([tuple(one.shape) for one in of_sizes(torch.tensor([2, step + 1, 1]), made(9, 3))])


def written_between(numbers, x):
    first = torch.zeros(numbers[0], 2) + x
    numbers = numbers * 1
    rows = torch.zeros(numbers[0], 3)
    numbers.add_(1)
    return first, rows, torch.zeros(numbers[0], 3) + 1


for step in range(5):
    print([tuple(one.shape) for one in written_between(torch.tensor([step + 2, 7]), made(1, 2))])
try:
    of_sizes(torch.tensor([2.0, 1.0]), made(9, 3))
except (TypeError, IndexError) as error:
    print(type(error).__name__, str(error)[:60])
