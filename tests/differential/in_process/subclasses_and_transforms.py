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
class Affine(torch.autograd.Function):
    @staticmethod
    def forward(x, w, scale=2.0): return x * w * scale, x.clone(), 3, x.sum()
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, w, ctx.scale = inputs
        ctx.save_for_backward(x, w); ctx.mark_non_differentiable(output[3]); ctx.set_materialize_grads(False)
    @staticmethod
    def backward(ctx, g, *rest): x, w = ctx.saved_tensors; return g * w * ctx.scale, (g * x).sum() * ctx.scale, None
class Fill(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, value):
        ctx.value, ctx.asked, ctx.mode = value, ctx.needs_input_grad, torch.is_grad_enabled()
        y = x.mul_(ctx.value) if not ctx.asked[0] else x
        if y is x: ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, g): return g, None
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x
    @staticmethod
    def backward(ctx, g): return g
class Prints(Same):
    @staticmethod
    def forward(ctx, x): y = x + 1; print(float(y.sum())); return y * 2
class Raises(Same):
    @staticmethod
    def forward(ctx, x): y = x + 1; raise ValueError(f"no {y.dim()}")
class Keeps(Same):
    @staticmethod
    def forward(ctx, x): kept.append(ctx); return x * 2
def affine(x, w): return [t * 2 if isinstance(t, torch.Tensor) else t for t in Affine.apply(x, w)] + list(Affine.apply(x + 1, w, 3.0))
apply = Fill.apply
def fill(x, v): y = apply(x, v); return y + 1, y is x
def same(x): y = Same.apply(x); z = Same.apply(y); z.add_(1); return y * 2, y is x, z is y, z._is_view()
def prints(x): return Prints.apply(x * 3) + 1
def raises(x):
    try: return Raises.apply(x * 3)
    except ValueError as error: return x * 2, str(error)
def keeps(x): return Keeps.apply(x + 1) * 2
from functorch.experimental.control_flow import map as map_rows
def mapped(x, y, k):
    def body(row, y): return row * y + k
    return map_rows(body, x, y) + map_rows(lambda row: row.sum(), x)[:, None]
kept = []
w = torch.tensor([2., 3.])
for i in range(5):
    x = torch.tensor([1., 2.]) + i
    print(affine(x, w), fill(x, 2.0 + i), x, same(x), x, prints(x), raises(x), keeps(x), type(kept[i]).__name__)
    print(mapped(torch.arange(6.).reshape(3, 2) + i, w * i, i % 2), mapped(torch.ones(1 + i, 2, 2)[:, :, 0], w, 0))
    p = torch.ones(2, requires_grad=True)
    print([t.requires_grad for t in affine(p, w) if isinstance(t, torch.Tensor)])
    with torch.no_grad(): print(affine(p, w), fill(torch.ones(2), i), fill(p, i), same(p * 1), p.requires_grad)
from torch.func import vmap, grad
def loss(w, x): return (w * x).sin().sum()
for i in range(2): print(grad(loss)(torch.ones(3), torch.arange(3.)), vmap(loss, (None, 0))(torch.ones(3), torch.arange(6.).reshape(2, 3)))
from torch._higher_order_ops.scan import scan
class Shift(torch.nn.Module):
    def __init__(self): super().__init__(); self.by = torch.nn.Parameter(torch.ones(2))
    def forward(self, row): return row * 2 + self.by
shift = Shift()
def mapped_with_gradients(x, p): return map_rows(lambda row, p: (row * p, {"more": row + 1}), x, p)
def mapped_by_module(x): return map_rows(lambda row: shift(row), x)
def chosen(x, p): return torch.cond(x.sum() > 3, lambda x: x * p, lambda x: x - 1, (x,))
def scanned(x, p): return scan(lambda kept, row: (kept + row, kept * row), p * 1, x)
for call in (mapped_with_gradients, lambda x, p: mapped_by_module(x), chosen, scanned):
    for i in range(2):
        p.grad = shift.by.grad = None
        given = torch.utils._pytree.tree_leaves(call(torch.arange(4.).reshape(2, 2) + i, p))
        sum(part.sum() for part in given).backward()
        print([part.detach() for part in given], p.grad, shift.by.grad)
        with torch.no_grad(): print(call(torch.arange(4.).reshape(2, 2) + i, p))
