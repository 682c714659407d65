"""Convolutions on the GPU in every form: dtypes, layouts, geometry, what is folded in and what follows, numbers that are none."""
import torch
import torch.nn.functional as F
from torch import nn

# Of the largest element; sums are float32 everywhere, TF32 rounds factors as half types do.
NEAR = {torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}


def near(result, expected, dtype):
    result = result.double()
    return bool((result - expected).abs().max() <= NEAR[dtype] * expected.abs().max().clamp(min=1e-3)) and not result.isnan().any().item()


class Plain(nn.Module):
    def __init__(self, channels, out, **geometry):
        super().__init__()
        self.convolution = nn.Conv2d(channels, out, **geometry)

    def forward(self, x):
        return self.convolution(x)


class Activated(Plain):
    def forward(self, x):
        return F.relu(self.convolution(x))


class Pooled(Plain):
    def forward(self, x):
        return F.max_pool2d(F.relu(self.convolution(x)), 3, 2, 1)


class Gelu(Plain):
    def forward(self, x):
        return F.gelu(self.convolution(x)) + F.gelu(self.convolution(x), approximate="tanh")


class Scaled(Plain):
    def forward(self, x):
        return F.silu(self.convolution(x) * 0.5 + 1)


class Seen(Plain):
    """What follows is not all that reads the result."""

    def forward(self, x):
        y = self.convolution(x)
        return F.relu(y), y.mean((2, 3)), y.flatten(1)[:, ::7]


class Normed(Plain):
    def __init__(self, channels, out, **geometry):
        super().__init__(channels, out, bias=False, **geometry)
        self.norm = nn.BatchNorm2d(out)
        with torch.no_grad():
            for vector in (self.norm.weight, self.norm.bias, self.norm.running_mean):
                vector.normal_()
            self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        return F.relu(self.norm(self.convolution(x)))


class Residual(nn.Module):
    """As ResNet's: what is added comes by the way of another convolution, or as it is."""

    def __init__(self, channels, out, **geometry):
        super().__init__()
        self.first, self.second = Normed(channels, out, **geometry), Normed(out, out, kernel_size=1)
        self.other = Normed(channels, out, **geometry)

    def forward(self, x):
        y = self.first(x)
        y = F.relu(self.second.norm(self.second.convolution(y)) + self.other.norm(self.other.convolution(x)))
        return F.relu(y + self.second.norm(self.second.convolution(y)))


FORMS = (Plain, Activated, Pooled, Gelu, Scaled, Seen, Normed, Residual)
GEOMETRY = (dict(kernel_size=3, padding=1), dict(kernel_size=7, stride=2, padding=3), dict(kernel_size=(1, 3), stride=(1, 2), padding=(0, 2), dilation=(1, 2)), dict(kernel_size=1))
CHANNELS = ((3, 16), (16, 32), (24, 8))


def outputs(made):
    return made if isinstance(made, tuple) else (made,)


def check_forms(dtypes):
    for form in FORMS:
        for number, geometry in enumerate(GEOMETRY):
            channels, out = CHANNELS[number % len(CHANNELS)]
            torch.manual_seed(number)
            exact = form(channels, out, **geometry).cuda().eval()
            pixels = torch.randn(4, channels, 20, 17, device="cuda")
            for dtype in dtypes:
                for layout in (torch.contiguous_format, torch.channels_last):
                    model = form(channels, out, **geometry).cuda().eval()
                    model.load_state_dict(exact.state_dict())
                    model = model.to(dtype=dtype, memory_format=layout)
                    x = pixels.to(dtype=dtype, memory_format=layout)
                    reference = form(channels, out, **geometry).cuda().eval().double()
                    reference.load_state_dict(model.state_dict())
                    for _ in range(3):
                        made = outputs(model(x))
                    expected = outputs(reference(x.double()))
                    print(form.__name__, number, dtype, layout, [(tuple(y.shape), y.stride(), near(y, e, dtype)) for y, e in zip(made, expected)])


def check_grouped():
    """Channels in groups, transposed ones, one and three dims are torch's."""
    for make in (lambda: nn.Conv2d(16, 16, 3, padding=1, groups=16), lambda: nn.Conv2d(16, 32, 3, groups=4), lambda: nn.ConvTranspose2d(16, 8, 2, 2)):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), make(), nn.ReLU()).cuda().eval()
        x = torch.randn(2, 3, 12, 12, device="cuda")
        for _ in range(3):
            made = model(x)
        print(tuple(made.shape), made.stride(), near(made, model.double()(x.double()), torch.float32))
    for name, x in (("Conv1d", torch.randn(2, 4, 30, device="cuda")), ("Conv3d", torch.randn(2, 4, 5, 6, 7, device="cuda")), ("Conv2d", torch.randn(4, 9, 9, device="cuda"))):
        torch.manual_seed(0)
        model = nn.Sequential(getattr(nn, name)(4, 6, 3), nn.ReLU()).cuda().eval()
        for _ in range(3):
            made = model(x)
        print(name, tuple(made.shape), near(made, model.double()(x.double()), torch.float32))


def check_written_parameters():
    """What was folded is folded again where a parameter or statistic is written."""
    model = Normed(8, 16, kernel_size=3).cuda().eval()
    x = torch.randn(2, 8, 9, 9, device="cuda")
    for step in range(6):
        made = model(x)
        print(step, near(made, F.relu(F.batch_norm(F.conv2d(x.double(), model.convolution.weight.double()), model.norm.running_mean.double(),
                                                   model.norm.running_var.double(), model.norm.weight.double(), model.norm.bias.double())), torch.float32))
        vector = (model.norm.weight, model.norm.bias, model.norm.running_mean, model.norm.running_var, model.convolution.weight)[step % 5]
        vector.mul_(1.5)


def check_uncounted_writes():
    """Statistics are written without being counted, and by a graph of the program's that is replayed."""
    model = Normed(8, 16, kernel_size=3).cuda().eval()
    x = torch.randn(2, 8, 9, 9, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model.norm.running_mean.add_(0.5)
        model.convolution.weight.mul_(1.25)
    for step in range(12):
        for _ in range(2):
            made = model(x)
        print(step, near(made, F.relu(F.batch_norm(F.conv2d(x.double(), model.convolution.weight.double()), model.norm.running_mean.double(),
                                                   model.norm.running_var.double(), model.norm.weight.double(), model.norm.bias.double())), torch.float32))
        if step % 3 == 0:
            model.train()(x * 2)
            model.eval()
        elif step % 3 == 1:
            F.batch_norm(torch.randn(9, 16, device="cuda") * 3, model.norm.running_mean, model.norm.running_var, training=True)
        else:
            graph.replay()


def check_tf32():
    """Factors are rounded where the program says so, from one call to the next."""
    torch.manual_seed(0)
    model = Plain(64, 64, kernel_size=3).cuda().eval()
    x = torch.randn(2, 64, 20, 20, device="cuda")
    expected = F.conv2d(x.double(), model.convolution.weight.double(), model.convolution.bias.double())
    for allowed in (True, False, True, False):
        torch.backends.cudnn.allow_tf32 = allowed
        for _ in range(4):
            made = model(x)
        print("tf32", allowed, bool((made.double() - expected).abs().max() > 2e-5 * expected.abs().max()))


def check_odd_numbers():
    """What is no number stays none, and infinities what they are."""
    for dtype in NEAR:
        model = nn.Sequential(nn.Conv2d(8, 8, 1, bias=False), nn.ReLU()).cuda().eval().to(dtype)
        model[0].weight.copy_(torch.eye(8, dtype=dtype, device="cuda").view(8, 8, 1, 1))
        x = torch.zeros(1, 8, 2, 2, device="cuda", dtype=dtype)
        x[0, 0, 0, 0], x[0, :, 0, 1], x[0, :, 1, 0] = float("nan"), -1, 2
        for _ in range(3):
            made = model(x)
        print(dtype, made[0, 0, 0, 0].isnan().item(), made[0, :, 0, 1].tolist(), made[0, :, 1, 0].tolist())


def check_empty():
    model = Activated(3, 8, kernel_size=3).cuda().eval()
    for images in (2, 0, 2):
        print(images, tuple(model(torch.ones(images, 3, 8, 8, device="cuda")).shape))


def main():
    torch.manual_seed(0)
    torch.backends.cudnn.allow_tf32 = False
    with torch.no_grad():
        check_forms(NEAR)
        check_grouped()
        check_written_parameters()
        check_uncounted_writes()
        check_tf32()
        NEAR[torch.float32] = 3e-3
        torch.backends.cudnn.allow_tf32 = True
        check_forms([torch.float32])
        check_odd_numbers()
        check_empty()


main()
