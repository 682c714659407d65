"""Numbers that differ between calls and decide something: branches, sizes, keys, text, types, errors, and which
kernel runs. Each function is called with numbers of every kind, in an order in which a stale decision shows."""
import dataclasses
import enum
import math
import operator
import types

import torch
import torch.nn.functional as F

torch.manual_seed(0)
X = torch.randn(3, 4)
I = torch.arange(-6, 6).reshape(3, 4)
HALF = (X * 3).half()
TABLE = {1: 0.5, 2: -1.0, 3: 4.0, 2.5: 7.0}


def text(value):
    if isinstance(value, torch.Tensor):
        numbers = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in value.flatten().tolist()]
        return f"{value.dtype} {tuple(value.shape)} {' '.join(numbers)}"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(text(item) for item in value) + "]"
    return f"{type(value).__name__} {value!r}"


# -- control flow ---------------------------------------------------------------------------------------


def truth(x, n):
    y = x + 1
    if n:
        y = y * n
    if not n - 2:
        y = y + 100
    return y, n and 5, n or "nothing", bool(n), not n


def chained(x, n):
    y = x * n
    if 1 < n <= 3:
        return y + 10
    return y - 10 if n == n else y.abs()


def member(x, n):
    y = x + n
    if n in (1, 2.5, 4):
        y = y * 2
    if n in [3, float("nan")]:
        y = y * 3
    if n in TABLE:
        y = y * TABLE[n]
    if n not in {1, 2}:
        y = -y
    return y


def matched(x, n):
    y = x * n
    match n:
        case 1:
            return y + 1
        case 2.5 | 3:
            return y + 2
        case int():
            return y + 3
        case float(value) if value > 4:
            return y + value
    return y


def looped(x, n):
    y, left = x, n
    while left > 0:
        y = y + left
        left = left - 1
        if left > 6:
            break
    return y, left


def ranged(x, n):
    y = x + n
    for i in range(n):
        y = y * 2 + i
        if i > 4:
            break
    return y


def asserted(x, n):
    y = x * n
    assert n < 3, f"{n} is not below 3"
    return y


def tried(x, n):
    y = x + n
    try:
        y = y * (6 // n)
    except ZeroDivisionError:
        y = y * 100
    except TypeError:
        y = y * 200
    return y


# -- types, text, identity ------------------------------------------------------------------------------


def typed(x, n):
    y = x * n
    if isinstance(n, bool):
        return y + 1
    if isinstance(n, int):
        return y + 2
    if type(n) is float:
        return y + 3, type(n).__name__
    return y, n.__class__


def compared_otherwise(x, n):
    y = x + n
    return y, n == "a", n != None, n is None, n == (n,), n is n, n == n + 0  # noqa: E711


def formatted(x, n):
    y = x * n
    name = f"scale_{n}"
    return y, name, "%s" % (n,), str(n), repr(n), "{:.2f}".format(n), format(n, "8.3f"), "ab" * (n if n == 2 else 1)


def hashed(x, n):
    y = x + n
    cache = {n: y}
    cache[n + 1] = y * 2
    seen = {n, 1, 2.0}
    return list(cache), cache[n], len(seen), hash(n) == hash(n), TABLE.get(n), (n, 1) in {(1, 1): 0}


def with_methods(x, n):
    y = x * n
    whole = n.is_integer() if isinstance(n, float) else n.bit_length()
    return y, whole, n.real, n.conjugate(), n.__add__(1), n.__eq__(2), (n + 1).real, n.as_integer_ratio()


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 7


class Own(float):
    def __mul__(self, other):
        return 42.0

    def __lt__(self, other):
        return True


def of_own_kind(x, n):
    y = x + n * 2
    return y * (1 if n < 2 else 3), x * n


# -- arithmetic that is not followed, or leaves what is followed ---------------------------------------------


def rounded(x, n):
    y = x * n
    return y + round(n), math.floor(n), math.ceil(n), math.trunc(n), divmod(n, 3), round(n, 1), y * math.pow(n, 2)


def bits(x, n):
    y = x * n
    return y + (n << 1) + (n & 3) + (n | 4) + (n ^ 1) + ~n, n >> 1


def shifted(x, n):
    return x + (1 << n), I << n, I >> n


def gathered(x, n):
    values = [n, 3, 2 * n]
    return x * sum(values), sorted(values), max(values), min(n, 2, 5), max(values, key=lambda v: -v), any(values), all(values)


def by_operator(x, n):
    return x * operator.mul(n, 2), operator.add(n, n), operator.neg(n), operator.lt(n, 2), pow(n, 2), pow(n, -1)


def grown(x, n):
    big = n * 2**40
    bigger = big * 2**30
    return x * 2.0, big, bigger, bigger - bigger + n, x + (bigger - bigger)


def powers(x, n):
    return x * (n ** 2), n ** -1, n ** 0.5, 2 ** n, (-n) ** n, x + n ** 3


def quotients(x, n):
    return x * (7 / n), 7 // n, 7 % n, -7 // n, -7 % n, n // 3, n % -3, n / 3, x + 7.5 // n, x - 7.5 % n


def functions(x, n):
    return x * math.sqrt(n), math.log(n), math.exp(n), x + math.sin(n), math.cos(n), math.log(n, 2), math.isnan(n), math.tanh(n)


def casts(x, n):
    return x * int(n), float(n), int(n * 2.7), complex(n), x + int(float(n) + 0.5), bool(n), x * abs(n), -n, +n


def zeros(x, n):
    y = x * 0.0
    negative = -n * 0.0
    return y + negative, 1 / (y + negative), math.copysign(1, negative), min(0.0, negative), max(negative, 0.0), x * math.copysign(3, n)


# -- torch: sizes, places, and arguments that choose a kernel ---------------------------------------------


def sizes(x, n):
    return torch.zeros(n) + 1, x.repeat(n, 1), torch.full((n, 2), n), torch.arange(n) * 2, x.new_ones(n), torch.linspace(0, n, 3)


def places(x, n):
    return x[n], x[:n] + 1, x[:, n:] * 2, x.narrow(0, 0, n), x.select(0, n - 1), torch.roll(x, n), x.sum(n - 1), x.transpose(0, n - 1) + 0


def powered(x, n):
    return x.abs() ** n, x.pow(n), n ** x, torch.pow(n, x), x.clone().pow_(n), I ** abs(n)


def bounded(x, n):
    return x.clamp(-n, n), x.clamp(n), torch.clamp(x, max=n), x.clone().clamp_(min=n), F.hardtanh(x, -n, n), I.clamp(-n, n), torch.clamp(x, n, 1)


def activated(x, n):
    return F.leaky_relu(x, n), F.elu(x, n), F.softplus(x, n), F.threshold(x, n, 2 * n), F.celu(x, n), F.relu(x) * n, x.sigmoid() / n


def dropped(x, n):
    return F.dropout(x, n, training=False), F.dropout(torch.zeros(4), n) + 1


def normalized(x, n):
    return F.layer_norm(x, (4,), eps=n), F.normalize(x, p=n), x.norm(n), x.std(correction=n), F.normalize(x, eps=n)


def scaled_sums(x, n):
    return (torch.add(x, x, alpha=n), torch.sub(I, I, alpha=n), torch.rsub(x, 1, alpha=n), x.add(3, alpha=n),
            torch.addmm(x[:, :3], x, x.t(), beta=n, alpha=n), torch.baddbmm(x[None, :, :3], x[None], x.t()[None], alpha=n))


def scaled_halves(x, n):
    return HALF * n, HALF + n, HALF / n, HALF.clone().fill_(n), HALF.masked_fill(HALF > 0, n), HALF < n


def integers(x, n):
    return I // n, I % n, torch.fmod(I, n), torch.div(I, n, rounding_mode="trunc"), I.remainder(n), I / n, I * n, I.float() // n


def small_integers(x, n):
    return I.to(torch.int8) * n, I.to(torch.uint8) + n, I.to(torch.int16) - n, (I > 0) * n, (I > 0) + n


def small_filled(x, n):
    return torch.full((2,), n, dtype=torch.int8), torch.full_like(x, n, dtype=torch.half), I.to(torch.int16).masked_fill(I > 0, n), torch.full_like(I, n)


def half_filled(x, n):
    return torch.full_like(x, n, dtype=torch.half), x.new_full((2,), n, dtype=torch.bfloat16)


def compared(x, n):
    return x == n, x != n, I == n, I < n, (I > 0) == n, torch.isclose(x, x + 1, atol=n), HALF >= n, I.to(torch.int8) > n


def made(x, n):
    return torch.tensor(n) + x, torch.tensor([n, 1.5]), torch.as_tensor(n), x.new_tensor([n]), torch.scalar_tensor(n)


def chosen(x, n):
    return torch.where(x > 0, x, n), torch.where(x > 0, n, x), torch.where(I > 0, n, 0), torch.where(x > 0, n, 1.5), torch.where(I > 0, I, n)


def placed(x, n):
    index = torch.tensor([[0, 1, 2, 0]])
    return x.scatter(0, index, n), x.index_fill(0, index[0, :2], n), x.clone().fill_diagonal_(n), F.pad(x, (1, 1), value=n)


def written(x, n):
    y = x.clone()
    y[0] = n
    y[1:, 2] += n
    y.mul_(n).sub_(n, alpha=2)
    y[y > n] = n
    return y


# -- where numbers go ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class State:
    step: int = 0
    rate: float = 1.0


def kept(x, n):
    state = State(n, rate=n * 0.5)
    state.step += 1
    old = state.step
    state.step = old * 2
    record = {"n": n, "twice": 2 * n, "all": [n, old]}
    return x * state.rate, state, old, record


class Counter:
    total, last = 0, None

    def add(self, x, n):
        before, self.total = self.total, self.total + n
        self.last = before
        return x + before, self.total, before


counter = Counter()


def counted(x, n):
    return counter.add(x, n), counter.last


def enclosed(x, n):
    total = n

    def bump(by=n * 2):
        nonlocal total
        total += by
        return x * total

    return bump(), bump(1), total, bump.__defaults__


def generated(x, n):
    def steps():
        for i in range(3):
            yield i * n
    return [x * step for step in steps()], list(steps())


def spread(x, n, *rest, **named):
    return x * n + sum(rest), rest, named


def passed(x, n):
    return spread(x, n, n + 1, *[n, 2], a=n, **{"b": n * 2})


CALLS = 0


def counting(x, n):
    global CALLS
    CALLS += 1
    if CALLS % 3 == 0:
        x = x * 10
    return x * CALLS + n, CALLS


# -- numbers that tensors hold --------------------------------------------------------------------------


def held_sizes(x, n):
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= 9, lambda: f"too large: {k}")
    rows = torch.arange(k) * 2
    return rows.sum(), x.flatten()[:k] + 1, x.flatten().narrow(0, 0, k).sum(), torch.full((k + 1, 2), 3.0), k * 2


def held_factor(x, n):
    k = int(n)
    return x * k + k


def held_branches(x, n):
    k = n.item()
    y = x + 1
    if k > 3:
        return y * 2
    return y - 1 if k % 2 else y


def held_turns(x, n):
    k = n.item()
    y = x + 1
    for i in range(k):
        y = y + i
    return y, "%d" % k


def held_written(x, n):
    n = n.clone()
    y = x + n
    before = int(n)
    n.add_(1)
    return y * 2, before, n.item(), torch.ones(abs(before))


def held_before_write(x, n):
    k = n.item()
    n.add_(1)
    y = torch.ones(abs(k)), x + n, k
    n.sub_(1)
    return y


NUMBERS = [1, 2, 3, 4, 1, 5, 2, 2.5, 3.5, 0.5, 3.0, 2.5, 0, 7, -1, -2, 0.0, -0.0, -1.5, True, False, float("nan"), float("inf"),
           6, -float("inf"), 300, 70000.0, 1e39, 2**31, 2**53 + 1, 2**62, 2**63, -2**63, 2**64, 1e300, 10**400, 8, 0.25, Level.HIGH, Own(1.25), 2]


def attempt(function, *arguments):
    try:
        with torch.no_grad():
            torch.manual_seed(0)
            result = function(*arguments)
        print(function.__name__, text(arguments[1]), text(result))
    except Exception as error:  # the same error, by its first line
        print(function.__name__, text(arguments[1]), type(error).__name__, str(error).splitlines()[0])


SMALL = {looped, sizes, gathered, shifted, powers, ranged, grown}

for function in [truth, chained, member, matched, looped, ranged, asserted, tried, typed, compared_otherwise, formatted, hashed,
                 with_methods, of_own_kind, rounded, bits, shifted, gathered, by_operator, grown, powers, quotients, functions,
                 casts, zeros, sizes, places, powered, bounded, activated, dropped, normalized, scaled_sums, scaled_halves, integers,
                 small_integers, small_filled, half_filled, compared, made, chosen, placed, written, kept, counted, enclosed, generated, passed,
                 counting]:
    # Code of its own for each function: an entry is a way to call.
    call = types.FunctionType(attempt.__code__.replace(co_name="attempt_" + function.__name__), globals())
    for number in NUMBERS:
        if function in SMALL and abs(number) > 300:
            continue
        call(function, X, number)

for function in [held_sizes, held_factor, held_branches, held_turns, held_written, held_before_write]:
    call = types.FunctionType(attempt.__code__.replace(co_name="attempt_" + function.__name__), globals())
    for number in [4, 3, 5, 2, 1, 0, 4, 7, 6, 9, 12, -3]:
        for dtype in (torch.int64, torch.int32, torch.float32) if number > 4 else (torch.int64,):
            call(function, X, torch.tensor(number, dtype=dtype))
    call(function, X, torch.tensor(True))
    call(function, X, torch.tensor([[5]]))
    call(function, X, torch.tensor([5, 6]))
