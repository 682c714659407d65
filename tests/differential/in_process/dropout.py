"""Dropout of every kind draws what torch draws, in the order of the program and of memory, and leaves the generator as
torch leaves it; its gradients are those of the same draws."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)


def shown(name, *tensors):
    state = int(torch.default_generator.get_state()[:5016].long().sum())
    # Which elements are there is exact; products of matrices round as they are summed.
    print(name, state, [(int((t != 0).sum()), tuple(t.stride()), round(float(t.double().sum()), 2) + 0) for t in tensors])


def plain(x):
    return F.dropout(x, 0.3) * 2


def transposed(x):
    return F.dropout(x.transpose(0, 1) * 1.5, 0.1).relu()


def channels(x):
    return F.dropout2d(x, 0.5) + F.dropout1d(x.flatten(2), 0.25).view_as(x)


def scaled_units(x):
    return F.alpha_dropout(x, 0.2, training=True) + F.feature_alpha_dropout(x, 0.3, training=True)


def with_mask(x):
    kept, mask = torch.native_dropout(x, 0.25, True)
    return kept * mask


def attention(x):
    return F.scaled_dot_product_attention(x, x * 0.5, x + 1, dropout_p=0.2)


def causal(x):
    return F.scaled_dot_product_attention(x, x * 0.5, x + 1, dropout_p=0.3, is_causal=True)


def in_place(x):
    y = x * 1.0
    return F.dropout(y, 0.3, inplace=True) + y


def all_or_nothing(x):
    return F.dropout(x, 1.0) + F.dropout(x, 0.0) + F.dropout(x, 0.7, training=False)


def in_turn(x):
    return F.dropout(x + 1, 0.4) + torch.rand_like(x) + F.dropout(x, 0.5) * torch.randn(x.shape[-1])


layers = nn.LSTM(8, 8, 2, dropout=0.5)


def recurrent(x):
    layers(x[0])
    return layers(x[0])[0] + F.dropout(layers(x[0])[0], 0.5)


def unused(x):
    F.dropout(x, 0.5)
    F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
    return F.dropout(x, 0.5)


for f in (plain, transposed, channels, scaled_units, with_mask, attention, causal, in_place, all_or_nothing, in_turn,
          unused):
    for shape in ((2, 4, 6, 8), (3, 4, 5, 7), (2, 4, 9, 8)):
        # Every other one of the first calls is plain Python's, to be measured.
        for wanted in (True, True, True, True, False, False, False, False):
            x = torch.randn(shape, requires_grad=wanted)
            y = f(x)
            if wanted:
                y.pow(2).sum().backward()
            shown(f.__name__, y.detach(), *[x.grad] if wanted else [])

# Weights that are computed in blocks of rows.
for wanted in (False, False, False, False, True, True, True):
    x = torch.randn(2, 4, 600, 8, requires_grad=wanted)
    y = attention(x)
    if wanted:
        y.pow(2).sum().backward()
    shown("blocks", y.detach(), *[x.grad] if wanted else [])

for turn in range(8):
    with torch.no_grad():
        shown("recurrent", recurrent(torch.randn(2, 4, 3, 8)))

for dtype in (torch.float64, torch.bfloat16, torch.float16):
    for turn in range(3):
        x = torch.randn(4, 6, dtype=dtype, requires_grad=True)
        y = plain(x)
        y.sum().backward()
        shown(dtype, y.detach(), x.grad)

for turn in range(3):
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last).requires_grad_()
    y = plain(x)
    y.sum().backward()
    shown("channels last", y.detach(), x.grad)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, dropout=0.1, batch_first=True)
        self.first, self.second, self.norm = nn.Linear(16, 32), nn.Linear(32, 16), nn.LayerNorm(16)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = x + self.dropout(self.attention(x, x, x, need_weights=False)[0])
        return self.norm(x + self.dropout(self.second(self.dropout(F.gelu(self.first(x))))))


net = nn.Sequential(Layer(), Layer())
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for step in range(6):
    loss = net(torch.randn(3, 5 + step % 2, 16)).pow(3).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, round(loss.item(), 4))
print("behind", torch.rand(1).item())
