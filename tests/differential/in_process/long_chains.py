"""Chains and fans of ops that programs write in loops: tensors filled slice by slice, cats of many, grids of images,
windows of padded images. What is compiled of them grows with their ops, and is right for each size."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_grad_enabled(False)


def show(name, *values):
    print(name, *(round(v.double().sum().item(), 2) + 0.0 for v in values), *(tuple(v.shape) for v in values))


def grid(images, columns=8, padding=2):
    """As torchvision's make_grid."""
    count, channels, height, width = images.shape
    rows = -(-count // columns)
    height, width = height + padding, width + padding
    out = images.new_full((channels, height * rows + padding, width * columns + padding), 0.5)
    k = 0
    for y in range(rows):
        for x in range(columns):
            if k >= count:
                break
            out.narrow(1, y * height + padding, height - padding).narrow(
                2, x * width + padding, width - padding).copy_(images[k])
            k += 1
    return out


def rows(x):
    y = torch.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] * (i + 1)
    return y


def parts(x):
    y = torch.empty_like(x).fill_(-1.0)
    for i in range(12):
        y[i, 2:6] = x[i, 1:5]
        y[:, i] += 1
        y[1:, 0] = y[:-1, i] * 0.5
    return y, y[3] + 1


def recurrence(x):
    y = x.clone()
    for i in range(1, x.shape[0]):
        y[i] = y[i] + 0.5 * y[i - 1]
    return y


def kept_between(x):
    y = torch.zeros_like(x)
    seen = []
    for i in range(10):
        y[i] = x[i]
        if i % 4 == 1:
            seen.append(y * 2)
    return sum(seen), y


def into_input(x, y):
    for i in range(9):
        y[i, i:] = x[i, i:] * 2
    return y.sum(0)


def transposed(x):
    y = torch.zeros(x.shape[1], x.shape[0])
    for i in range(7):
        y.t()[i] = x[i]
        y[None, :, i:i + 1].copy_(x[i][None, :, None] + 1)
    return y


def cat_of_many(xs):
    return torch.cat(xs), torch.cat([x * 2 for x in xs]), torch.stack([x[:3] for x in xs])


def mixed(xs):
    x = xs[0][:3]
    for other in xs[1:40]:
        x = torch.cat([x[1:], other[:1] * x[:1]])
    return x


def merging(x):
    h, w, _ = x.shape[-3:]
    x = F.pad(x, (0, 0, 0, w % 2, 0, h % 2))
    return torch.cat([x[..., 0::2, 0::2, :], x[..., 1::2, 0::2, :], x[..., 0::2, 1::2, :], x[..., 1::2, 1::2, :]], -1)


def windows(x, size=4):
    b, h, w, c = x.shape
    x = F.pad(x, (0, 0, 0, (size - w % size) % size, 0, (size - h % size) % size))
    _, high, wide, _ = x.shape
    x = x.view(b, high // size, size, wide // size, size, c).permute(0, 1, 3, 2, 4, 5)
    x = x.reshape(b * (high // size) * (wide // size), size * size, c).softmax(-1)
    x = x.view(b, high // size, wide // size, size, size, c).permute(0, 1, 3, 2, 4, 5).reshape(b, high, wide, c)
    return x[:, :h, :w, :].contiguous()


def shuffled(x):
    for _ in range(9):
        x = torch.tanh(x).view(3, 4, 12).transpose(0, 1).reshape(12, 12)
    return x


def padded_mean(x):
    mean = x.mean(1, keepdim=True)
    return mean, F.pad(mean, (2, 2), value=3.0)


def integers(x):
    y = torch.zeros_like(x)
    for i in range(8):
        y[i, ::2] = x[i, 1::2]
    return y


square = torch.rand(12, 12)
for call in range(4):
    show("grid", grid(torch.rand(20, 1, 7, 5)))
    for function in (rows, recurrence, kept_between, parts, transposed, shuffled, padded_mean):
        result = function(square + call)
        show(function.__name__, *(result if isinstance(result, tuple) else (result,)))
    memory = torch.ones(12, 12)
    show("into_input", into_input(square, memory), memory)
    many = [torch.rand(3 + i % 7) for i in range(150)]
    show("cat_of_many", *cat_of_many(many))
    show("mixed", mixed(many))
    for dtype in (torch.int64, torch.bool, torch.uint8, torch.float64, torch.bfloat16):
        show(f"integers {dtype}", integers((square * 9).to(dtype)))
for size in ((2, 18, 22, 24), (3, 16, 20, 12), (4, 17, 23, 10), (2, 9, 8, 6), (5, 21, 6, 7)):
    image = torch.arange(float(torch.Size(size).numel())).view(size) / 1000
    show("merging", merging(image))
    show("windows", windows(image))
torch.set_grad_enabled(True)
