"""tensor[mask] = rows, as many as elements of the mask are set: the graph demands that they are, and the program's own
exception comes where they are not. Sizes that change, no row at all, one row for all, masks of some dims, gradients."""
import torch

torch.manual_seed(0)
SIZES = (6, 6, 6, 7, 9, 12, 12, 5, 1, 2, 3, 30)


def show(name, result):
    print(name, [round(v, 3) + 0.0 for v in result.detach().double().reshape(-1).tolist()])


def following(mask, values):
    out = torch.zeros(mask.shape[0])
    out[mask] = values * 2
    return out + 1


def both(x):
    mask = x > 0
    y = x.clone()
    y[mask] = y[mask] * 3 - 1
    return y.sum(0)


def rows(x, mask, values):
    x = x + 0
    x[mask] = values
    return x * 2


def writes(x, mask, values):
    x[mask] = values
    return x.sum() + values.sum()


def scattered(x, mask, source):
    return (x * 2).masked_scatter(mask, source) + 1


def gradient(w, mask, values):
    x = torch.zeros(mask.shape[0], 3) * w
    x[mask] = values * w
    return torch.autograd.grad((x * x).sum(), w)[0]


def loss(w, mask, values):
    x = torch.zeros(mask.shape[0], 3) * w
    x[mask] = values * w
    return (x * x).sum()


def chosen(size):
    mask = torch.rand(size) > 0.4
    return mask, int(mask.sum())


def inference():
    for n in SIZES:
        mask, k = chosen(n)
        show("following", following(mask, torch.rand(k)))
    for n in SIZES:
        show("both", both(torch.randn(n, 3)))
    for n in SIZES:
        mask, k = chosen(n)
        show("rows", rows(torch.rand(n, 3), mask, torch.rand(k, 3)))
        show("rows of all", rows(torch.rand(n, 3), torch.ones(n, dtype=torch.bool), torch.rand(n, 3)))
    for n in SIZES:
        mask, k = chosen(n)
        x = torch.rand(n, 3)
        everywhere, nowhere = torch.ones(n, dtype=torch.bool), torch.zeros(n, dtype=torch.bool)
        for m, values in ((mask, torch.rand(k, 3)), (nowhere, torch.rand(0, 3)), (everywhere, torch.rand(n, 3)),
                          (x > 0.5, torch.rand(int((x > 0.5).sum()))), (mask, torch.rand(1, 3)), (mask, torch.rand(3)),
                          (mask, torch.rand(k + 2, 3)), (mask, torch.rand(k, 3).double()), (mask, torch.rand(k, 2)),
                          (mask, torch.rand(max(k - 1, 0), 3))):
            try:
                show("writes", writes(x, m, values))
            except (RuntimeError, IndexError) as error:
                print(type(error).__name__, error)
            show("written", x)


def whole(x, mask, values):
    x = x * 3
    x[mask] = values
    return x - 1


def scattered_whole(x, mask, source):
    return (x * 2).masked_scatter(mask, source) + 1


def made_before():
    """Calls that fit an entry by their sizes; the later ones do not all give as many elements as are marked."""
    calls = []
    for n in range(6, 36):
        x, mask = torch.rand(n, 3), torch.rand(n) > 0.4
        wrong = (0, 2, -2)[n % 3] if n > 18 else 0
        calls.append((x, mask, torch.rand(int(mask.sum()) + wrong, 3)))
    for x, mask, values in calls:
        try:
            print("whole", whole(x, mask, values).sum())
        except RuntimeError as error:
            print(error)
    for x, mask, values in calls:
        try:
            print("scattered", scattered_whole(x, mask[:, None], values).sum())
        except RuntimeError as error:
            print(error)


def training():
    for n in SIZES:
        mask, k = chosen(n)
        w = torch.rand(3, requires_grad=True)
        show("gradient", gradient(w, mask, torch.rand(k, 3)))
        loss(w, mask, torch.rand(k, 3)).backward()
        show("leaf", w.grad)


with torch.no_grad():
    inference()
    made_before()
training()
