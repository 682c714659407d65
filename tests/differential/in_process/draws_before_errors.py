"""Random numbers that are drawn in front of a call that torch refuses, or of elements that decide another size than the
entry is for: the generator stands where Python's would.
"""
import torch

torch.set_grad_enabled(False)


def noisy(mean, scale):
    return torch.randn(4) + torch.normal(mean, scale)


for call in range(6):
    for sign in (1, -1):
        torch.manual_seed(call)
        try:
            result = round(noisy(torch.zeros(4), torch.ones(4) * sign).sum().item(), 3)
        except RuntimeError as error:
            result = str(error)
        print(result, round(torch.rand(1).item(), 4))


def chosen(weights):
    return torch.multinomial(weights, 1, True).item()


def dropped(x, mask):
    noise = torch.nn.functional.dropout(x, 0.5, True)
    return x[mask], noise


def sampled(x, mask):
    noise = torch.rand(3, dtype=torch.float64)
    return x[mask], noise


def written_too(x, mask):
    noise = torch.rand(3, dtype=torch.float64)
    x.add_(1)
    return x[mask], noise


def looked_up(x, index):
    noise = torch.nn.functional.dropout(x, 0.5, True)
    return x[index] + 1, noise


def tell(results, x):
    print([[round(number, 4) for number in result.tolist()] for result in results], x.tolist(),
          round(torch.rand(1).item(), 4))


weights = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
for call in range(12):
    torch.manual_seed(call)
    print(chosen(weights), round(torch.rand(1).item(), 4))
masks = [[True] * 4, [False, True, True, False], [False] * 4, [False, True, False, False], [False] * 4, [True] * 4]
for function in (dropped, sampled, written_too):
    print(function.__name__)
    for mask in masks * 2:
        x = torch.arange(4.0, dtype=torch.float64)
        tell(function(x, torch.tensor(mask)), x)
for index in (0, 3, 1, 7, 2, 9, 1):
    x = torch.arange(4.0, dtype=torch.float64)
    try:
        tell(looked_up(x, torch.tensor([index, 0])), x)
    except IndexError:
        tell([], x)


# With gradients: outputs that have nothing but inputs in common are stages of their own, of which the first one draws,
# writes or both before elements decide in the second.


def dropped_apart(x, mask, count):
    noise = torch.nn.functional.dropout(x, 0.5, True)
    return x[mask], noise


def counted_apart(x, mask, count):
    count.add_(1)
    double = x * 2
    return x[mask], double


def looked_up_apart(x, mask, count):
    count.add_(1)
    double = x * 2
    return x[mask.nonzero()[:1, 0] * 2], double


count = torch.zeros(2, dtype=torch.float64)
with torch.enable_grad():
    for function in (dropped_apart, counted_apart, looked_up_apart):
        print(function.__name__)
        for mask in masks * 2:
            x = torch.arange(4.0, dtype=torch.float64, requires_grad=True)
            try:
                chosen_of, other = function(x, torch.tensor(mask), count)
            except IndexError:
                tell([], count)
                continue
            (chosen_of.sum() + other.sum()).backward()
            tell([chosen_of, other, x.grad], count)
