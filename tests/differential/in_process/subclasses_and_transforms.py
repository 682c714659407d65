import torch
class MyT(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("tf", getattr(func, "__name__", func))
        return super().__torch_function__(func, types, args, kwargs or {})
def f(x): return (x + 1).relu().sum()
for i in range(2): print(type(f(torch.ones(2).as_subclass(MyT))).__name__); print(f(torch.ones(2)))
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x * x
    @staticmethod
    def backward(ctx, g): (x,) = ctx.saved_tensors; return 2 * x * g
def g(x): return Sq.apply(x) + 1
for i in range(3):
    x = torch.tensor([1., 2.], requires_grad=True); y = g(x).sum(); y.backward(); print(x.grad, y)
from torch.func import vmap, grad
def loss(w, x): return (w * x).sin().sum()
for i in range(2): print(grad(loss)(torch.ones(3), torch.arange(3.)), vmap(loss, (None, 0))(torch.ones(3), torch.arange(6.).reshape(2, 3)))
