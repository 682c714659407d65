"""Ops that are taken apart into formulas, compiled: special functions, scans, statistics of order, losses; of changing sizes too."""
import torch
import torch.nn.functional as F


def told(result):
    if isinstance(result, torch.Tensor):
        return str(result.dtype), tuple(result.shape), result.stride(), [f"{v:.4g}" for v in result.double().flatten().tolist()[:24]]
    return [told(item) for item in result]


def special(x, y):
    return (torch.i0(x), torch.special.i0e(x), torch.special.i1(x), torch.special.i1e(x), torch.special.entr(x), torch.special.ndtri(y / 9),
            torch.special.erfcx(x), torch.special.log_ndtr(x * 4), torch.erfinv(y / 9), torch.lgamma(y), torch.digamma(y), torch.polygamma(1, y),
            torch.polygamma(2, y), torch.polygamma(3, y), torch.mvlgamma(y + 2, 3), torch.lgamma(x - 0.3), torch.digamma(x - 0.3))


def scans(x, y):
    return (*torch.cummax(x, 1), *torch.cummin(x, 0), torch.logcumsumexp(x, 1), torch.trapezoid(y, x, dim=1), torch.trapezoid(y, dx=0.5),
            torch.cumulative_trapezoid(y, x, dim=0), torch.cumulative_trapezoid(y, dx=2.0))


def orders(x, y):
    q = torch.tensor([0.1, 0.5, 0.9])
    return (x.median(), x.nanmedian(), torch.msort(x), torch.quantile(x, q, 1), torch.nanquantile(x, 0.3, 0, True),
            torch.quantile(y, 0.7, interpolation="nearest"), *torch.aminmax(x, dim=1))


def distances(x, y):
    signs = torch.ones(x.shape[0])
    classes = torch.arange(x.shape[0])
    return (torch.dist(x, y, 3), F.pairwise_distance(x, y), F.pdist(x), torch.renorm(y, 2, 0, 1.5), F.triplet_margin_loss(x, y, x + y, swap=True),
            F.cosine_embedding_loss(x, y, signs, 0.2), F.multi_margin_loss(x, classes), F.multilabel_margin_loss(x, torch.argsort(y) - 1),
            F.poisson_nll_loss(x, y, full=True), F.cross_entropy(x, classes, label_smoothing=0.1), F.cross_entropy(x, y.softmax(1), weight=y[0]),
            F.binary_cross_entropy(y / 9, (x > 0).to(x.dtype), weight=y[0]))


def parts(x, y):
    return (torch.ldexp(x, torch.arange(x.shape[1])), *torch.frexp(x), torch.float_power(y, 2.5), torch.round(x, decimals=2), torch.angle(x),
            x.masked_scatter(x > 0.5, y), torch.heaviside(x, y), torch.isposinf(x), F.rrelu(x))


for turn in range(4):
    for rows in (3, 4):
        x = (torch.arange(rows * 5.0).reshape(rows, 5) * 7 % 11 - 4) / 3
        y = x.abs() + 0.25
        for function in (special, scans, orders, distances, parts):
            print(turn, rows, function.__name__, told(function(x, y)))
