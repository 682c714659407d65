"""Exceptions that a segment makes, raises and catches: what they were given, and what their constructors made of it."""
import contextlib

import torch


class Failure(Exception):
    def __init__(self, first, second=2):
        self.first = first
        self.second = second
        super().__init__(f"{first}-{second}")


class Deeper(Failure):
    def __init__(self, first):
        Failure.__init__(self, first, 5)
        self.more = [first]

    def total(self):
        return self.first + self.second


class Silent(ValueError):
    def __init__(self, message):
        self.message = message


class Plain(KeyError):
    pass


class Carries(Exception):
    def __init__(self, value):
        super().__init__()
        self.value = value


class Told(Exception):
    def __str__(self):
        return "told of " + ", ".join(str(one) for one in self.args)


def attributes(x):
    y = x + 1
    try:
        raise Failure(3, second=4)
    except Failure as failure:
        y = y * failure.first + failure.second
        text = str(failure)
    return y, text, f"{text}!"


def inherited(x, n):
    y = x + 1
    try:
        if n > 1:
            raise Deeper(n)
        y = y * 2
    except Failure as failure:
        y = y * failure.total() + len(failure.more) + len(failure.args)
    return y * 3


def sizes(x):
    """What an exception was given may be a size, which is another one in each call."""
    try:
        raise ValueError(x.shape[0], "rows")
    except ValueError as failure:
        rows, name = failure.args
        return x * rows + len(name), str(failure)


def tensors(x):
    try:
        raise RuntimeError(x * 2)
    except RuntimeError as failure:
        return failure.args[0] + 1


def raises(x):
    raise Carries(x * 2)


def from_below(x):
    try:
        raises(x)
    except Carries as carried:
        return carried.value + 1


def later_attributes(x):
    failure = Plain("a", "b")
    failure.scale = x.shape[0]
    failure.made = x - 1
    try:
        raise failure
    except (TypeError, KeyError) as caught:
        return caught.made * caught.scale + len(caught.args), caught is failure, str(caught)


def silent(x):
    try:
        raise Silent("hello")
    except (TypeError, ValueError) as failure:
        x = x + len(failure.message) + len(failure.args)
    finally:
        x = x * 2
    return x


def causes(x):
    try:
        try:
            raise Plain("a", "b")
        except Plain as plain:
            raise Failure(1) from plain
    except Failure as failure:
        x = x + len(failure.__cause__.args) + failure.first
        if failure.__suppress_context__:
            x = x * 3
    return x


def suppressed(x, table):
    y = x * 2
    with contextlib.suppress(KeyError, AttributeError):
        y = y + table["k"]
    with contextlib.suppress(ValueError):
        y = y + 1
        raise Silent("no")
    return y + 2


class Manager:
    def __init__(self, takes):
        self.takes = takes
        self.seen = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.seen = None if kind is None else (kind.__name__, value.args, traceback is not None)
        return self.takes


def managed(x, takes):
    manager = Manager(takes)
    try:
        with manager:
            x = x + 1
            if x.shape[0] > 2:
                raise Failure(x.shape[0])
    except Failure as failure:
        x = x * failure.first
    return x * 2, manager.seen


def texts(x):
    found = []
    for failure in (Told("a", 1), KeyError("key"), ValueError(), Exception(1, 2), Failure("p")):
        try:
            raise failure
        except Exception as caught:
            found.append(str(caught))
    return x * len("".join(found)), found


def by_class(x):
    try:
        raise StopIteration
    except StopIteration as end:
        return x + (1 if end.value is None else 2)


def value_of_iterator(x):
    try:
        raise StopIteration(x + 1)
    except StopIteration as end:
        return end.value * 2


def asked_of_keys(x, table):
    try:
        return x * table["missing"]
    except KeyError as missing:
        return x - len(missing.args[0]), missing.args


def rows_until(x, n, error):
    yield x + 1
    if n > 1:
        raise error
    yield x * 2


def from_generator(x, n):
    """One that leaves a generator is what it was, but for a StopIteration, which would end the loop."""
    total = x * 0
    try:
        for row in rows_until(x, n, Failure(n)):
            total = total + row
    except Failure as failure:
        total = total * failure.first
    return total + 1


def stops_in_generator(x, n):
    total = x * 0
    try:
        for row in rows_until(x, n, StopIteration(n)):
            total = total + row
    except RuntimeError as error:
        return total, type(error).__name__, type(error.__cause__).__name__, error.__cause__.value
    return total + 1


def given_to_generator(x, error):
    """What kind of exception it is, is the caller's to say."""
    total = x * 0
    try:
        for row in rows_until(x, 2, error):
            total = total + row
    except (ValueError, RuntimeError) as raised:
        return total * 2, type(raised).__name__
    return total + 1


def given(x, error):
    total = x * 2
    try:
        raise error
    except ValueError as raised:
        return total * raised.args[0]
    except RuntimeError:
        return total * 3


def given_below(x, error):
    total = x * 2
    try:
        given(x, error)
    except (OSError, KeyError) as raised:
        return total + 1, str(raised)
    return total


def raised_again(x, error):
    """The exception is handled already where a graph begins."""
    try:
        try:
            raise error
        except KeyError:
            return x
        except Exception:
            print("handled")
            x = x * 2
            raise
    except ValueError:
        return x + 1
    except RuntimeError:
        return x + 2


def because(x, cause):
    try:
        raise ValueError("one") from cause
    except ValueError as error:
        return x * (2 if error.__cause__ is None else 3)


def outside(x):
    """One that nobody catches here is the caller's."""
    y = x * 2
    raise Failure(y.shape[0], second=y)


def told(value):
    if isinstance(value, torch.Tensor):
        return [round(v, 4) for v in value.flatten().tolist()]
    return type(value)(map(told, value)) if isinstance(value, (tuple, list)) else value


torch.set_grad_enabled(True)
with torch.no_grad():
    for rows in (3, 4, 5, 1):
        x = torch.arange(float(rows))
        calls = [(function, x) for function in (attributes, sizes, tensors, from_below, later_attributes, silent, causes, texts,
                                                by_class, value_of_iterator)]
        calls += [(managed, x, takes) for takes in (True, False)] + [(suppressed, x, {}), (suppressed, x, {"k": 2}), (asked_of_keys, x, {})]
        calls += [(function, x, n) for function in (inherited, from_generator, stops_in_generator) for n in range(4)]
        kinds = (ValueError, RuntimeError, StopIteration, ValueError, OSError)
        calls += [(given_to_generator, x, error("given")) for error in kinds[:4]]
        calls += [(function, x, error(n)) for n, error in enumerate(kinds[:2] * 2) for function in (given, raised_again)]
        calls += [(given_below, x, error(n)) for n, error in enumerate((*kinds[:2], OSError, OSError))]
        calls += [(because, x, cause) for cause in (None, KeyError(1), None)]
        for function, *arguments in calls * 3:
            print(function.__name__, told(function(*arguments)))
        for _ in range(3):
            try:
                outside(x)
            except Failure as failure:
                print(failure.first, told(failure.second), failure.__traceback__.tb_next.tb_frame.f_code.co_name)
    Plain = TypeError  # another class by the same name
    calls = [(later_attributes, x)]
    for function, *arguments in calls * 3:
        print(function.__name__, told(function(*arguments)))
    Failure.__init__ = lambda self, first, second=7: setattr(self, "first", second) or setattr(self, "second", 1)
    calls = [(attributes, x), (inherited, x, 3)]
    for function, *arguments in calls * 3:
        print(function.__name__, told(function(*arguments)))
