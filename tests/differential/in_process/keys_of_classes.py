"""Classes with keys that are no strings: looking a name up compares the two by code of the program's, and once only."""
import torch


class Key:
    def __init__(self, name):
        self.name = name
        self.compared = 0

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        self.compared += 1
        return False


class Base:
    factor = 2.0

    def scaled(self, x):
        return x * self.factor


key = Key("factor")
Other = type("Other", (Base,), {key: 5})


def of_class(x):
    return torch.relu(x) * Other.factor + 1


def of_object(x, thing):
    return thing.scaled(x) + 1


x = torch.linspace(-1, 1, 5)
for _ in range(4):
    print(of_class(x), key.compared)
    print(of_object(x, Other()), key.compared)
