"""Methods of list and dict, and what the modules collections and operator have in C. A part of polyfills_source.py."""


@stands_for(list.clear)
def list_clear(self, /):
    while self:
        self.pop()


@stands_for(list.extend)
def list_extend(self, iterable, /):
    for item in iterable:
        self.append(item)


@stands_for(list.remove)
def list_remove(self, value, /):
    for place, item in enumerate(self):
        if item is value or item == value:
            self.pop(place)
            return
    raise ValueError("list.remove(x): x not in list")


@stands_for(list.reverse)
def list_reverse(self, /):
    items = self.copy()
    size = len(items)
    for place in range(size):
        self[place] = items[size - 1 - place]


@stands_for(list.sort)
def list_sort(self, /, *, key=None, reverse=False):
    for place, item in enumerate(sorted(self, key=key, reverse=reverse)):
        self[place] = item


@stands_for((dict, "fromkeys"))
def dict_from_keys(iterable, value=None, /):
    return {key: value for key in iterable}


@stands_for(collections._count_elements)
def count_elements(mapping, iterable, /):
    get = mapping.get
    for item in iterable:
        mapping[item] = get(item, 0) + 1


@stands_for(collections.OrderedDict)
def ordered_dict(pairs, /, **named):
    made = collections.OrderedDict()
    for key, value in pairs:
        made[key] = value
    for key, value in named.items():
        made[key] = value
    return made


@stands_for(collections.deque.extend)
def deque_extend(self, iterable, /):
    for item in iterable:
        self.append(item)


@stands_for(collections.deque.extendleft)
def deque_extend_left(self, iterable, /):
    for item in iterable:
        self.appendleft(item)


# -- the best of several


def is_empty(name):
    """What max() and min() say of nothing: it differs from Python to Python."""
    try:
        getattr(builtins, name)(())
    except ValueError as error:
        return str(error)


NOTHING = {name: is_empty(name) for name in ("max", "min")}


@stands_for(builtins.max)
def max(*items, key=None, default=MISSING):
    return best("max", operator.gt, items, key, default)


@stands_for(builtins.min)
def min(*items, key=None, default=MISSING):
    return best("min", operator.lt, items, key, default)


def best(name, is_better, items, key, default):
    chosen = rank = MISSING
    for item in items[0] if len(items) == 1 else items:
        own = item if key is None else key(item)
        if chosen is MISSING or is_better(own, rank):
            chosen, rank = item, own
    if chosen is not MISSING:
        return chosen
    if default is MISSING:
        raise ValueError(NOTHING[name])
    return default


# -- what operator.itemgetter, attrgetter and methodcaller make (objects/getter.cpp)


def form_of(getter):
    kind, arguments = getter.__reduce__()
    if type(kind) is functools.partial:
        return method_form(*kind.args, *arguments, **kind.keywords)
    if kind is operator.itemgetter:
        return item_form(*arguments)
    if kind is operator.attrgetter:
        return attribute_form(*arguments)
    return method_form(*arguments)


def item_form(*keys):
    if len(keys) == 1:
        key = keys[0]
        return lambda of: of[key]
    return lambda of: tuple([of[key] for key in keys])


def attribute_form(*paths):
    paths = [path.split(".") for path in paths]

    def follow(of, path):
        for name in path:
            of = getattr(of, name)
        return of

    if len(paths) == 1:
        path = paths[0]
        return lambda of: follow(of, path)
    return lambda of: tuple([follow(of, path) for path in paths])


def method_form(name, /, *arguments, **named):
    return lambda of: getattr(of, name)(*arguments, **named)
