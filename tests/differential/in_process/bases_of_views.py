"""What torch says of tensors that share memory: `_base`, views or not, version counters, which object is which."""
import torch

# Ops on `x`; what they give shares its memory, as a view or, for some, as no view at all.
SHARING = """
torch.unsafe_split(x, 2); torch.unsafe_split(x, 9); torch.unsafe_chunk(x, 2); torch.unsafe_chunk(x, 1)
x.unsafe_split_with_sizes([1, 4]); x.unsafe_split_with_sizes([5]); x.split(2); x.split(9); x.chunk(1); x.split([5])
torch.tensor_split(x, 1); torch.tensor_split(x, 2); torch.hsplit(x, 1); x.view(1, 5).unbind(0); x.view(5, 1).unbind(0)
[torch.unsafe_split(x.view(5, 1), 2)[1].view(-1)]
[torch.ops.aten._unsafe_view(x, [5, 1])]; [torch.ops.aten._unsafe_view(x.view(5, 1), [1, 5]).t()]
[torch.ops.aten._reshape_alias(x, [5, 1], [1, 1])]; [torch.ops.aten.alias(x)]; [torch.ops.aten.lift_fresh(x)]; [torch.ops.aten.lift(x)]
[x.detach()]; [x.data]; [x.view_as(x)]; [x.view(torch.int32)]; [x.reshape(5)]; [x.reshape(5, 1)]; [x.flatten()]; [x.ravel()]
[x.contiguous()]; [x.to(torch.float32)]; [x.type_as(x)]; [x.positive()]; [x[:]]; [x[...]]; [x.real]; [x.conj()]; [x.resolve_conj()]
[x.expand(5)]; [x.narrow(0, 0, 5)]; [x.squeeze()]; [x.t()]; [torch.atleast_2d(x)]; torch.atleast_1d([x]); torch.broadcast_tensors(x, x)
torch.broadcast_tensors(x); torch.meshgrid(x, indexing="ij"); [torch.meshgrid(x, x, indexing="ij")[0][:, 0]]; [torch.dropout(x, 0.5, False)]
""".replace("\n", "; ").strip("; ").split("; ")
MANNERS = ("return ({})", "x = x * 2; return ({})", "x = x * 2; return (x, {})", "x = x * 2; return (x.view(5, 1), {})")

# Views of what may be no view itself.
NESTED = """
p, q = torch.unsafe_split(x, 3); return q[1:], p, q, p.view(-1), x
p, = x.unsafe_chunk(1); return p, p[1:]
p, q = torch.unsafe_split(x, 3); p, r = p.unsafe_chunk(2); return p, q, r, r.view(-1)
p = x.detach(); return p, p[1:], x[1:]
p = x.detach().view(5, 1); return p.detach(), p
p = torch.ops.aten._unsafe_view(x, [5, 1]); return p, p.t(), p[1:]
p = torch.ops.aten._reshape_alias(x, [5, 1], [1, 1]); return p, p[1:]
p, q = x.split(3); return p, q, p[1:]
p = x.unbind(0); return p[0], p[1].view(1), p[1]
return x.view(torch.int32)[2:], x.view(torch.int32), x[2:]
""".strip().splitlines()


def tensors_of(given):
    return [tensor for item in given for tensor in (item if isinstance(item, (tuple, list)) else [item])]


def show(x, tensors):
    for tensor in tensors:
        print(tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor._is_view(), tensor._version, tensor.grad_fn, tensor.tolist())
    known = [*tensors, x]
    print([[tensor is other for other in known].index(True) for tensor in tensors],
          [next((i for i, other in enumerate(known) if tensor._base is other), tensor._base is None) for tensor in tensors],
          [tensor.untyped_storage()._cdata == known[0].untyped_storage()._cdata for tensor in known])


def run(text):
    names = {"torch": torch}
    exec(compile("@torch.no_grad()\ndef shared(x):\n    " + text, text, "exec"), names)
    print(text)
    for i in range(4):
        x = torch.arange(5.0) + i
        tensors = tensors_of(names["shared"](x))
        if i == 3:
            show(x, tensors)
            tensors[0].add_(1)
            show(x, tensors)


for manner in MANNERS:
    for op in SHARING:
        run(manner.format(op))
for text in NESTED:
    run(text)
    run("x = x * 2; " + text)
