"""Parts of an argument that begin and end where elements say: each call takes its own, not what the one before it took."""
import torch

ENDS = torch.tensor([0, 7, 16, 20, 29, 34, 44, 50, 55, 66, 75])


def ends(at):
    return int(ENDS[at]), int(ENDS[at + 1])


def narrowed(x, at):
    begin, end = ends(at)
    return x.narrow(0, begin, end - begin)


def sliced(x, at):
    begin, end = ends(at)
    return x[begin:end]


def beside(x, at):
    begin, end = ends(at)
    return x[begin:end], x[:4], x[begin:end].sum(0)


def cut(x, at):
    begin, _ = ends(at + 1)
    return x.split([begin, 75 - begin])


def apart(x, at):
    begin, end = ends(at)
    return x.detach()[begin:end], x.detach()[end:]


def written(x, at):
    begin, end = ends(at)
    x.mul_(2)
    return x[begin:end], x[begin:end].t()


def of_made(x, at):
    begin, end = ends(at)
    whole = x + 1
    return whole[begin:end], whole[1:], x[end:]


def described(tensor):
    base = None if tensor._base is None else tuple(tensor._base.shape)
    return tuple(tensor.shape), tensor.storage_offset(), base, tensor._version, float(tensor.detach().sum()), tensor.requires_grad


for function in (narrowed, sliced, beside, cut, apart, written, of_made):
    for learns in (False, True):
        for at in (0, 1, 2, 3, 4, 5, 6, 7, 8, 5, 4, 8):
            x = torch.arange(150.0).view(75, 2).requires_grad_(learns and function is not written)
            results = function(x, at)
            results = results if isinstance(results, tuple) else (results,)
            print(function.__name__, at, [described(result) for result in results])
            if learns and function in (narrowed, sliced, of_made):
                results[0].square().sum().backward()
                print(x.grad.nonzero().shape[0], float(x.grad.sum()))
