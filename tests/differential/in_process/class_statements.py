"""Classes that are made inside functions: let go of, used, kept, given away, told to their base, with bodies that do more."""
import torch

log = []


class Told:
    def __init_subclass__(cls):
        log.append(cls.__name__)


class Base:
    scale = 3.0


def unused(x):
    y = x + 1

    class Local:
        """Only defines."""

        factor = 2.0

        def method(self):
            return self.factor

        @staticmethod
        def plain(a):
            return a

    return y * 2


def of_function(x, wanted):
    """What torch.masked does: a torch.autograd.Function that few calls need."""
    def helper(a):
        return a * 3 + 1

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return helper(a)

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    return Scale.apply(x + 1) if wanted else helper(x + 1)


def by_caller(x):
    return unused(unused(x) - 1) * 3


def in_a_loop(x):
    for step in range(3):
        x = x + step

        class Local(Base):
            @classmethod
            def number(cls):
                return cls.scale

            @property
            def value(self):
                return step

    return x * 2


def two_classes(x):
    y = x.sin()

    class First:
        def second(self):
            return Second()

    y = y.cos()

    class Second(Base, torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = First()

    return y + x


def made_and_used(x):
    y = x * 2

    class Pair:
        def __init__(self, a):
            self.a = a

        def total(self):
            return self.a + y

    return Pair(x + 1).total() * 2


def given(x):
    class Local(Base):
        def number(self):
            return self.scale + bound

    bound = float(len(x))
    return x + 1, Local


def instance_given(x):
    class Local(Base):
        def number(self):
            return self.scale

    made = Local()
    made.value = x * 2
    return made, Local.number


def kept_past_a_break(x):
    y = x + 1

    class Local:
        value = 2

    if y.sum() > 0:
        return y * Local.value
    return y - Local.value


def told(x):
    class Named(Told):
        pass

    return x + len(log)


def does_more(x):
    y = x * 2

    class Counts:
        log.append("body")
        total = len(log)

    return y + 1


def decorated(x):
    def note(function):
        log.append(function.__name__)
        return function

    y = x * 2

    class Local:
        kept = staticmethod

        @note
        def method(self):
            return 1

    return y + 1


def decorated_in_place(x):
    class Local:
        kept = staticmethod

        @(lambda function: log.append("lambda"))
        def method(self):
            return 1

    return x * 3


def asked(x):
    class Local:
        pass

    return x + (1 if isinstance(x, Local) else 2) + (4 if Local is None else 8), Local.__name__


def with_metaclass(x):
    class Meta(type):
        def __init__(cls, name, bases, attributes):
            log.append(name)
            super().__init__(name, bases, attributes)

    class Local(metaclass=Meta):
        pass

    return x * 2


def with_super(x):
    class Local(Base):
        def __init__(self):
            super().__init__()

    return x * 2


def show(value):
    if isinstance(value, torch.Tensor):
        return [round(v, 4) for v in value.tolist()]
    if isinstance(value, tuple):
        return [show(item) for item in value]
    if isinstance(value, type):
        return value.__name__, value.__mro__[1].__name__, value().number()
    if isinstance(value, Base):
        classes.add(type(value))
        return type(value).__name__, show(value.value), value.number()
    if callable(value):
        classes.add(value)
        return value.__name__
    return value


classes = set()
for turn in range(6):
    x = torch.arange(1.0, 4.0 + turn // 2) - (0 if turn != 3 else 9)
    for function in (unused, by_caller, in_a_loop, two_classes, made_and_used, given, instance_given, kept_past_a_break, told, does_more, decorated,
                     decorated_in_place, asked, with_metaclass, with_super):
        with torch.no_grad():
            print(function.__name__, show(function(x)), len(log), log[-1:])
    for wanted in (False, True):
        with torch.no_grad():
            print("of_function", wanted, show(of_function(x, wanted)))
    classes.add(given(x)[1])
print(len(classes), len({c.__name__ for c in classes}))

# A decorator of the program's own under the builtin's name is called.
x = torch.ones(3)
for turn in range(3):
    print("before", show(unused(x)))
def staticmethod(function):
    log.append("mine")
    return function


for turn in range(3):
    print("own decorator", show(unused(x)), log[-1])
