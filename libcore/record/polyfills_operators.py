"""The functions of the module operator. A part of polyfills_source.py."""


@stands_for(operator.lt)
def lt(a, b, /):
    return a < b


@stands_for(operator.le)
def le(a, b, /):
    return a <= b


@stands_for(operator.eq)
def eq(a, b, /):
    return a == b


@stands_for(operator.ne)
def ne(a, b, /):
    return a != b


@stands_for(operator.ge)
def ge(a, b, /):
    return a >= b


@stands_for(operator.gt)
def gt(a, b, /):
    return a > b


@stands_for(operator.not_)
def not_(a, /):
    return not a


@stands_for(operator.truth)
def truth(a, /):
    return True if a else False


@stands_for(operator.is_)
def is_(a, b, /):
    return a is b


@stands_for(operator.is_not)
def is_not(a, b, /):
    return a is not b


@stands_for(operator.add, operator.concat)
def add(a, b, /):
    return a + b


@stands_for(operator.and_)
def and_(a, b, /):
    return a & b


@stands_for(operator.floordiv)
def floordiv(a, b, /):
    return a // b


@stands_for(operator.inv)
def inv(a, /):
    return ~a


@stands_for(operator.invert)
def invert(a, /):
    return ~a


@stands_for(operator.lshift)
def lshift(a, b, /):
    return a << b


@stands_for(operator.mod)
def mod(a, b, /):
    return a % b


@stands_for(operator.mul)
def mul(a, b, /):
    return a * b


@stands_for(operator.matmul)
def matmul(a, b, /):
    return a @ b


@stands_for(operator.neg)
def neg(a, /):
    return -a


@stands_for(operator.or_)
def or_(a, b, /):
    return a | b


@stands_for(operator.pos)
def pos(a, /):
    return +a


@stands_for(operator.pow)
def pow_(a, b, /):
    return a ** b


@stands_for(operator.rshift)
def rshift(a, b, /):
    return a >> b


@stands_for(operator.sub)
def sub(a, b, /):
    return a - b


@stands_for(operator.truediv)
def truediv(a, b, /):
    return a / b


@stands_for(operator.xor)
def xor(a, b, /):
    return a ^ b


@stands_for(operator.contains)
def contains(a, b, /):
    return b in a


@stands_for(operator.getitem)
def getitem(a, b, /):
    return a[b]


@stands_for(operator.setitem)
def setitem(a, b, c, /):
    a[b] = c


@stands_for(operator.delitem)
def delitem(a, b, /):
    del a[b]


@stands_for(operator.iadd, operator.iconcat)
def iadd(a, b, /):
    a += b
    return a


@stands_for(operator.iand)
def iand(a, b, /):
    a &= b
    return a


@stands_for(operator.ifloordiv)
def ifloordiv(a, b, /):
    a //= b
    return a


@stands_for(operator.ilshift)
def ilshift(a, b, /):
    a <<= b
    return a


@stands_for(operator.imod)
def imod(a, b, /):
    a %= b
    return a


@stands_for(operator.imul)
def imul(a, b, /):
    a *= b
    return a


@stands_for(operator.imatmul)
def imatmul(a, b, /):
    a @= b
    return a


@stands_for(operator.ior)
def ior(a, b, /):
    a |= b
    return a


@stands_for(operator.ipow)
def ipow(a, b, /):
    a **= b
    return a


@stands_for(operator.irshift)
def irshift(a, b, /):
    a >>= b
    return a


@stands_for(operator.isub)
def isub(a, b, /):
    a -= b
    return a


@stands_for(operator.itruediv)
def itruediv(a, b, /):
    a /= b
    return a


@stands_for(operator.ixor)
def ixor(a, b, /):
    a ^= b
    return a


@stands_for(operator.countOf)
def count_of(a, b, /):
    found = 0
    for item in a:
        if item is b or item == b:
            found += 1
    return found


@stands_for(operator.indexOf)
def index_of(a, b, /):
    place = 0
    for item in a:
        if item is b or item == b:
            return place
        place += 1
    raise ValueError("sequence.index(x): x not in sequence")
