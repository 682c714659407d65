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


@stands_for(dict.update)
def dict_update(self, pairs, /, **named):
    store = dict.__setitem__
    for key, value in paired(pairs):
        store(self, key, value)
    for key, value in named.items():
        store(self, key, value)


@stands_for(collections.OrderedDict.update)
def ordered_dict_update(self, pairs, /, **named):
    for key, value in paired(pairs):
        self[key] = value
    for key, value in named.items():
        self[key] = value


def paired(source):
    """What a dict is made of, in pairs: of a mapping by its keys."""
    if not hasattr(source, "keys"):
        return source
    return [(key, source[key]) for key in source.keys()]


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


@stands_for(builtins.vars)
def vars(object, /):
    return object.__dict__


# -- sets


@stands_for(set.update)
def set_update(self, /, *others):
    for other in others:
        for item in list(other):
            self.add(item)


@stands_for(set.difference_update)
def set_difference_update(self, /, *others):
    for other in others:
        for item in list(other):
            self.discard(item)


@stands_for(builtins.set)
def make_set(iterable, /):
    made = set()
    for item in iterable:
        made.add(item)
    return made


@stands_for(builtins.frozenset)
def make_frozenset(iterable, /):
    return frozenset([*iterable])


# -- named tuples


@stands_for((tuple, "__new__"))
def tuple_new(cls, iterable=(), /):
    return tuple.__new__(cls, [*iterable])


# -- heapq and bisect: lists in order


import _bisect
import _heapq


def rise(heap, start, place):
    """The item at `place` moves towards the root until its parent is not larger."""
    item = heap[place]
    while place > start:
        above = (place - 1) >> 1
        if not item < heap[above]:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = item


def sink(heap, place):
    """The item at `place` goes to a leaf, past the smaller children, and rises from there: as CPython does."""
    end, start, item = len(heap), place, heap[place]
    child = 2 * place + 1
    while child < end:
        other = child + 1
        if other < end and not heap[child] < heap[other]:
            child = other
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = item
    rise(heap, start, place)


@stands_for(_heapq.heappush)
def heappush(heap, item, /):
    heap.append(item)
    rise(heap, 0, len(heap) - 1)


@stands_for(_heapq.heappop)
def heappop(heap, /):
    last = heap.pop()
    if not heap:
        return last
    first = heap[0]
    heap[0] = last
    sink(heap, 0)
    return first


@stands_for(_heapq.heapreplace)
def heapreplace(heap, item, /):
    first = heap[0]
    heap[0] = item
    sink(heap, 0)
    return first


@stands_for(_heapq.heappushpop)
def heappushpop(heap, item, /):
    if heap and heap[0] < item:
        item, heap[0] = heap[0], item
        sink(heap, 0)
    return item


@stands_for(_heapq.heapify)
def heapify(heap, /):
    for place in range(len(heap) // 2 - 1, -1, -1):
        sink(heap, place)


def bisect(a, x, lo, hi, goes_right):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        if goes_right(a[middle], x):
            lo = middle + 1
        else:
            hi = middle
    return lo


def is_less(item, x):
    return item < x


def is_not_more(item, x):
    return not x < item


@stands_for(_bisect.bisect_left)
def bisect_left(a, x, lo=0, hi=None, *, key=None):
    return bisect(a, x, lo, hi, is_less if key is None else lambda item, x: key(item) < x)


@stands_for(_bisect.bisect_right)
def bisect_right(a, x, lo=0, hi=None, *, key=None):
    return bisect(a, x, lo, hi, is_not_more if key is None else lambda item, x: not x < key(item))


@stands_for(_bisect.insort_left)
def insort_left(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


@stands_for(_bisect.insort_right)
def insort_right(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


# -- itertools.tee, whose iterators share what the one behind has yet to give


def tee_items(iterator, waiting, own):
    while True:
        if not own:
            item = next(iterator, MISSING)
            if item is MISSING:
                return
            for queue in waiting:
                queue.append(item)
        yield own.popleft()


@stands_for(itertools.tee)
def tee(iterable, n=2, /):
    iterator = iter(iterable)
    waiting = [collections.deque() for _ in range(n)]
    return tuple([tee_items(iterator, waiting, own) for own in waiting])
