"""Every kind of argument of an op that is a number, with another one in each call: a value that changes is an input of the
graph, and what torch refuses or computes otherwise is an entry of its own. Inference and training."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
X = torch.randn(4, 6, dtype=torch.float64)
Y = torch.randn(4, 6, dtype=torch.float64)
I = torch.arange(24).reshape(4, 6) - 8
IMAGE = torch.randn(2, 4, 3, 3, dtype=torch.float64)
ROWS = torch.tensor([2, 0, 1, 3])
CLASSES = torch.tensor([1, 0, 5, 2])
MASK = X > 0.2
WEIGHT, BIAS = torch.randn(6, dtype=torch.float64), torch.randn(6, dtype=torch.float64)
MATRIX, OTHER = torch.randn(4, 5, dtype=torch.float64), torch.randn(5, 6, dtype=torch.float64)
BATCH, SECOND = torch.randn(3, 4, 5, dtype=torch.float64), torch.randn(3, 5, 6, dtype=torch.float64)
HEADS = torch.randn(2, 2, 5, 4, dtype=torch.float64)
FLOATS = [0.3 + 0.05 * i for i in range(12)]
SIGNED = [-0.55 + 0.1 * i for i in range(12)]
WHOLE = list(range(3, 15))
EPS = [1e-5 * (i + 1) for i in range(12)]
ABOVE = [1.25 + 0.25 * i for i in range(12)]

# By the parameter: what is computed of a tensor and a number, and the numbers.
CALLS = {
    "pow": (lambda x, n: x.abs() ** n + torch.pow(x * x + 1, n), SIGNED),
    "pow, whole": (lambda x, n: x ** n, [3, 4, 5, 6, 7, 8, 9, 1, 2, 0]),
    "pow, base": (lambda x, n: n ** x + torch.pow(n, x), ABOVE),
    "pow, roots": (lambda x, n: (x * x + 1) ** n, [0.5, 1.5, -0.5, 2.0, 3.0, -1.0, -2.0, 1.0, 0.0, 0.25, 4.0]),
    "float_power": (lambda x, n: torch.float_power(x.abs() + 1, n), FLOATS),
    "leaky_relu": (F.leaky_relu, SIGNED),
    "leaky_relu, method": (lambda x, n: F.leaky_relu(x * 2, negative_slope=n, inplace=True), FLOATS),
    "elu": (F.elu, ABOVE),
    "elu, below": (lambda x, n: torch.nn.ELU(n)(x), SIGNED),
    "celu": (F.celu, ABOVE),
    "softplus": (lambda x, n: F.softplus(x * 4, n, threshold=3.0), ABOVE),
    "softplus, threshold": (lambda x, n: F.softplus(x * 4, 1.5, n), ABOVE),
    "hardtanh": (lambda x, n: F.hardtanh(x * 2, -n, n * 2), FLOATS),
    "threshold": (lambda x, n: F.threshold(x, n, -3.0), SIGNED),
    "threshold, value": (lambda x, n: F.threshold(x, 0.1, n), SIGNED),
    "hardshrink": (F.hardshrink, FLOATS),
    "softshrink": (F.softshrink, FLOATS),
    "logit": (lambda x, n: torch.logit(torch.sigmoid(x * 3), eps=n / 4), FLOATS),
    "nan_to_num": (lambda x, n: torch.nan_to_num((x / 0).where(x > 0, x) - (x / 0).where(x > 1, -x), n, n + 1, -n), FLOATS),
    "clamp": (lambda x, n: x.clamp(-n, n) + x.clamp(max=n) + torch.clamp_min(x, -n), FLOATS),
    "rsub": (lambda x, n: torch.rsub(x, n, alpha=2.0) + torch.sub(x, x * x, alpha=n), FLOATS),
    "where": (lambda x, n: torch.where(x > n, x, n) + torch.where(x > n, n, x), FLOATS),
    "masked_fill": (lambda x, n: x.masked_fill(MASK, n), FLOATS),
    "index_fill": (lambda x, n: x.index_fill(0, ROWS[:2], n), FLOATS),
    "scatter": (lambda x, n: x.scatter(1, I.abs() % 6, n), FLOATS),
    "scatter, reduced": (lambda x, n: x.detach().scatter(1, I.abs() % 6, n, reduce="add"), FLOATS),
    "pad": (lambda x, n: F.pad(x, (1, 2, 0, 1), value=n), FLOATS),
    "constant_pad": (lambda x, n: torch.nn.ConstantPad2d(1, n)(x[None, None]), FLOATS),
    "lerp": (lambda x, n: torch.lerp(x, Y, n), FLOATS),
    "addcmul": (lambda x, n: torch.addcmul(x, x, Y, value=n) + torch.addcdiv(x, x, Y.abs() + 1, value=n), FLOATS),
    "xlogy": (lambda x, n: torch.xlogy(n, x.abs() + 1) + torch.xlogy(x, n), ABOVE),
    "copysign": (lambda x, n: torch.copysign(x, n), SIGNED),
    "fmod": (lambda x, n: torch.fmod(x, n) + torch.remainder(x, n) + x % n, FLOATS),
    "div": (lambda x, n: torch.div(x.detach(), n, rounding_mode="floor") + x / n + n / (x.abs() + 1), FLOATS),
    "layer_norm": (lambda x, n: F.layer_norm(x, (6,), WEIGHT, BIAS, n), EPS),
    "rms_norm": (lambda x, n: F.rms_norm(x, (6,), WEIGHT, n), EPS),
    "group_norm": (lambda x, n: F.group_norm(x[..., None] * IMAGE[0, 0, 0, 0], 2, None, None, n), EPS),
    "batch_norm": (lambda x, n: F.batch_norm(x, WEIGHT * 0, WEIGHT.abs() + 1, WEIGHT, BIAS, False, 0.1, n), EPS),
    "batch_norm, trained": (lambda x, n: F.batch_norm(x, None, None, WEIGHT, BIAS, True, 0.1, n), EPS),
    "batch_norm, momentum": (lambda x, n: (F.batch_norm(x, mean := WEIGHT * 1, var := WEIGHT.abs() + 1, None, None, True, n),
                                           mean, var)[0] + mean + var, FLOATS),
    "instance_norm": (lambda x, n: F.instance_norm(x[None] * Y, None, None, None, None, True, 0.1, n), EPS),
    "normalize": (lambda x, n: F.normalize(x, eps=n), EPS),
    "cosine_similarity": (lambda x, n: F.cosine_similarity(x, Y, eps=n), EPS),
    "pairwise_distance": (lambda x, n: F.pairwise_distance(x, Y, eps=n), EPS),
    "label_smoothing": (lambda x, n: F.cross_entropy(x, CLASSES, label_smoothing=n / 2), FLOATS),
    "label_smoothing, shares": (lambda x, n: F.cross_entropy(x, Y.softmax(1), label_smoothing=n / 2), FLOATS),
    "huber": (lambda x, n: F.huber_loss(x, Y, delta=n), FLOATS),
    "smooth_l1": (lambda x, n: F.smooth_l1_loss(x, Y, beta=n), FLOATS),
    "margin_ranking": (lambda x, n: F.margin_ranking_loss(x, Y, torch.sign(Y), margin=n), FLOATS),
    "hinge_embedding": (lambda x, n: F.hinge_embedding_loss(x, torch.sign(Y), margin=n), FLOATS),
    "triplet_margin": (lambda x, n: F.triplet_margin_loss(x, Y, x * Y, margin=n, eps=n / 1e5), FLOATS),
    "cosine_embedding": (lambda x, n: F.cosine_embedding_loss(x, Y, torch.sign(Y[:, 0]), margin=n), FLOATS),
    "multi_margin": (lambda x, n: F.multi_margin_loss(x, CLASSES, margin=n), FLOATS),
    "poisson": (lambda x, n: F.poisson_nll_loss(x.abs(), Y.abs(), log_input=False, eps=n), EPS),
    "gaussian": (lambda x, n: F.gaussian_nll_loss(x, Y, Y.abs(), eps=n), EPS),
    "addmm": (lambda x, n: torch.addmm(x, MATRIX, OTHER, beta=n, alpha=n + 1), FLOATS),
    "addmm, factor": (lambda x, n: torch.addmm(Y, x[:, :5], OTHER, beta=n, alpha=n + 1), FLOATS),
    "addmm, alpha": (lambda x, n: torch.addmm(Y, x[:, :5], OTHER, alpha=n), FLOATS),
    "baddbmm": (lambda x, n: torch.baddbmm(x[None], BATCH, SECOND, beta=n, alpha=n + 1), FLOATS),
    "addbmm": (lambda x, n: torch.addbmm(x, BATCH, SECOND, beta=n, alpha=n + 1), FLOATS),
    "addmv": (lambda x, n: torch.addmv(x[:, 0], MATRIX, OTHER[:, 0], beta=n, alpha=n + 1), FLOATS),
    "addr": (lambda x, n: torch.addr(x, MATRIX[:, 0], OTHER[0], beta=n, alpha=n + 1), FLOATS),
    "index_add": (lambda x, n: x.index_add(0, ROWS, Y, alpha=n), FLOATS),
    "attention": (lambda x, n: F.scaled_dot_product_attention(x.reshape(1, 2, 3, 4), HEADS[:1], HEADS[1:], scale=n), FLOATS),
    "attention, causal": (lambda x, n: F.scaled_dot_product_attention(x.reshape(1, 2, 3, 4), HEADS[:1], HEADS[1:], is_causal=True, scale=n), FLOATS),
    "linspace": (lambda x, n: x * torch.linspace(n, n * 3, 6, dtype=torch.float64), FLOATS),
    "logspace": (lambda x, n: x * torch.logspace(n, n * 2, 6, dtype=torch.float64), FLOATS),
    "full": (lambda x, n: x * torch.full((6,), n) + torch.full_like(x, n) + x.new_full((6,), n) + torch.tensor(n) + torch.scalar_tensor(n), FLOATS),
    "histogram": (lambda x, n: torch.histc(x.detach(), 4, -n, n), FLOATS),
    "quantile": (lambda x, n: torch.quantile(x, n), FLOATS),
    "renorm": (lambda x, n: torch.renorm(x, 2, 0, n), FLOATS),
    "norm": (lambda x, n: torch.linalg.vector_norm(x, n), ABOVE),
    "variance": (lambda x, n: torch.var(x, 1, correction=n), [0, 1, 2, 3, 4]),
    "trapezoid": (lambda x, n: torch.trapezoid(x, dx=n), FLOATS),
    "zeta": (lambda x, n: torch.special.zeta(x.detach().abs() + 2, n), ABOVE),
    "isclose": (lambda x, n: torch.isclose(x, Y, atol=n), FLOATS),
    "isin": (lambda x, n: torch.isin(I, n), WHOLE),
    "gelu, scaled": (lambda x, n: F.gelu(x * n) / n, FLOATS),
    "gumbel": (lambda x, n: F.softmax(x / n, 1), FLOATS),
    "temperature": (lambda x, n: F.kl_div(F.log_softmax(x / n, 1), F.softmax(Y / n, 1), reduction="batchmean") * n ** 2, FLOATS),
    "whole, modulo": (lambda x, n: I % n + I // n + torch.fmod(I, n) + torch.div(I, n, rounding_mode="trunc"), WHOLE),
    "whole, power": (lambda x, n: I ** (n - 3), WHOLE),
    "whole, bits": (lambda x, n: (I & n) + (I | n) + (I ^ n) + (I << n) + (I >> n % 3), WHOLE),
    "whole, compared": (lambda x, n: (I > n) & (I != n + 1), WHOLE),
    "whole, in place": (lambda x, n: I.clone().fill_(n).add_(n).mul_(n).masked_fill_(MASK, n), WHOLE),
}


def text(value):
    numbers = value.flatten().tolist()
    total = sum(number * (place % 5 + 1) for place, number in enumerate(numbers))
    return value.dtype, f"{total:.2f}" if value.dtype == torch.float32 else f"{total:.5f}"


def slope(y, x):
    return torch.autograd.grad((y * (y + 1)).sum(), x)[0]


for name, (function, numbers) in CALLS.items():
    for n in numbers:
        with torch.no_grad():
            print(name, *text(function(X, n)))
        x = X.clone().requires_grad_()
        y = function(x, n)
        if y.requires_grad:
            print(name, *text(y), *text(slope(y, x)))

# What torch refuses, and numbers at which it computes something else.
ODD = {
    "celu": (lambda x, n: F.celu(x, n), [1.0, 2.0, 3.0, 0.0, 4.0]),
    "softshrink": (lambda x, n: F.softshrink(x, n), [0.1, 0.2, 0.3, -0.1, 0.4]),
    "logit": (lambda x, n: torch.logit(torch.sigmoid(x), n), [0.1, 0.2, 0.3, 0.7, -1.0, 0.4]),
    "huber": (lambda x, n: F.huber_loss(x, Y, delta=n), [1.0, 2.0, 3.0, 0.0, -1.0, 4.0]),
    "smooth_l1": (lambda x, n: F.smooth_l1_loss(x, Y, beta=n), [1.0, 2.0, 3.0, 0.0, -1.0, 4.0]),
    "label_smoothing": (lambda x, n: F.cross_entropy(x, CLASSES, label_smoothing=n), [0.1, 0.2, 0.3, 0.0, 1.5, -0.1, 0.4]),
    "addmm": (lambda x, n: torch.addmm(x / 0, MATRIX, OTHER, beta=n), [1.0, 2.0, 3.0, 0.0, 4.0]),
    "whole, modulo": (lambda x, n: I % n, [3, 4, 5, 0, 6]),
    "whole, power": (lambda x, n: I ** n, [3, 4, 5, -1, 6]),
    "small, modulo": (lambda x, n: I.int() % n, [3, 4, 5, 2**32, 6]),
    "large": (lambda x, n: x.float() ** n, [3.0, 4.0, 5.0, 1e300, 2.0]),
    "fill": (lambda x, n: x.float().masked_fill(MASK, n), [3.0, 4.0, 5.0, 1e300, 2.0]),
    "kinds": (lambda x, n: I ** n + F.leaky_relu(x, n), [2, 2.5, 3, 3.5, 4, True, 4.5]),
    "quantile": (lambda x, n: torch.quantile(x, n), [0.1, 0.2, 0.3, 1.5, 0.4]),
    "elu_": (lambda x, n: F.elu(x * 1, n, inplace=True), [1.0, 2.0, 3.0, -1.0, 4.0]),
    "leaky_relu_": (lambda x, n: F.leaky_relu(x * 1, n, inplace=True), [0.1, 0.2, 0.3, -0.4, 0.5]),
    "dropout": (lambda x, n: F.dropout(x, n), [0.1, 0.2, 0.3, 0.0, 1.0, 1.5, 0.5]),
}
for name, (function, numbers) in ODD.items():
    for n in numbers:
        x = X.clone().requires_grad_()
        try:
            y = function(x, n)
            print(name, n, *text(y), *(text(slope(y, x)) if y.requires_grad else ()))
        except Exception as error:  # the same error, by its first line
            print(name, n, type(error).__name__, str(error).splitlines()[0])
