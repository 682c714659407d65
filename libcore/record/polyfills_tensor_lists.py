"""Functions of torch's that go over lists of tensors. A part of polyfills_source.py.

On CPUs torch runs an op for each tensor in turn (aten/src/ATen/native/ForeachOpsKernels.cpp), and so do these: the
graph has those ops, which are fused, differentiated and written in place as any other. What torch refuses, and what
it would have to read a tensor for, is left to it.
"""


def rows_of(self, *others):
    """For each tensor what its op is given: of a list an item, of anything else itself. None: torch refuses it."""
    if not isinstance(self, (builtins.list, builtins.tuple)) or not self:
        return None
    lists = []
    for given in others:
        if isinstance(given, (builtins.list, builtins.tuple)):
            if len(given) != len(self):
                return None
            lists.append(given)
        elif isinstance(given, (int, float, complex)) or given.ndim == 0:
            lists.append([given for _ in self])
        else:
            return None
    return builtins.zip(self, *lists)


def has_tensor(given):
    return not isinstance(given, (builtins.list, builtins.tuple, int, float, complex))


def of_one_list(function, op, in_place):
    def form(self):
        rows = rows_of(self)
        if rows is None:
            left_to_torch()
            return function(self)
        results = [op(*row) for row in rows]
        return self if in_place else (*results,)
    return form


def of_two(function, op, in_place):
    def form(self, other):
        rows = rows_of(self, other)
        if rows is None:
            left_to_torch()
            return function(self, other)
        results = [op(*row) for row in rows]
        return self if in_place else (*results,)
    return form


def of_two_scaled(function, op, in_place):
    def form(self, other, *, alpha=MISSING):
        rows = rows_of(self, other)
        scaled = {} if alpha is MISSING else {"alpha": alpha}
        if rows is None:
            left_to_torch()
            return function(self, other, **scaled)
        results = [op(*row, **scaled) for row in rows]
        return self if in_place else (*results,)
    return form


def of_powers(function, op, in_place):
    def form(self, exponent):
        of_number = isinstance(self, (int, float, complex)) and isinstance(exponent, (builtins.list, builtins.tuple))
        rows = rows_of([self for _ in exponent], exponent) if of_number else rows_of(self, exponent)
        if rows is None or has_tensor(exponent):
            left_to_torch()
            return function(self, exponent)
        import torch
        results = [torch.pow(*row) if of_number else op(*row) for row in rows]
        return self if in_place else (*results,)
    return form


def of_products(function, op, in_place):
    """addcmul and addcdiv."""
    def form(self, tensor1, tensor2, value=1, *, scalars=MISSING):
        factor = value if scalars is MISSING else scalars
        rows = None if has_tensor(factor) else rows_of(self, tensor1, tensor2, factor)
        if rows is None:
            left_to_torch()
            return function(self, tensor1, tensor2, factor)
        results = [op(tensor, one, two, value=number) for tensor, one, two, number in rows]
        return self if in_place else (*results,)
    return form


def of_weights(function, op, in_place):
    def form(self, tensors1, weight):
        rows = None if has_tensor(weight) else rows_of(self, tensors1, weight)
        if rows is None:
            left_to_torch()
            return function(self, tensors1, weight)
        results = [op(*row) for row in rows]
        return self if in_place else (*results,)
    return form


def copies(function):
    def form(self, src, non_blocking=False):
        rows = rows_of(self, src)
        if rows is None or has_tensor(src):
            left_to_torch()
            return function(self, src, non_blocking)
        for tensor, one in rows:
            tensor.copy_(one, non_blocking)
        return self
    return form


def norms(function):
    def form(self, ord=2, dtype=None):
        rows = rows_of(self)
        if rows is None:
            left_to_torch()
            return function(self, ord, dtype)
        import torch
        return (*[torch.linalg.vector_norm(tensor, ord, dtype=dtype) for tensor, in rows],)
    return form


def is_one_group(lists):
    """All tensors are on one device and of one dtype, but for numbers of steps; torch refuses, or makes groups of, others."""
    if not isinstance(lists, (builtins.list, builtins.tuple)) or not lists or not lists[0]:
        return False
    import torch
    first = lists[0][0]
    if first is None:
        return False
    for place, tensors in builtins.enumerate(lists):
        if len(tensors) != (len(lists[0]) if place == 0 or tensors else 0):
            return False
        dtypes = (first.dtype,) if place == 0 else (first.dtype, torch.float32, torch.float64)
        for tensor in tensors:
            if tensor is None and place > 0:
                continue
            if tensor is None or tensor.device != first.device or tensor.dtype not in dtypes:
                return False
    return True


@stands_for("torch.utils._foreach_utils._group_tensors_by_device_and_dtype")
def groups(function):
    def form(tensorlistlist, with_indices=False):
        if not is_one_group(tensorlistlist):
            left_to_torch()
            return function(tensorlistlist, with_indices)
        first = tensorlistlist[0][0]
        places = [place for place in range(len(tensorlistlist[0]))] if with_indices else []
        return {(first.device, first.dtype): ([[*tensors] for tensors in tensorlistlist], places)}
    return form


def enter_tensor_lists():
    import torch
    ones = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 max neg
        reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero""".split()
    forms = {name: (of_one_list, name) for name in ones}
    forms.update({name: (of_two, name) for name in ("mul", "div", "clamp_min", "clamp_max")})
    forms.update(add=(of_two_scaled, "add"), sub=(of_two_scaled, "sub"), pow=(of_powers, "pow"), lerp=(of_weights, "lerp"),
                 addcmul=(of_products, "addcmul"), addcdiv=(of_products, "addcdiv"),
                 maximum=(of_two, "clamp_min"), minimum=(of_two, "clamp_max"))
    for name, (maker, method) in forms.items():
        for ending in ("", "_"):
            function = getattr(torch, f"_foreach_{name}{ending}", None)
            if function is not None:
                TABLE[function] = maker(function, getattr(torch.Tensor, method + ending), ending == "_")
    TABLE[torch._foreach_copy_] = copies(torch._foreach_copy_)
    TABLE[torch._foreach_norm] = norms(torch._foreach_norm)


if "torch" in sys.modules:
    enter_tensor_lists()
