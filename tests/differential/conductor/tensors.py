"""What the tensor bridge reads of torch tensors, against torch's own words, and tensors over lent memory."""

import sys

import penstock_harness
import torch

passed = failed = 0


def expect(condition, what):
    global passed, failed
    if condition:
        passed += 1
    else:
        failed += 1
        print("FAILED:", what)


NUMBERS = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5,
           torch.float32: 6, torch.float64: 7, torch.complex64: 9, torch.complex128: 10, torch.bool: 11,
           torch.bfloat16: 15}


def compare(tensor, what):
    seen = penstock_harness.tensor(tensor)
    expect(seen["agree"], (what, "by attribute", seen))
    expect(seen["sizes"] == tuple(tensor.shape), (what, "sizes", seen))
    expect(seen["strides"] == tensor.stride(), (what, "strides", seen))
    expect(seen["offset"] == tensor.storage_offset(), (what, "offset", seen))
    expect(seen["dtype"] == NUMBERS[tensor.dtype], (what, "dtype", seen))
    expect(seen["requires_grad"] == tensor.requires_grad, (what, "requires_grad", seen))
    if tensor.device.type == "cpu":
        expect(seen["device_type"] == 0, (what, "device", seen))
        expect(seen["data"] == tensor.data_ptr(), (what, "data", seen))
        expect(seen["storage"] == tensor.untyped_storage()._cdata, (what, "storage", seen))
    else:
        expect(seen["device_type"] == 14 and seen["data"] == 0, (what, "meta", seen))
    if tensor.is_inference():
        expect(not seen["has_version"], (what, "inference", seen))
    else:
        expect(seen["version"] == tensor._version, (what, "version", seen))


for dtype in NUMBERS:
    compare(torch.zeros(2, 3, dtype=dtype), dtype)
base = torch.arange(60.0).reshape(3, 4, 5)
compare(base, "base")
compare(base.transpose(0, 2)[1:, ::2], "view")
compare(torch.tensor(1.5), "scalar")
compare(torch.empty(0, 7), "empty")
compare(base.expand(2, 3, 4, 5), "expand")
base.add_(1)
base[0].mul_(2)
compare(base, "mutated")
compare(torch.nn.Parameter(torch.ones(3)), "parameter")
weight = torch.ones(3, requires_grad=True)
compare(weight * 2, "non-leaf")
compare((weight * 2).detach(), "detached")
compare(torch.empty(5, 6, device="meta"), "meta")
with torch.inference_mode():
    compare(torch.ones(4), "inference")
expect(penstock_harness.fast() == (True, True, True, True), ("fast", penstock_harness.fast()))

try:
    penstock_harness.tensor(torch.eye(3).to_sparse())
    expect(False, "sparse is refused")
except TypeError:
    expect(True, "")

made, released = penstock_harness.make((2, 3), (4, 1), 8)
expect(type(made) is torch.Tensor and made.tolist() == [[0, 1, 2], [4, 5, 6]], "made")
expect(not made.requires_grad and made.is_contiguous() is False and made._version == 0, "made flags")
made.add_(1)
expect(made._version == 1 and made[1, 2] == 7, "made is writable")
alias = made.view(2, 3)[0].numpy()
del made
expect(not released(), "an alias keeps the memory")
expect(alias.tolist() == [1, 2, 3], "alias")
del alias
expect(released() == 1, "released")

# A storage that stays as it was made, and one that takes other memory.
made, released = penstock_harness.make((4,), (1,), 4)
try:
    made.resize_(100)
    expect(False, "lent memory is not resized")
except RuntimeError as error:
    expect("not resizable" in str(error), error)
del made
expect(released() == 1, "released after a refused resize")
made, released = penstock_harness.make((2, 2), (2, 1), 4, True)
view = made[1]
expect(made.untyped_storage().resizable() and made.untyped_storage().nbytes() == 16, "resizable")
made.resize_(2)
expect(released() == 0 and made.untyped_storage().nbytes() == 16, "shrinking keeps the memory")
made.resize_(50, 2)
expect(released() == 1 and made.untyped_storage().nbytes() == 400, "growing gives it back")
expect(made.view(-1)[:4].tolist() == [0, 1, 2, 3] and view.tolist() == [2, 3], "elements survive")
made.untyped_storage().resize_(0)
expect(made.untyped_storage().nbytes() == 0 and released() == 1, "emptied")
del made, view
expect(released() == 1, "released once")
made, released = penstock_harness.make((2, 2), (2, 1), 4, True)
del made
expect(released() == 1, "released without a resize")

print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
