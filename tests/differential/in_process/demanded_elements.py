"""What programs demand of elements, by assert and raise, and torch.distributions, which validate their arguments: one graph
that demands it too, and the program's own exception where it does not hold."""
import random

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F

torch.set_grad_enabled(False)
CALLS = 3


def show(value):
    if isinstance(value, torch.Tensor):
        return [round(one, 2) + 0.0 for one in value.double().reshape(-1).tolist()]
    if isinstance(value, (list, tuple)):
        return [show(one) for one in value]
    return value


def run(function, *arguments):
    for given in arguments:
        for call in range(CALLS):
            torch.manual_seed(call)
            try:
                result = function(*given)
            except Exception as error:
                result = type(error).__name__, str(error)[:60]
            print(function.__name__, show(result), round(torch.rand(1).item(), 4))


X, P = torch.linspace(-1, 1, 4), torch.linspace(0.5, 2, 4)


# -- assert and raise


def asserted(x, y):
    assert (x > -2).all(), f"too small: {x.shape}"
    assert not torch.isnan(y).any()
    return x + y


def raised(x, scale):
    if (scale < 0).any():
        raise ValueError("scale is negative")
    if not torch.isfinite(x).all():
        raise RuntimeError(f"not finite: {tuple(x.shape)}")
    return x * scale


def caught(x, scale):
    try:
        y = raised(x, scale)
    except ValueError as error:
        return x - 1, str(error)
    with torch.no_grad():
        assert y.sum() < 100
    return y


WRITTEN = []


def written(x, scale):
    """Nothing is changed twice where the last demand is not met."""
    WRITTEN.append(1)
    x.add_(1)
    noise = torch.rand(4)
    if (scale < 0).any():
        raise ValueError("scale is negative")
    return x * scale + noise


def chosen(x):
    """Both ways go on: an element decides in earnest."""
    if (x > 0).all():
        y = x + 1
    else:
        y = x - 1
    if (x > 100).any():
        print("large")
        raise ValueError("large")
    return y


def turned(x, limit):
    """Now and then: no graph is worth it, and none is wrong."""
    if x.sum() > limit:
        raise StopIteration
    return x * 2


def run_demands():
    run(asserted, (X, P), (X - 3, P), (X, P), (X, P * float("nan")), (X, P))
    run(raised, (X, P), (X, -P), (X / 0, P), (X, P), (X.double(), P))
    run(caught, (X, P), (X, -P), (X, P * 1000), (X, P))
    tensor = X.clone()
    run(written, (tensor, P), (tensor, -P), (tensor, P))
    print(show(tensor), len(WRITTEN))
    run(chosen, (X,), (X + 5,), (X + 200,), (X,))
    for k in range(12):
        run(turned, (X + k % 3, 5))


class Checked(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x)
        if torch.isnan(y).any():
            raise FloatingPointError("nan")
        return y.tanh()


def train():
    torch.manual_seed(0)
    model = Checked()
    for x in (X, X, X, X * float("nan"), X, X):
        with torch.enable_grad():
            try:
                loss = model(x).pow(2).sum()
                model.zero_grad()
                loss.backward()
            except FloatingPointError as error:
                print("train", error)
                continue
        print("train", show(loss), show(model.layer.weight.grad), show(model.layer.bias.grad))


# -- distributions


def normal(mean, scale, value):
    d = D.Normal(mean, scale)
    return d.log_prob(value), d.entropy(), d.cdf(value), d.icdf(d.cdf(value)), d.mean, d.stddev, d.rsample(), d.sample((2,))


def kl(mean, scale):
    q, p = D.Normal(mean, scale), D.Normal(torch.zeros_like(mean), torch.ones_like(scale))
    return D.kl_divergence(q, p), D.kl_divergence(D.Independent(q, 1), D.Independent(p, 1))


def categorical(logits):
    d = D.Categorical(logits=logits)
    sample = d.sample()
    return sample, d.log_prob(sample), d.entropy(), d.probs, d.mode, D.Categorical(probs=logits.exp()).entropy()


def bernoulli(logits):
    d = D.Bernoulli(logits=logits)
    sample = d.sample()
    return sample, d.log_prob(sample), d.entropy(), d.mean, d.variance


def others(mean, scale):
    return (D.Uniform(mean, mean + scale).log_prob(mean + scale / 2), D.Exponential(scale).log_prob(scale),
            D.Laplace(mean, scale).log_prob(mean + 1), D.LogNormal(mean, scale).log_prob(scale),
            D.Gamma(scale, scale).log_prob(scale), D.Beta(scale, scale + 1).log_prob(torch.full_like(scale, 0.3)),
            D.Dirichlet(scale).log_prob(scale / scale.sum()), D.Independent(D.Normal(mean, scale), 1).rsample(),
            D.HalfNormal(scale).log_prob(scale), D.Poisson(scale).log_prob(torch.ones_like(scale)))


def squashed(mean, scale):
    d = D.TransformedDistribution(D.Normal(mean, scale), [D.transforms.TanhTransform(cache_size=1)])
    action = d.rsample()
    return action, d.log_prob(action)


def multivariate(mean, scale):
    d = D.MultivariateNormal(mean, scale_tril=torch.diag(scale))
    return d.log_prob(mean + 1), d.entropy(), d.rsample()


KEPT = D.Normal(torch.zeros(4), torch.ones(4))


def kept(x):
    return KEPT.log_prob(x) + D.Normal(0.0, 1.0).log_prob(x)


def run_distributions():
    run(normal, (X, P, X + 1), (X, -P, X), (X, P, X[:3]), (X, P, X + 2), (X, P, X * float("nan")))
    run(kl, (X, P), (X + 1, P * 2), (X, P * 0))
    run(categorical, (X,), (X.expand(2, 4),), (X * float("nan"),))
    run(bernoulli, (X,), (X + 1,))
    run(others, (X, P), (X, P + 1), (X, -P))
    run(squashed, (X, P), (X / 2, P))
    run(multivariate, (X, P), (X, P + 1))
    run(kept, (X,), (X + 1,), (X * float("inf"),))
    D.Distribution.set_default_validate_args(False)
    run(normal, (X, P, X + 1), (X, -P, X))
    D.Distribution.set_default_validate_args(True)
    run(normal, (X, P, X + 1), (X, -P, X))


def train_policy():
    torch.manual_seed(0)
    actor, scale = nn.Linear(4, 3), nn.Parameter(torch.zeros(3))
    for _ in range(5):
        with torch.enable_grad():
            d = D.Categorical(logits=actor(X.expand(2, 4)))
            a = D.Normal(actor(X), scale.exp())
            action = a.rsample()
            loss = (-(d.log_prob(torch.tensor([0, 2])) * 2).mean() - 0.01 * d.entropy().mean() + a.log_prob(action.detach()).mean()
                    + F.gaussian_nll_loss(action, torch.ones(3), scale.exp()))
            actor.zero_grad()
            scale.grad = None
            loss.backward()
        print("policy", show(loss), show(actor.weight.grad), show(scale.grad))


random.seed(0)
run_demands()
train()
run_distributions()
train_policy()

# Programs of the test run one behind the other.
torch.set_grad_enabled(True)
