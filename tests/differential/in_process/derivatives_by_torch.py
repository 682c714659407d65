"""Ops whose derivatives are torch's own: they stay in the graph, and the gradients are torch's, whatever else is there."""
import warnings

import torch
import torch.nn.functional as F

warnings.filterwarnings("ignore", message="index_reduce")  # is in beta
torch.manual_seed(0)
torch.set_grad_enabled(True)
ROUNDS = 4


def rounded(gradients):
    """The first numbers of each as parts of them all: one that is nearly nothing has the roundings of the others."""
    told = []
    for g in gradients:
        numbers = None if g is None else (torch.view_as_real(g) if g.is_complex() else g).flatten()
        whole = 0.0 if g is None else numbers.abs().sum().item()
        told.append(None if g is None else [f"{whole:.4g}"] + [f"{round(x / whole, 5) + 0.0:.5f}" for x in numbers[:3].tolist() if whole > 0])
    return told


def outcome(f, tensors):
    torch.manual_seed(3)
    results = f(*tensors)
    results = results if isinstance(results, tuple) else (results,)
    leaves = [t for t in tensors if t.requires_grad]
    reached = [r for r in results if r.requires_grad]
    try:
        found = torch.autograd.grad(reached, leaves, [torch.ones_like(r) for r in reached], allow_unused=True)
    except RuntimeError as error:
        return "error: " + " ".join(str(error).split()[:8])
    return rounded(found)


def show(name, f, *tensors):
    told = [outcome(f, tensors) for _ in range(ROUNDS)]
    print(name, told[0], all(one == told[0] for one in told))


def leaf(*shape):
    return torch.randn(*shape).requires_grad_()


def spread_out(x):
    return x @ x.mT + 3 * torch.eye(x.shape[-1])


a, b, image, batch = leaf(4, 4), leaf(4, 3), leaf(1, 2, 4, 4), leaf(2, 3, 3)
places = torch.tensor([0, 2, 2, 1])
signal = torch.randn(8, dtype=torch.complex64).requires_grad_()

# Matrices.
show("inv", lambda x: (torch.linalg.inv(spread_out(x)) * 2).relu(), a)
show("solve", lambda x, y: torch.linalg.solve(spread_out(x), y).tanh(), a, b)
show("det", lambda x: torch.linalg.det(spread_out(x)).log(), a)
show("slogdet", lambda x: torch.linalg.slogdet(spread_out(x))[1] * 2, a)
show("cholesky", lambda x: torch.linalg.cholesky(spread_out(x)).sum(0), a)
show("eigvalsh", lambda x: torch.linalg.eigvalsh(spread_out(x)).sqrt(), a)
show("eigh, values alone", lambda x: torch.linalg.eigh(spread_out(x))[0].sqrt(), a)
show("svdvals", lambda x: torch.linalg.svdvals(x).square(), b)
show("qr", lambda x: torch.linalg.qr(x)[1].abs(), a)
show("pinv", lambda x: torch.linalg.pinv(x) * 3, b)
show("matrix_exp of a batch", lambda x: torch.linalg.matrix_exp(x * 0.1).sigmoid(), batch)
# Distances, places and choices.
show("cdist", lambda x, y: torch.cdist(x, y.mT).exp(), a, torch.randn(4, 3).requires_grad_())
show("cdist of itself", lambda x: torch.cdist(x, x + 1).sum(1), a)
show("kthvalue", lambda x: torch.kthvalue(x * 2, 2, dim=1)[0].exp(), a)
show("median", lambda x: x.exp().median(), a)
show("median of a dim", lambda x: (x * 2).median(1)[0].exp(), a)
show("nanmedian", lambda x: (x * 2).nanmedian(), a)
show("mode", lambda x: torch.mode(x.round(), 1)[0] * 2, a)
show("cummax", lambda x: torch.cummax(x * 2, 1)[0].exp(), a)
show("cummin and its places", lambda x: torch.cummin(x * 2, 1), a)
show("logcumsumexp", lambda x: torch.logcumsumexp(x * 2, 1).exp(), a)
show("renorm", lambda x: torch.renorm(x, 2, 0, 0.5).exp(), a)
show("index_reduce", lambda x, y: x.index_reduce(0, places, y.exp(), "amax"), a, leaf(4, 4))
# Images and sequences.
grid = (torch.rand(1, 4, 4, 2) * 2 - 1).requires_grad_()
show("grid_sample", lambda x, g: F.grid_sample(x * 2, g, align_corners=False).exp(), image, grid)
show("grid_sample of a fixed grid", lambda x, g: F.grid_sample(x * 2, g.detach(), mode="bicubic", align_corners=True).exp(), image, grid)
show("max_unpool2d", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2).exp(), image)
show("embedding_bag", lambda w: F.embedding_bag(places.view(2, 2), w * 2, mode="mean").exp(), a)
logits, targets = leaf(6, 2, 4), torch.randint(1, 4, (2, 3))
show("ctc_loss", lambda x: F.ctc_loss(x.log_softmax(-1), targets, [6, 5], [3, 2]), logits)
lstm = torch.nn.LSTM(4, 3, num_layers=2)
weights = [p.detach().requires_grad_() for p in lstm.parameters()]
show("lstm", lambda x, *w: torch.lstm(x, [torch.zeros(2, 2, 3)] * 2, w, True, 2, 0.0, True, False, False)[0].exp(), leaf(6, 2, 4), *weights)
# Formulas, and ops in place.
show("erfinv", lambda x: torch.erfinv(x.tanh() * 0.9) * 2, a)
show("digamma", lambda x: (torch.digamma(x.exp()) * torch.lgamma(x.exp())).sum(), a)
show("polygamma", lambda x: torch.polygamma(1, x.exp()).sum(0), a)
show("i0", lambda x: torch.special.i0e(x) + torch.special.ndtri(x.sigmoid()), a)
show("in place", lambda x: (x.tanh() * 0.5).erfinv_().exp(), a)


def written(x, y, write):
    """What a write of a result of its own leaves to x and y."""
    z = x * 2
    write(z, y.exp())
    return z * x + 1


c = leaf(4, 4)
show("copied", lambda x, y: written(x, y, lambda z, w: z.copy_(w)), a, c)
show("copied into a column", lambda x, y: written(x, y, lambda z, w: z[:, 1].copy_(w[0])), a, c)
show("copied for each row", lambda x, y: written(x, y, lambda z, w: z.copy_(w[1])), a, c)
show("converted", lambda x, y: written(x, y, lambda z, w: z.copy_(w.double())), a, c)
show("filled", lambda x, y: written(x, y, lambda z, w: z[0].fill_(0.5).add_(w[0])), a, c)
show("filled with a tensor", lambda x, y: written(x, y, lambda z, w: z[0].fill_(w[0, 0])), a, c)
show("zeroed", lambda x, y: written(x, y, lambda z, w: z[:2].zero_()), a, c)
show("random slopes", lambda x: F.rrelu(x * 2, training=True) + 1, a)
show("whole quotients", lambda x: x // 0.3, a)
# Complex elements.
show("rfft", lambda x: torch.fft.rfft(x * 2).abs().log(), a)
show("rfft and back", lambda x, y: torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(y), n=4), a, leaf(4, 4))
show("spectrum", lambda x: torch.view_as_real(torch.fft.fft(x * (1 + 2j))).square(), signal)
show("complex result", lambda x: torch.fft.fft(x) * x.conj(), signal)
show("polar", lambda x: torch.polar(x.exp(), x).real, a)
show("stft", lambda x: torch.stft(x.flatten(), 8, 4, window=torch.ones(8), return_complex=True).abs().sum(), a)
# Some results have no tangent, or none has a gradient.
show("values and vectors", lambda x: torch.linalg.eigh(spread_out(x))[0][1:], a)
show("constant", lambda x, y: torch.kthvalue(x.detach(), 2)[0] + y, a, b[:, 0].detach().requires_grad_())
show("zeros", lambda x: torch.cummax(x.floor(), 0)[0] * 2, a)


def twice(x):
    y = torch.logcumsumexp(x, 1).sum() + torch.linalg.inv(spread_out(x)).sum()
    return y


for _ in range(ROUNDS):
    (first,) = torch.autograd.grad(twice(a), a, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), a)
    print("gradients of gradients", rounded([first, second]))


def kept(x):
    return torch.linalg.inv(x * 2).sum()


for _ in range(ROUNDS):
    square = spread_out(a.detach()).requires_grad_()
    result = kept(square)
    result.backward(retain_graph=True)
    result.backward()
    try:
        result.backward()
    except RuntimeError as error:
        print("twice, then once more", rounded([square.grad]), str(error)[:45])
