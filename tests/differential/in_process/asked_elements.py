"""Questions about the elements of what a function is given, answered before its graph runs: is all of a mask set, is
an id among the ids. Each with the answer changed, and with what makes it another tensor's question: a write before it,
memory that is shared, randomness, too many ops."""
import torch
import torch.nn.functional as F

torch.set_grad_enabled(False)
CALLS = 6


def in_ids(ids, w):
    y = w * 2
    if 0 in ids[:, [-1, 0]]:
        y = y + 1
    return y - (5 if bool((ids == 7).any()) else 6)


def all_of(mask, x):
    if not mask.to(torch.bool).all():
        x = x.masked_fill(~mask.bool(), -1.0)
    return x.relu() if (mask.sum() == mask.numel()) else x.tanh()


def ones_made(x):
    y = x.clone()
    mask = torch.ones(x.shape[0], 2)
    y.add_(1)
    if mask.all():
        y = y * 2
    mask[0, 0] = 0
    return y + 1 if mask.all() else y - 1


def written_before(flags, x):
    flags.logical_not_()
    return x + 1 if flags.all() else x - 1


def written_through_another(flags, view, x):
    view.fill_(True)
    return x + 1 if flags.all() else x - 1


def written_behind(flags, x):
    y = x + 1 if flags.all() else x - 1
    flags.fill_(False)
    return y


def asserts(x):
    y = x + 1
    assert not torch.isnan(x).any(), "nan"
    return y * 2


def of_two(x, y):
    return x * 2 if (x.long() > y).any() else y * 3


def counts_down(numbers, x):
    turns = 0
    while (numbers > 0).any():
        numbers, x = numbers - 1, x * 2
        turns += 1
    return x, turns


def numbers_seen_as_flags(numbers, x):
    y = x + numbers.sum()
    numbers[0] = 0
    seen = numbers[1:].all()
    return y + 1 if seen else y - 1


def after_random(flags, x):
    noise = torch.rand(2) > 2
    return x + 1 if (flags & noise).any() else x - 1


def far(x, flags):
    y = flags.float()
    for _ in range(20):
        y = y + 1
    return x + 1 if (y > 20).all() else x - 1


def steps(x):
    turns = 0
    while (x < 10).any():
        x = x * 2
        turns += 1
    return x, turns


def every_call(flags, x):
    """Answers that change from call to call."""
    y = x + 1
    for column in range(3):
        if flags[:, column].any():
            y = y + column
    return F.relu(y)


def many(flags, x):
    for row in range(6):
        if flags[row].item():
            x = x + row
    return x * 2


for call in range(CALLS):
    torch.manual_seed(call)
    ids = torch.full((2, 5), 3)
    ids[1, 0] = 0 if call in (3, 4) else 2
    ids[0, 2] = 7 if call == 5 else 3
    print(in_ids(ids, torch.ones(3)), in_ids(ids[:, 1:], torch.ones(2)))
    mask = torch.ones(2, 3)
    mask[0, 1] = call != 4
    print(all_of(mask, torch.ones(2, 3)), ones_made(torch.ones(2)))
    flags = torch.tensor([call % 2 == 0, call % 2 == 0])
    print(written_before(flags, torch.ones(2)), flags)
    print(written_through_another(flags, flags[:1], torch.ones(2)), written_through_another(flags, flags, torch.ones(2)))
    print(written_behind(flags, torch.ones(2)), flags, written_behind(flags, torch.ones(2)))
    print(of_two(torch.ones(2), torch.full((2,), call - 2)), after_random(flags, torch.ones(2)))
    print(far(torch.ones(2), torch.tensor([True, call != 3])), steps(torch.full((2,), 1.0 + call)))
    print(counts_down(torch.tensor([call, 1]), torch.ones(2)), numbers_seen_as_flags(torch.tensor([1, call % 4]), torch.ones(2)))
    print(every_call(torch.eye(3, dtype=torch.bool).roll(call, 0)[:1], torch.ones(2)))
    print(many(torch.tensor([call >> row & 1 == 1 for row in range(6)]), torch.ones(2)))
    try:
        print(asserts(torch.full((2,), float("nan") if call == 3 else 1.0)))
    except AssertionError as error:
        print("asserted", error)
torch.set_grad_enabled(True)
