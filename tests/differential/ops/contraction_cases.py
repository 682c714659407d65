"""Cases of einsum and of sums of products: (name, run) pairs."""
import itertools

import torch

from case import FLOATS
from image_cases import numbers

# Equation, and the sizes of its operands.
EQUATIONS = [
    ("ij->ji", (3, 4)), ("ij->", (3, 4)), ("ij->j", (3, 4)), ("ii->i", (4, 4)), ("ii", (4, 4)), ("iij->ji", (3, 3, 2)),
    ("jii->ij", (2, 3, 3)), ("iji->ij", (3, 2, 3)), ("iii->i", (3, 3, 3)), ("...ii->...i", (2, 3, 4, 4)), ("...ij->...ji", (2, 3, 4)),
    ("i...->...", (3, 4, 2)), ("...", (3, 4)), ("...->", (3, 4)), ("ba", (2, 3)), ("bA", (2, 3)), ("i->i", (4,)), ("->", ()), ("ij->i", (0, 3)),
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk->ki", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("ij,jk->", (3, 4), (4, 5)),
    ("ij,kj->ik", (3, 4), (5, 4)), ("i,j->ij", (3,), (4,)), ("i,i->", (4,), (4,)), ("i,i->i", (4,), (4,)), ("ij,ij->i", (3, 4), (3, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)), ("bhij,bhjd->bhid", (2, 3, 4, 6), (2, 3, 6, 5)),
    ("bihd,bjhd->bhij", (2, 4, 3, 5), (2, 6, 3, 5)), ("bhij,bjhd->bihd", (2, 3, 4, 6), (2, 6, 3, 5)), ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (3, 4, 5)), ("...ij,jk->...ik", (2, 3, 4), (4, 5)), ("i...,i->...", (3, 2, 4), (3,)),
    ("...i,...i->...", (2, 3, 4), (4,)), ("ij,jk->ik", (3, 1), (4, 5)), ("ij,ij->ij", (3, 1), (1, 4)), ("ij,jk->ik", (1, 4), (4, 1)),
    ("ij,kl->jl", (3, 4), (2, 5)), ("ij,kl->", (3, 4), (2, 5)), ("nchw,kc->nkhw", (2, 3, 4, 5), (6, 3)), ("bld,dn->bln", (2, 3, 4), (4, 5)),
    ("aij,bjk->abik", (2, 3, 4), (5, 4, 6)), ("ii,ij->j", (3, 3), (3, 4)), ("ij,jj->i", (3, 4), (4, 4)), ("ij,jk->ik", (0, 4), (4, 5)),
    ("ij,jk->ik", (3, 0), (0, 5)), (" i j , j k -> i k ", (3, 4), (4, 5)), ("i...j,jk->i...k", (2, 3, 4), (4, 5)), (",ij->ij", (), (3, 4)),
    ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)), ("ij,jk,kl->li", (3, 4), (4, 5), (5, 2)), ("i,j,k->ijk", (2,), (3,), (4,)),
    ("ij,ij,ij->i", (3, 4), (3, 4), (3, 4)), ("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)), ("ij,jk,k,i->", (3, 4), (4, 5), (5,), (3,)),
    ("a...b,b...c,cd->ad", (2, 3, 4), (4, 3, 5), (5, 6)), ("ij,jk,kl->il", (3, 1), (4, 5), (1, 2)), ("ij,i,j->ji", (3, 4), (3,), (4,)),
]


def einsums():
    for equation, *sizes in EQUATIONS:
        for dtype in FLOATS + [torch.int64]:
            operands = [numbers(*each, dtype=dtype, low=-1.0, high=2.0) for each in sizes]
            yield f"einsum {equation} {sizes} {dtype}", lambda call, q=equation, o=operands: call("einsum.default", q, o)
        turned = [numbers(*reversed(each), low=-1.0).permute(tuple(range(len(each) - 1, -1, -1))) for each in sizes]
        yield f"einsum {equation} {sizes} turned", lambda call, q=equation, o=turned: call("einsum.default", q, o)
    a, b, c = numbers(3, 4), numbers(4, 5), numbers(5, 2)
    for path in ([0, 1, 0, 1], [1, 2, 0, 1], [2, 0, 0, 1], [0, 2, 1, 0]):
        yield f"einsum by path {path}", lambda call, p=path: call("einsum.default", "ij,jk,kl->il", [a, b, c], path=p)
    yield "einsum of two dtypes", lambda call: call("einsum.default", "i,j->ij", [numbers(3, dtype=torch.int32), numbers(4)])

    def write_through(call, x=numbers(4, 4)):
        call("zero_.default", call("einsum.default", "ii->i", [x]))
        return [call("add.Tensor", x, 1)]
    yield "einsum written through", write_through


def sums_of_products():
    factors = [(1, 1), (0, 1), (1, 0), (2, 3), (-1, 0.5)]
    for dtype, (beta, alpha) in itertools.product(FLOATS + [torch.int64, torch.int32], factors):
        if not dtype.is_floating_point:
            alpha = int(alpha)
        given = {"beta": beta, "alpha": alpha}
        tag = f"{dtype} {beta} {alpha}"
        m, v = numbers(3, 5, dtype=dtype), numbers(5, dtype=dtype)
        for self in (numbers(3, dtype=dtype), numbers(1, dtype=dtype), numbers(dtype=dtype)):
            yield f"addmv {tag} {tuple(self.shape)}", lambda call, s=self, m=m, v=v, g=given: call("addmv.default", s, m, v, **g)
        a, b = numbers(2, 3, 5, dtype=dtype), numbers(2, 5, 4, dtype=dtype)
        for self in (numbers(3, 4, dtype=dtype), numbers(4, dtype=dtype), numbers(3, 1, dtype=dtype)):
            yield f"addbmm {tag} {tuple(self.shape)}", lambda call, s=self, a=a, b=b, g=given: call("addbmm.default", s, a, b, **g)
            yield f"baddbmm {tag} {tuple(self.shape)}", lambda call, s=self, a=a, b=b, g=given: call("baddbmm.default", s, a, b, **g)
        for self in (numbers(3, 5, dtype=dtype), numbers(5, 3, dtype=dtype).t(), numbers(5, dtype=dtype), numbers(dtype=dtype)):
            yield f"addr {tag} {tuple(self.shape)} {self.stride()}", lambda call, s=self, m=m, v=v, g=given: call("addr.default", s, m[:, 0], v, **g)
    spoiled = numbers(3, special=True).fill_(float("nan"))
    yield "addmv of nothing but NaN", lambda call: call("addmv.default", spoiled, numbers(3, 5), numbers(5), beta=0)
    yield "addr of three dtypes", lambda call: call("addr.default", numbers(3, 4), numbers(3, dtype=torch.int32), numbers(4, dtype=torch.float64))


def all_contractions():
    yield from einsums()
    yield from sums_of_products()
