"""Instances whose dict is asked for: what is set by way of the instance shows in its dict, and the other way round."""
import torch


class Box:
    def __init__(self, **parts):
        for name, part in parts.items():
            setattr(self, name, part)


def over_items(x, box):
    for name, part in box.__dict__.items():
        x = x * part + len(name)
    return x


def by_key(x, box):
    own = box.__dict__
    return x * own["scale"] + (own["shift"] if "shift" in own else 0.5) + len(own)


def by_attribute(x, box):
    return x * box.scale + getattr(box, "shift", 0.5)


def left_behind(x):
    """The dict of an instance that a segment made is that instance's behind it."""
    box = Box(scale=x + 1, shift=2)
    own, also = box.__dict__, vars(box)
    y = own["scale"] * 2
    y.tolist()  # ends the segment
    own["more"] = y.sum()
    box.late = 4
    return box.more + box.late, own is also, own is box.__dict__, sorted(also)


def under_way(x):
    """A loop over such a dict goes on behind the segment."""
    box, seen = Box(scale=x + 1, own=x - 1), []
    for name, part in vars(box).items():
        seen.append((name, part.tolist()))
        x = x * part
    return x, seen, vars(box)


def given_back(x):
    box = Box(scale=x + 1)
    box.itself = box.__dict__
    return box.__dict__, box


def show(what, box):
    x = torch.arange(4.0)
    print(what, [[round(v, 4) for v in f(x, box).tolist()] for f in (over_items, by_key, by_attribute)])


def changes(box):
    show("as made", box)
    show("again", box)
    box.scale = 3.0
    show("set by the instance", box)
    box.__dict__["scale"] = 4.0
    show("set by the dict", box)
    for scale in (5.0, 6.0, 7.0):
        setattr(box, "scale", scale)
        show("set in turn", box)
    box.shift = 1.5
    show("one more", box)
    del box.shift
    show("one less", box)
    box.__dict__ = {"scale": 0.25, "shift": 2.0}
    show("another dict", box)
    box.scale = 0.5
    show("set in that", box)
    del box.__dict__["shift"]
    show("one less in that", box)


with torch.no_grad():
    changes(Box(scale=2.0, bias=1.0))
    box = Box(scale=2.0)
    print(sorted(box.__dict__))  # the dict is there before anything is recorded
    changes(box)
    for count in (3, 40):  # more attributes than stand inline
        box = Box(scale=2.0, **{f"part{i}": 1.0 for i in range(count)})
        changes(box)
    for _ in range(3):
        x = torch.arange(3.0)
        print(left_behind(x), under_way(x))
        own, box = given_back(x)
        print(own["scale"], sorted(own), own is box.__dict__, box.itself is own)
