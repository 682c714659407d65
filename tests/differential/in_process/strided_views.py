"""as_strided, unfold and pieces: memory of arguments and of what was made, in torch's own layout, read and written."""
import torch

READ = """
(x.t() * 2).as_strided((2, 3), (1, 4), 1)
(x + 1).t().as_strided((2, 3), (1, 4), 1)
(x + 1)[:, 2:].as_strided((2, 3), (1, 4), 1)
(x + 1)[:, 2:].as_strided((2, 2), (1, 3))
x.t().exp().unsqueeze(0).expand(3, -1, -1).as_strided((2, 3), (4, 1))
(x[None, :, :, None].contiguous(memory_format=torch.channels_last) * 3).permute(0, 2, 3, 1).as_strided((6,), (2,), 1)
torch.cat([x.t(), x.t()]).as_strided((2, 4), (1, 2), 1)
torch.softmax(x.t(), 0).as_strided((2, 4), (1, 2), 1)
(x.t() @ x).t().as_strided((2, 4), (1, 2), 1)
x.t().as_strided((2, 4), (1, 2), 1)
torch.as_strided_copy(x.t() * 2, (2, 4), (1, 2), 1)
torch.as_strided_scatter(x.t() * 2, torch.ones(2, 4), (2, 4), (1, 2), 1)
torch.as_strided_scatter((x.t() * 2)[1:], torch.ones(2, 2), (2, 2), (4, 1), 1)
""".strip().splitlines()
# `y` is what lies behind the view `v` that is written.
WRITTEN = """
y = x + 1; v = y.as_strided((2, 3), (6, 2), 1)
y = x.t() + 1; v = y.as_strided((2, 3), (6, 2), 1)
y = x.t().contiguous().t() * 1; v = y.as_strided((2, 3), (1, 6), 1).diagonal()
y = (x + 1)[1:]; v = y.as_strided((2, 3), (6, 2))
y = x * 2; v = y.unfold(1, 2, 2)
y = x.t() * 2; v = y.unfold(0, 2, 3)
y = x * 2; v = y.unfold(0, 2, 2).transpose(0, 2)
y = x * 2; v = y.unfold(1, 2, 2).unfold(0, 1, 2)
y = x * 2; v = y.split(2, 1)[1]
y = x * 2; v = y.split([1, 2, 3], 1)[2][1:]
y = x.t() * 2; v = y.chunk(2, 0)[1]
y = x * 2; v = y.tensor_split(3, 1)[1].t()
y = x * 2; v = y.unbind(1)[-1]
y = x; v = x.as_strided((2, 2), (6, 1), 2)
y = x; v = x.unfold(0, 2, 2)
y = x; v = x.split(2, 1)[1]
y = x; v = x[1:].as_strided((2, 2), (6, 1))
y = x * 2; v = y.unfold(1, 3, 1)
y = x * 2; v = y.as_strided((4, 3), (3, 2))
y = x * 2; v = y.as_strided((3, 4), (1, 0))
y = torch.complex(x, x) * 2; v = y.unfold(0, 2, 2)
y = torch.complex(x, x).t() * 2; v = y.as_strided((2, 3), (6, 2), 1)
""".strip().splitlines()


def told(tensor):
    values = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return tuple(tensor.shape), tensor.stride(), [round(value, 3) for value in values.flatten().tolist()]


def function_of(body):
    """A function of its own for every view: each has few ways to be called."""
    names = {"torch": torch}
    exec(f"def f(x):\n    {body}", names)
    return names["f"]


def show(name, function, widths):
    for width in widths:
        x = torch.arange(4.0 * width).view(4, width) / 8
        try:
            results = function(x)
            print(name, [told(result) for result in results], told(x), [result._version for result in results])
        except RuntimeError as error:
            print(name, "raises", str(error).splitlines()[0])


for expression in READ:
    show(expression, function_of(f"return {expression} * 2, x + 1"), (6, 6, 6, 8, 8))
for lines in WRITTEN:
    show(lines, function_of(f"{lines}; v.mul_(3); return y, v * 2"), (6, 6, 6, 8, 8))
    show(lines, function_of(f"{lines}; v.fill_(7); v += 1; return y * 2, v, y"), (6, 6, 6))
