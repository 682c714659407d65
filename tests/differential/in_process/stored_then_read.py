"""What a kernel stores, it reads again where it stands: columns of rows that it has just made, sums into one place,
and gradients through what is stored in a tensor that needed none before."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
# Numbers whose sums and products are exact.
W = torch.randint(-4, 5, (5, 8)) / 8
X = torch.randint(-4, 5, (12, 8)) / 4


def shown(tensor):
    return [round(number, 3) + 0.0 for number in tensor.detach().double().flatten().tolist()]


def column(x, w):
    return ((x @ w.t())[:, 0] * 2).tanh()


def two_columns(x, w):
    y = F.linear(x, w)
    return (y[:, 1] - y[:, 3]).clamp_min(0.25).sum()


def last_of_rows(x, w):
    return torch.softmax(x @ w.t(), 1)[:, -1] + 1


def ranked(x, w):
    y = x @ w.t()
    return F.margin_ranking_loss(y[:, 0], y[:, 1], x[:, 0].sign(), margin=0.3)


def sum_into_one_row(x, w):
    return x.index_add(0, torch.tensor([1, 1, 1]), torch.ones(3, 8)) @ w.t()


def sum_at_one_place(x, w):
    return x.scatter_add(1, torch.zeros(12, 3, dtype=torch.int64), torch.ones(12, 3)) @ w.t()


def put_at_one_place(x, w):
    return x.clone().index_put_((torch.tensor([2, 2]),), torch.ones(2, 8), accumulate=True) @ w.t()


def rows_stored(x, w):
    y = torch.zeros(4, 8)
    y[:2] = w[1:3]
    y[2] = w[0]
    return (y * x[:4]).sum(1)


def row_added_behind(x, w):
    y = torch.zeros(4, 8)
    y[1:3] = w[1:3]
    y[3].add_(w[0])
    return y * y


def place_stored(x, w):
    y = torch.zeros(4, 8)
    y[torch.tensor([0, 2])] = w[:2]
    y[:, 1:3] = w[1:, 2:4]
    return y * y


def stored_in_views(x, w):
    y = x[:4] * 1
    part = y[1:, 2]
    part.copy_(w[0, :3])
    y[None, 0, ..., 1:3] = w[1, :2]
    return part * 2, y * y


def stored_without_gradients(x, w):
    y = torch.zeros(4, 8)
    with torch.no_grad():
        y[:2] = w[1:3]
    y[2] = w[0]
    return y * y


for function in (column, two_columns, last_of_rows, ranked, sum_into_one_row, sum_at_one_place, put_at_one_place,
                 rows_stored, row_added_behind, place_stored, stored_in_views, stored_without_gradients):
    for turn in range(6):
        with torch.no_grad():
            results = function(X, W)
        plain = [shown(one) for one in (results if isinstance(results, tuple) else (results,))]
        w = W.clone().requires_grad_()
        results = function(X * (turn + 1), w)
        results = results if isinstance(results, tuple) else (results,)
        sum(one.sum() for one in results).backward()
        print(function.__name__, turn, plain, [shown(one) for one in results], shown(w.grad))
