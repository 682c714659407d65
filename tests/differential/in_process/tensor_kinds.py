"""Tensors and modes of every kind that look plain and are not, between calls with plain tensors that entries serve."""
import warnings

import torch
import torch.autograd.forward_ad as forward_ad
from torch.func import functional_call, functionalize, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

warnings.simplefilter("ignore")


def work(x):
    y = x * 3 + 1
    return (y.sin() * x).relu() + y


def written(x):
    y = x.clone()
    y[0] = 2
    y.mul_(x)
    return y


def linear(x):
    return torch.nn.functional.linear(x, weight, bias).tanh() * 2


weight = torch.linspace(-1, 1, 12).reshape(3, 4)
bias = torch.linspace(0, 1, 3)


class Wrapped(torch.Tensor):
    """Keeps its class."""


class Doubling(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        made = super().__torch_function__(function, types, args, kwargs or {})
        return made * 1 if function is torch.Tensor.add else made


class Logged(torch.Tensor):
    """A wrapper that dispatches in Python."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        seen.append(function._schema.name)
        plain = [a.inner if isinstance(a, Logged) else a for a in args]
        made = function(*plain, **(kwargs or {}))
        return Logged(made) if isinstance(made, torch.Tensor) else made


class Plus(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        seen.append(getattr(function, "__name__", "?"))
        return function(*args, **(kwargs or {}))


class Counts(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        seen.append(function._schema.name)
        made = function(*args, **(kwargs or {}))
        return made * 2 if function is torch.ops.aten.sin.default else made


seen = []


def shown(value):
    if isinstance(value, Logged):
        value = value.inner
    if isinstance(value, torch.Tensor):
        facts = [type(value).__name__, str(value.dtype), tuple(value.shape), value.requires_grad]
        if value.layout is not torch.strided:
            value = value.to_dense()
        if value.is_meta:
            return facts
        if value.is_nested:
            return facts[:2] + [[shown(part) for part in value.unbind()]]
        if value.is_quantized:
            value = value.dequantize()
        value = value.detach().as_subclass(torch.Tensor).rename(None) if any(getattr(value, "names", ())) else value.detach()
        numbers = value.resolve_conj().resolve_neg().flatten()
        return facts + [[complex(round(v.real, 4), round(v.imag, 4)) if isinstance(v, complex) else round(v, 4)
                         for v in numbers.tolist()[:6]]]
    if isinstance(value, (tuple, list)):
        return [shown(part) for part in value]
    return value


def plain(n=0):
    return torch.linspace(-1, 1, 8).reshape(2, 4) + n


def dual(call, n):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(plain(n), torch.full((2, 4), 2.0))
        return [part for part in forward_ad.unpack_dual(call(x))]


def dual_in_place(call, n):
    """A tensor that serves plainly gets a tangent by being written."""
    x = plain(n)
    call(x)
    with forward_ad.dual_level():
        x.mul_(forward_ad.make_dual(torch.ones(2, 4), torch.full((2, 4), 3.0)))
        made = [part for part in forward_ad.unpack_dual(call(x))]
    return made + [call(x)]


def dual_weight(call, n):
    global weight
    kept = weight
    with forward_ad.dual_level():
        weight = forward_ad.make_dual(kept, torch.ones_like(kept))
        try:
            return [part for part in forward_ad.unpack_dual(call(plain(n)))]
        finally:
            weight = kept


def dual_inside(call, n):
    def inner(x):
        with forward_ad.dual_level():
            x = forward_ad.make_dual(x * 1, x * 2)
            made = call(x)
            return forward_ad.unpack_dual(made).tangent
    return inner(plain(n))


def dual_without_grad(call, n):
    with torch.no_grad():
        return dual(call, n)


def dual_parameter(call, n):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.nn.Parameter(plain(n)), torch.ones(2, 4))
        primal, tangent = forward_ad.unpack_dual(call(x))
        return primal.requires_grad, primal, tangent


def hooked(call, n):
    x = plain(n).requires_grad_()
    told = []
    y = x * 1
    y.register_hook(lambda g: told.append(round(float(g.sum()), 2)) or g * 2)
    y.retain_grad()
    z = call(y)
    z.sum().backward()
    return z, x.grad, y.grad, told


def saved_hooks(call, n):
    packed = []
    x = plain(n).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t, lambda t: t):
        z = call(x)
    z.sum().backward()
    return z, x.grad, len(packed)


def saved_on_cpu(call, n):
    x = plain(n).requires_grad_()
    with torch.autograd.graph.save_on_cpu():
        z = call(x)
    z.sum().backward()
    return x.grad


def anomaly(call, n):
    with torch.autograd.set_detect_anomaly(True):
        x = plain(n).requires_grad_()
        call(x).sum().backward()
    return x.grad


def multi_grad(call, n):
    told = []
    x = plain(n).requires_grad_()
    y = x * 2
    torch.autograd.graph.register_multi_grad_hook([y], lambda grads: told.append(round(float(grads[0].sum()), 2) + 0.0))
    call(y).sum().backward()
    return told, x.grad


def deterministic(call, n):
    torch.use_deterministic_algorithms(True)
    try:
        return call(plain(n)), torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


def inference(call, n):
    with torch.inference_mode():
        x = plain(n)
        y = call(x)
    return y.is_inference(), y, call(y.reshape(-1)[:8].reshape(2, 4) if y.numel() >= 8 else plain(n)).is_inference()


def under(mode):
    def run(call, n):
        seen.clear()
        with mode():
            made = call(plain(n))
        return made, sorted(set(seen))[:9], len(seen)
    return run


def fake(call, n):
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode() as mode:
        made = call(mode.from_tensor(plain(n)))
    return type(made).__name__, tuple(made.shape)


def fake_alone(call, n):
    from torch._subclasses.fake_tensor import FakeTensorMode
    return type(call(FakeTensorMode().from_tensor(plain(n)))).__name__


def traced(call, n):
    from torch.fx.experimental.proxy_tensor import make_fx
    graph = make_fx(call)(plain(n))
    return [str(node.target) for node in graph.graph.nodes], graph(plain(n + 1))


def jit_traced(call, n):
    return torch.jit.trace(call, (plain(n),))(plain(n + 1))


def symbolic(call, n):
    return [node.op for node in torch.fx.symbolic_trace(call).graph.nodes]


def logged(call, n):
    seen.clear()
    return call(Logged(plain(n))), list(seen)


def autocast(call, n):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return call(plain(n))


def module_call(call, n):
    module = torch.nn.Linear(4, 3)
    values = {"weight": weight * (n + 1), "bias": bias}
    return call(functional_call(module, values, (plain(n),)))


def batched_in_place(call, n):
    return vmap(call)(torch.stack([plain(n), plain(n + 1)]))


def class_changed(call, n):
    x = plain(n)
    made = [call(x)]
    x.__class__ = Wrapped
    return made + [call(x)]


def shared_numpy(call, n):
    array = plain(n).numpy()
    x = torch.from_numpy(array)
    made = [call(x)]
    array[0, 0] = 9
    return made + [call(x)]


@torch.compiler.disable
def of_torch(n):
    """torch shares lazily only what it has taken itself from its allocator."""
    return plain(n)


def lazily_cloned(call, n):
    x = of_torch(n)
    y = torch._lazy_clone(x)
    made = call(y)
    x.add_(1)
    return made, call(y), call(x)


def named(call, n):
    return call(plain(n).refine_names("N", "C"))


def undefined_dims(call, n):
    return call(torch.empty(0, 4)) if call is not written else None, call(plain(n)[:1])


TANGENT = torch.linspace(0, 1, 8).reshape(2, 4)
KINDS = {
    "dual": dual, "dual_in_place": dual_in_place, "dual_weight": dual_weight, "dual_inside": dual_inside,
    "dual_without_grad": dual_without_grad, "dual_parameter": dual_parameter,
    "jvp": lambda call, n: jvp(call, (plain(n),), (TANGENT,)), "vjp": lambda call, n: vjp(call, plain(n))[1](call(plain(n)))[0],
    "linearize": lambda call, n: linearize(call, plain(n))[1](TANGENT),
    "grad": lambda call, n: grad(lambda x: call(x).sum())(plain(n)), "jacfwd": lambda call, n: jacfwd(call)(plain(n)).sum((0, 1)),
    "jacrev": lambda call, n: jacrev(call)(plain(n)).sum((0, 1)), "hessian": lambda call, n: hessian(lambda x: call(x).sum())(plain(n)).sum((0, 1)),
    "vmap": batched_in_place, "vmap_grad": lambda call, n: vmap(grad(lambda x: call(x).sum()))(torch.stack([plain(n), plain(n + 1)])),
    "functionalize": lambda call, n: functionalize(call)(plain(n)), "autograd_jvp": lambda call, n: torch.autograd.functional.jvp(call, plain(n), TANGENT),
    "autograd_jacobian": lambda call, n: torch.autograd.functional.jacobian(call, plain(n), strategy="forward-mode", vectorize=True).sum((0, 1)),
    "gradcheck": lambda call, n: torch.autograd.gradcheck(call, plain(n).double().requires_grad_(), check_forward_ad=True, raise_exception=False) if call is work else None,
    "conj": lambda call, n: call(torch.complex(plain(n), plain(1)).conj()) if call is written else None,
    "neg": lambda call, n: call(torch._neg_view(plain(n))), "imag_of_conj": lambda call, n: call(torch.complex(plain(n), plain(1)).conj().imag),
    "meta_conj": lambda call, n: torch.is_conj(torch.complex(plain(n), plain(1)).to("meta").conj().view(-1)),
    "zero": lambda call, n: call(torch._efficientzerotensor((2, 4))) if call is work else None,
    "wrapped": lambda call, n: call(plain(n).as_subclass(Wrapped)), "doubling": lambda call, n: call(plain(n).as_subclass(Doubling)), "logged": logged,
    "parameter": lambda call, n: call(torch.nn.Parameter(plain(n), requires_grad=False)), "buffer": lambda call, n: call(torch.nn.Buffer(plain(n))),
    "class_changed": class_changed, "meta": lambda call, n: call(plain(n).to("meta")) if call is not linear else None,
    "sparse": lambda call, n: (plain(n).to_sparse() * 2, call(plain(n).to_sparse().to_dense())), "sparse_called": lambda call, n: call(plain(n).to_sparse()),
    "csr": lambda call, n: call(plain(n).to_sparse_csr()), "mkldnn": lambda call, n: call(plain(n).to_mkldnn()),
    "quantised": lambda call, n: call(torch.quantize_per_tensor(plain(n), 0.1, 0, torch.qint8)), "nested": lambda call, n: call(torch.nested.nested_tensor([plain(n)[0], plain(n)[1][:2]])),
    "jagged": lambda call, n: call(torch.nested.nested_tensor([plain(n), plain(n)[:1]], layout=torch.jagged)).values() if call is work else None, "named": named,
    "hooked": hooked, "saved_hooks": saved_hooks, "saved_on_cpu": saved_on_cpu, "anomaly": anomaly, "multi_grad": multi_grad,
    "deterministic": deterministic, "inference": inference, "function_mode": under(Plus), "dispatch_mode": under(Counts),
    "device_mode": lambda call, n: under(lambda: torch.device("cpu"))(call, n), "autocast": autocast, "fake": fake, "fake_alone": fake_alone,
    "make_fx": traced, "jit_trace": jit_traced, "symbolic_trace": symbolic, "functional_call": module_call, "numpy": shared_numpy, "lazy_clone": lazily_cloned,
    "empty": undefined_dims, "no_grad": lambda call, n: under(torch.no_grad)(call, n), "enable_grad": lambda call, n: under(torch.enable_grad)(call, n),
    "multithreading": lambda call, n: under(lambda: torch.autograd.set_multithreading_enabled(False))(call, n),
    "disabled_function": lambda call, n: under(torch._C.DisableTorchFunctionSubclass)(call, n), "allow_mutation": lambda call, n: under(torch.autograd.graph.allow_mutation_on_saved_tensors)(call, n),
}


def main():
    for name, kind in KINDS.items():
        for call in (work, written, linear):
            for n in range(5):
                call(plain(n))
                try:
                    print(name, call.__name__, n, shown(kind(call, n)))
                except Exception as error:
                    print(name, call.__name__, n, type(error).__name__, str(error).split("\n")[0][:90])
                print(name, call.__name__, n, "plain", shown(call(plain(n))))


main()
