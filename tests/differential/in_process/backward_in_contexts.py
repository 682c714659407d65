"""Gradients of what was recorded plainly, asked for where ops do not run plainly: within transforms, modes and inference."""
import torch
import torch.autograd.forward_ad as forward_ad
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

torch.manual_seed(0)
torch.set_grad_enabled(True)
ROUNDS = 4
weight = torch.randn(3, 2, requires_grad=True)


def shown(*tensors):
    return [(str(t.dtype), tuple(t.shape), f"{t.double().sum().item():.4f}") for t in tensors]


class Ops(TorchDispatchMode):
    """Lists the ops that run."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(function.__name__)
        return function(*args, **(kwargs or {}))


def smooth(x):
    return (x @ weight).tanh() * 2


def drawn(x):
    return F.dropout((x @ weight).tanh(), 0.5) * 2


def written(x):
    y = x @ weight
    y[:, 0] *= 2
    return y.sin()


for f in (smooth, drawn, written):
    for turn in range(ROUNDS):
        torch.manual_seed(turn)
        out = f(torch.randn(4, 3))
        ones, units = torch.ones_like(out), torch.eye(out.numel()).view(-1, *out.shape)

        def gradient(v, **options):
            return torch.autograd.grad(out, weight, v, retain_graph=True, **options)[0]

        print(f.__name__, "vmap", shown(torch.vmap(gradient)(units)))
        print(f.__name__, "chunks", shown(torch.vmap(gradient, chunk_size=3, randomness="different")(units)))
        print(f.__name__, "nested", shown(torch.vmap(torch.vmap(gradient))(units.view(2, 4, 4, 2))))
        print(f.__name__, "graph", shown(torch.vmap(lambda v: gradient(v, create_graph=True))(units)))
        print(f.__name__, "batched", shown(gradient(units, is_grads_batched=True)))
        print(f.__name__, "jvp", shown(*torch.func.jvp(gradient, (ones,), (ones * 2,))))
        print(f.__name__, "grad", shown(torch.func.grad(lambda v: gradient(v, create_graph=True).sum())(ones)))
        with forward_ad.dual_level():
            dual = gradient(forward_ad.make_dual(ones, ones * 3))
            print(f.__name__, "forward", shown(forward_ad.unpack_dual(dual).tangent))
        with torch.inference_mode():
            given = gradient(ones)
            print(f.__name__, "inference", shown(given), given.is_inference(), torch.is_grad_enabled())
            print(torch.is_inference_mode_enabled(), (given + 1).is_inference())
        with Ops() as ops:
            given = gradient(ones)
        print(f.__name__, "dispatch", shown(given), ops.names & {"tanh.default", "sin.default", "add.Tensor"})
        with torch.device("meta"):
            print(f.__name__, "device", shown(gradient(ones)))
        print(f.__name__, "plain", shown(gradient(ones)), torch.get_rng_state().sum().item())

# A failure within a transform leaves its state as it was.
for turn in range(ROUNDS):
    x = torch.randn(4, 3)
    out = smooth(x)
    try:
        torch.vmap(lambda v: torch.autograd.grad(out, weight, v[:2], retain_graph=True))(torch.ones(2, 4, 2))
    except RuntimeError as error:
        print(type(error).__name__)
    print(shown(torch.vmap(lambda v: v * 2)(x)), torch.is_inference_mode_enabled())
