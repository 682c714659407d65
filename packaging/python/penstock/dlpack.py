"""Tensors as arrays of anybody's: read by __array_interface__ or __dlpack__, given by both.

The structures are those of DLPack 0.8 (dlpack.h), whose capsules every library reads.
"""

import ctypes

# Of a dtype's number in penstock.h: its name, DLPack's code and bits, and numpy's type where there is one.
TYPES = {
    0: ("uint8", 1, 8, "|u1"), 1: ("int8", 0, 8, "|i1"), 2: ("int16", 0, 16, "<i2"), 3: ("int32", 0, 32, "<i4"),
    4: ("int64", 0, 64, "<i8"), 5: ("float16", 2, 16, "<f2"), 6: ("float32", 2, 32, "<f4"), 7: ("float64", 2, 64, "<f8"),
    9: ("complex64", 5, 64, "<c8"), 10: ("complex128", 5, 128, "<c16"), 11: ("bool", 6, 8, "|b1"), 15: ("bfloat16", 4, 16, None),
}
NAMES = {number: name for number, (name, *_) in TYPES.items()}
_BY_CODE = {(code, bits): number for number, (_, code, bits, _) in TYPES.items()}
_BY_TYPE = {text: number for number, (*_, text) in TYPES.items() if text}
_CPU = 1


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("dtype", _DataType), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_api = ctypes.pythonapi
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))

# What was given away and its receiver has not let go yet, by address.
_given = {}


@_Deleter
def _let_go(managed):
    _given.pop(ctypes.addressof(managed.contents), None)


@_Destructor
def _drop(capsule):
    """Of a capsule that nobody took; who takes one gives it another name."""
    if _is_valid(capsule, b"dltensor"):
        _given.pop(_pointer(capsule, b"dltensor"), None)


class Tensor:
    """A tensor in this process's memory. `shape` and `strides` count elements."""

    class Structure(ctypes.Structure):
        """penstock_tensor."""
        _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                    ("sizes", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64))]

    def __init__(self, structure, memory):
        self.structure, self._memory = structure, memory

    @property
    def shape(self):
        return tuple(self.structure.sizes[: self.structure.rank])

    @property
    def strides(self):
        return tuple(self.structure.strides[: self.structure.rank])

    @property
    def dtype(self):
        return NAMES[self.structure.dtype]

    def __repr__(self):
        return f"<penstock tensor {self.dtype}{list(self.shape)}>"

    @property
    def __array_interface__(self):
        _, _, bits, text = TYPES[self.structure.dtype]
        if text is None:
            raise AttributeError(f"numpy has no {self.dtype}; take the tensor by __dlpack__")
        return {"version": 3, "shape": self.shape, "typestr": text, "data": (self.structure.data or 0, False),
                "strides": tuple(stride * bits // 8 for stride in self.strides)}

    def __dlpack_device__(self):
        return (_CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device not in (None, (_CPU, 0)):
            raise BufferError("the tensor is in the CPU's memory")
        if copy:
            raise BufferError("the tensor is given where it lies; copy what you get")
        _, code, bits, _ = TYPES[self.structure.dtype]
        managed = _Managed(_DLTensor(self.structure.data, _CPU, 0, self.structure.rank, _DataType(code, bits, 1), self.structure.sizes,
                                     self.structure.strides, 0), None, _let_go)
        _given[ctypes.addressof(managed)] = (managed, self)
        return _new(ctypes.addressof(managed), b"dltensor", ctypes.cast(_drop, ctypes.c_void_p))


def _structure(data, number, sizes, strides):
    rank = len(sizes)
    return Tensor.Structure(data, number, rank, (ctypes.c_int64 * rank)(*sizes), None if strides is None else (ctypes.c_int64 * rank)(*strides))


def _of_interface(array, name):
    """By numpy's protocol, which also gives arrays that are only to be read."""
    facts = array.__array_interface__
    if facts["typestr"] not in _BY_TYPE:
        raise TypeError(f"argument {name} has elements of type {facts['typestr']}, which no tensor has")
    number = _BY_TYPE[facts["typestr"]]
    width = TYPES[number][2] // 8
    strides = facts.get("strides")
    if strides is not None and any(stride % width for stride in strides):
        raise TypeError(f"argument {name} is a field of larger records: copy it first")
    steps = None if strides is None else [stride // width for stride in strides]
    return Tensor(_structure(facts["data"][0], number, facts["shape"], steps), array)


def _of_capsule(array, name):
    device = array.__dlpack_device__()
    if device[0] != _CPU:
        raise TypeError(f"argument {name} is on a device (DLPack's number {int(device[0])}), and the model runs on the CPU: copy it first")
    capsule = array.__dlpack__()
    managed = ctypes.cast(_pointer(id(capsule), b"dltensor"), ctypes.POINTER(_Managed)).contents
    tensor = managed.tensor
    number = _BY_CODE.get((tensor.dtype.code, tensor.dtype.bits)) if tensor.dtype.lanes == 1 else None
    if number is None:
        raise TypeError(f"argument {name} has elements of a type that no tensor has")
    sizes = tensor.shape[: tensor.ndim]
    strides = tensor.strides[: tensor.ndim] if tensor.strides else None
    # The capsule owns the array until the call is over, and is not taken from it.
    return Tensor(_structure((tensor.data or 0) + tensor.byte_offset, number, sizes, strides), capsule)


def tensor_of(array, name):
    """The tensor that an array shows; `name` is the argument's, for errors."""
    if isinstance(array, Tensor):
        return array
    if hasattr(array, "__array_interface__"):
        return _of_interface(array, name)
    if hasattr(array, "__dlpack__"):
        return _of_capsule(array, name)
    raise TypeError(f"argument {name} is a {type(array).__name__}, and no array: it has neither __array_interface__ nor __dlpack__")
