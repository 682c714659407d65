"""What classes give by themselves (bound to the class, by a descriptor, by the metaclass) is asked for again once the
class, its base or its metaclass has another of the name."""
import torch

torch.set_grad_enabled(False)


class Base:
    @classmethod
    def scaled(cls, x):
        return x * 2

    def doubled(self, x):
        return x * 2


class Derived(Base):
    def by_super(self, x):
        return super().doubled(x)

    @classmethod
    def class_by_super(cls, x):
        return super().scaled(x)


class Gives:
    def __init__(self, number):
        self.number = number

    def __get__(self, instance, owner):
        return self.number


class Answers(type):
    @property
    def rate(cls):
        return 2.0

    def way(cls, x):
        return x * 2


class Asked(metaclass=Answers):
    given = Gives(3.0)


class AskedToo(Asked):
    pass


class Fallback(type):
    def __getattr__(cls, name):
        return 7.0


class Lacks(metaclass=Fallback):
    pass


class Keys(dict):
    pass


class Same(torch.autograd.Function):
    # As torch.autograd.Function itself has it since torch 2.15.
    apply = torch._C._FunctionBase.__dict__["apply"]

    @staticmethod
    def forward(ctx, x):
        return x * 2


class Named(torch.autograd.Function):
    @staticmethod
    def forward(x, scale=3.0):
        return x * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


def class_method(x):
    return Derived.scaled(x + 1)


def class_method_of_new(x):
    return Derived().scaled(x + 1)


def by_super(x):
    return Derived().by_super(x + 1)


def class_by_super(x):
    return Derived.class_by_super(x + 1)


def descriptor(x):
    return (x + 1) * AskedToo.given


def lacking(x):
    return (x + 1) * Lacks.other


def property_of_metaclass(x):
    return (x + 1) * AskedToo.rate


def method_of_metaclass(x):
    return AskedToo.way(x + 1)


def method_in_c(x):
    return (x + 1) * len(Keys.fromkeys((1, 2, 3)))


def function_of_autograd(x):
    return Same.apply(x + 1) + 1


def named(x):
    y = x + 1
    try:
        return Named.apply(y, scale=5.0)
    except TypeError as error:
        return type(error).__name__, "scale" in str(error)


FUNCTIONS = (class_method, class_method_of_new, by_super, class_by_super, descriptor, lacking, property_of_metaclass,
             method_of_metaclass, method_in_c, function_of_autograd, named)


def each(state):
    for function in FUNCTIONS:
        for call in range(5):
            print(state, function.__name__, function(torch.tensor([1.0, 2.0]) + call))


each("as written")
Derived.scaled = classmethod(lambda cls, x: x - 1)
AskedToo.given, Lacks.other = Gives(5.0), 9.0
Answers.rate, Answers.way = property(lambda cls: 4.0), lambda cls, x: x * 4
Keys.fromkeys = classmethod(lambda cls, keys: {1: 2})
Same.forward = staticmethod(lambda ctx, x: x * 5)
each("changed")
del Derived.scaled, AskedToo.given, Lacks.other, Keys.fromkeys
Same.apply = classmethod(lambda cls, x: x - 1)
each("put back")
Base.scaled, Base.doubled = classmethod(lambda cls, x: x * 10), lambda self, x: x * 20
Asked.given, Fallback.__getattr__ = Gives(6.0), lambda cls, name: 8.0
AskedToo.way = lambda x: x * 5
each("changed below")
torch.set_grad_enabled(True)
