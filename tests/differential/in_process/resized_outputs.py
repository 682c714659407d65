"""What compiled functions return behaves as torch's own tensors when its storage is given other memory."""
import copy
import gc
import io
import pickle
import threading
import warnings

import numpy as np
import torch


@torch.no_grad()
def compiled(x, y):
    return x * 2 + y


@torch.no_grad()
def with_view(x):
    y = x * 3 - 1
    return y, y[1:], y.view(2, -1).t()


def make(n=4):
    return compiled(torch.arange(float(n)), torch.ones(n))


for _ in range(3):
    make()
    with_view(torch.ones(6))


def show(*tensors):
    for tensor in tensors:
        storage = tensor.untyped_storage()
        print(tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.tolist(), storage.nbytes(), storage.resizable(),
              tensor._version, tensor._base is None, tensor.is_leaf)


def grown():
    y = make()
    print(y.resize_(3, 5) is y)
    y.view(-1)[4:] = 7
    show(y)


def shrunk():
    y = make(6)
    show(y.resize_(0), y.resize_(2))
    y.untyped_storage().resize_(0)
    print(y.untyped_storage().nbytes(), y.untyped_storage().data_ptr())


def seen_through_views():
    y = make(6)
    view = y[2:4]
    y.resize_(40)
    view.add_(1)
    y[6:] = 0
    show(y, view)
    y, tail, turned = with_view(torch.arange(6.0))
    y.resize_(10)
    y[6:] = 5
    tail.mul_(2)
    show(y, tail, turned)
    print(y.untyped_storage()._cdata == tail.untyped_storage()._cdata == turned.untyped_storage()._cdata)
    tail.resize_(12)
    tail[9:] = 1
    show(y, tail)


def given_other_memory():
    y, z, w = make(), make(), make(5)
    show(y.set_(torch.ones(7)), z.set_(w))
    print(z.data_ptr() == w.data_ptr())
    show(z.set_(w.untyped_storage(), 1, (2,), (1,)))
    z.set_(w.untyped_storage(), 1, (8,), (1,))
    print(z.shape, w.untyped_storage().nbytes())
    show(z.set_())
    y.data = torch.ones(3)
    y.storage().resize_(20)
    show(y)


def resized_by_out():
    y, z = make(), make(1)
    print(torch.add(torch.ones(2, 3), 1, out=y) is y)
    show(y)
    torch.addbmm(make(6).view(2, 3), torch.ones(2, 2, 4), torch.ones(2, 4, 3), out=z)
    show(z)
    values, indices = make(1), torch.zeros(1, dtype=torch.long)
    found = torch.max(torch.arange(6.0).view(2, 3), 0, out=(values, indices))
    print(found[0] is values, found[1] is indices)
    show(values, indices)


def resized_alike():
    y = make(6).resize_as_(torch.ones(2, 4))
    y.view(-1)[6:] = 0
    show(y)


def refused():
    y = make(6)
    print(y.numpy().nbytes, y.untyped_storage().resizable())  # numpy sees the memory now
    y.resize_(40)


def refused_with_gradients():
    make(6).requires_grad_().resize_(9)


def shared():
    y = make(6)
    y.share_memory_()
    print(y.is_shared())
    show(y)


def copied():
    y, buffer = make(6), io.BytesIO()
    torch.save(y, buffer)
    buffer.seek(0)
    show(pickle.loads(pickle.dumps(y)), copy.deepcopy(y), torch.load(buffer), y.clone())
    print(np.from_dlpack(y).tolist(), memoryview(bytes(y.untyped_storage()))[:8].tolist())


def without_elements():
    y = make(0)
    show(y)
    print(y.data_ptr(), y.untyped_storage().data_ptr())
    y.resize_(3)
    y.fill_(2)
    show(y)


def in_threads():
    """Memory goes back on whatever thread resizes."""
    sums = []

    def resize():
        for i in range(50):
            y = make(64)
            y.resize_(2000 + i)
            y[64:] = 0
            sums.append(float(y.sum()))

    threads = [threading.Thread(target=resize) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(sums), set(sums))


def many_times():
    """Each of them gives its memory back once, and is whole in between."""
    kept = []
    for i in range(300):
        y = make(100 + i % 7)
        y.resize_(300)
        y[100 + i % 7:] = i
        kept.append(y[::40])
        del y
        if i % 50 == 0:
            kept = kept[-5:]
            gc.collect()
    print([t.tolist() for t in kept[-3:]])


for case in (grown, shrunk, seen_through_views, given_other_memory, resized_by_out, resized_alike, refused, refused_with_gradients,
             shared, copied, without_elements, in_threads, many_times):
    print(case.__name__)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                case()
            except RuntimeError as error:
                print(type(error).__name__, str(error).splitlines()[0])
        print([str(warning.message)[:70] for warning in told])
