"""Sets of modules and other objects known by identity, what id() gives, sizes unpacked into calls, and the limits of dtypes."""
import torch

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4)).eval()
shared = torch.nn.Sequential(model[0], model[1], model[0]).eval()
with torch.no_grad():
    for number, parameter in enumerate(model.parameters()):
        parameter.copy_(torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape) + number)


def through_children(model, x):
    x = x * 2
    for child in model.children():
        x = child(x)
    return x + 1


def seen_once(model, x):
    x = x + 1
    seen = set()
    for child in model:
        if child in seen:
            x = x * 2
        seen.add(child)
    seen.discard(model[1])
    return x + len(seen), model[1] in seen


def left_behind(model, x):
    x = x + 1
    seen = {model[0]}
    seen.add(model[1])
    return x * 2, len(seen), seen


def unpacked(x):
    doubled = x * 2
    return doubled.view(*doubled.size()[:-1] + (2, 2)) + doubled.sum(), max(*x.shape), torch.zeros(*x.shape)


def limits(x, dtype):
    low = torch.finfo(x.dtype).min
    return x.masked_fill(x > 0, low) / torch.finfo(x.dtype).max, x + torch.iinfo(dtype).max, torch.finfo(type=x.dtype).bits


class ByValue:
    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return self.value

    def __eq__(self, other):
        return self.value == other.value


def by_value(x, key, keys):
    x = x + 1
    return x * 2 if key in keys else x * 3


def by_id(x, held, wanted):
    x = x + 1
    known = {id(held): x * 2}
    return known.get(wanted, x * 3) + (id(held) == wanted)


def ids_of_new(x, kept):
    first, second = [x], x * 2
    again = second
    x = x + (id(first) == id(x)) + (id(second) == id(again))
    kept.append((id(first), first))
    kept.append((id(second), second))
    kept.append((id(made := lambda: x), made))
    return x * 4


def id_of_part(model, x, wanted):
    x = x + 1
    return x * 2 if id(model[0]) == wanted else x * 3


with torch.no_grad():
    for each in (model, shared, model):
        for _ in range(2):
            x = torch.arange(8.0).reshape(2, 4)
            print(through_children(each, x), seen_once(each, x))
    result, count, seen = left_behind(model, x)
    result, count, seen = left_behind(model, x)
    print(result, count, model[0] in seen, model[2] in seen)
    for dtype in (torch.int8, torch.int32, torch.int8):
        print(unpacked(x), limits(x - 3, dtype), limits((x - 3).double(), dtype))
    keys = {ByValue(1), ByValue(2)}
    print([by_value(x, ByValue(value), keys).sum() for value in (1, 3, 1)])
    held = [torch.ones(1), torch.zeros(1), [1], ByValue(4), "text", (1, 2), model, torch.nn.ReLU, x, None, 7000]
    for one in held + held:
        print([by_id(x, one, id(wanted)).sum() for wanted in (held[0], one, held[3])])
    kept = []
    for _ in range(4):
        print(ids_of_new(x, kept).sum(), [number == id(one) for number, one in kept])
    other = torch.nn.Sequential(torch.nn.ReLU())
    print([id_of_part(each, x, id(model[0])).sum() for each in (model, other, model, other, model)])
