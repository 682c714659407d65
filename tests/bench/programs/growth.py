"""Functions of a given number of ops, or of operands, of one kind each: what bench growth compiles.

Usage: growth.py KIND COUNT
"""
import sys

import torch
import torch.nn.functional as F

SIZE = 16
WEIGHT = torch.eye(SIZE) * 0.5
KERNEL = torch.full((2, 2, 3, 3), 0.1)
INDEX = torch.arange(SIZE).flip(0)


def pointwise(x, n):
    for _ in range(n):
        x = torch.tanh(x)
    return x


def reduction(x, n):
    for _ in range(n):
        x = x - x.amax(1, keepdim=True)
    return x


def view(x, n):
    for _ in range(n):
        x = x.view(4, 4, SIZE).transpose(0, 1).reshape(SIZE, SIZE)
    return x


def slices(x, n):
    for i in range(n):
        x = F.pad(x[:, 1 + i % 3:], (1 + i % 3, 0))
    return x


def slice_write(x, n):
    y = torch.zeros_like(x)
    for i in range(n):
        y[i % SIZE, 2:9] = x[i % SIZE, 1:8]
    return y


def slice_change(x, n):
    y = x.clone()
    for i in range(n):
        y[i % SIZE] += y[(i + 1) % SIZE]
    return y


def narrow_copy(x, n):
    y = torch.zeros_like(x)
    for i in range(n):
        y.narrow(0, i % SIZE, 1).narrow(1, i % 8, 4).copy_(x[:1, :4])
    return y


def cat_chain(x, n):
    for i in range(n):
        x = torch.cat([x[:, 5:], x[:, :5]], 1)
    return x


def stack_chain(x, n):
    for i in range(n):
        x = torch.stack([x, -x])[i % 2]
    return x


def split_chain(x, n):
    for i in range(n):
        a, b = x.split(SIZE // 2, 1)
        x = torch.cat([b, a], 1)
    return x


def index(x, n):
    for _ in range(n):
        x = x[INDEX]
    return x


def matmul(x, n):
    for _ in range(n):
        x = x @ WEIGHT
    return x


def conv(x, n):
    x = x.view(1, 1, SIZE, SIZE).expand(1, 2, SIZE, SIZE)
    for _ in range(n):
        x = F.conv2d(x, KERNEL, padding=1)
    return x


def norm(x, n):
    for _ in range(n):
        x = F.layer_norm(x, (SIZE,))
    return x


def softmax(x, n):
    for _ in range(n):
        x = torch.softmax(x, -1)
    return x


def where(x, n):
    for i in range(n):
        x = torch.where(x > i, x, -x)
    return x


def pad(x, n):
    for _ in range(n):
        x = F.pad(x, (1, 1))[:, 1:-1]
    return x


def scan(x, n):
    for _ in range(n):
        x = x.cumsum(1) * 0.1
    return x


def cat_operands(x, n):
    return torch.cat([x[i % SIZE] for i in range(n)])


def cat_computed(x, n):
    return torch.cat([x[i % SIZE] * (i + 1) for i in range(n)])


def stack_operands(x, n):
    return torch.stack([x[i % SIZE] for i in range(n)])


def split_operands(x, n):
    return sum(part * 2 for part in x.repeat(1, n).split(SIZE, 1))


def sum_operands(x, n):
    return sum([x * (i + 1) for i in range(n)])


def outputs(x, n):
    return [x * (i + 1) for i in range(n)]


if __name__ == "__main__":
    function, count = globals()[sys.argv[1]], int(sys.argv[2])
    x = torch.linspace(-1, 1, SIZE * SIZE).view(SIZE, SIZE)
    with torch.no_grad():
        function(x, count)
