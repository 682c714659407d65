"""Branches on issubclass() and on membership, where classes and containers of other types come by the same place."""
import torch


class Everything(dict):
    def __contains__(self, key):
        return True


class Nothing:
    def __contains__(self, key):
        return False


class Narrow(set):
    def __contains__(self, key):
        return key == 2 and super().__contains__(key)


def by_class(x, kind):
    return x + 1 if issubclass(kind, str) else x - 1


def by_classes(x, kind):
    return x * 2 if issubclass(kind, (int, float)) else x / 2


def by_key(x, container):
    return (x + 1) * 2 if 0 in container else (x - 1) * 2


def by_absence(x, container):
    return x * 3 if 2 not in container else x * 5


KINDS = [str, int, bool, float, type("Word", (str,), {}), dict]
CONTAINERS = [{1, 2}, {0}, frozenset({0, 2}), Narrow({0, 2}), Everything(), Nothing(), range(2)]


def main():
    x = torch.arange(5.0)
    for _ in range(3):
        for kind in KINDS:
            print(kind.__name__, by_class(x, kind).tolist(), by_classes(x, kind).tolist())
        for container in CONTAINERS:
            print(type(container).__name__, by_key(x, container).tolist(), by_absence(x, container).tolist())


main()
