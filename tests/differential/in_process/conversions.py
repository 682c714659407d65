"""Methods that give a tensor itself back, or one of another kind: to, cpu, type, contiguous; and tensors of a tensor's
kind of Python data."""
import torch


def to_device(x):
    return (x * 2).to("cpu", non_blocking=True) + 1, (x * 2).to(device="cpu", copy=True) + 1


def to_both(x):
    return (x * 2).to(torch.device("cpu"), torch.float64) + (x * 2).to("cpu", torch.float16, non_blocking=True)


def typed(x):
    return (x * 2).type("torch.DoubleTensor") + 1, (x * 2).type(torch.LongTensor) + 1, (x * 2).type(torch.int32) + 1


def itself(x):
    y = x * 2
    z = y.type(torch.FloatTensor)
    z.add_(1)
    return y, z is y, x.cpu() is x, y.cpu() is y, x.type("torch.FloatTensor") is x


def detached(x):
    return x.detach().cpu() * 2, (x * 2).cpu().to(torch.float64), x.contiguous().cpu() + x.t().contiguous().cpu()


def new_data(x):
    y = (x * 2).double()
    return y.new_tensor([1, 2, 3, 4]) + x, y.new_tensor(((1,), (2,)), dtype=torch.int64) + 1, y.new([1.0, 2.0]) + 1


def new_sizes(x):
    y = (x * 2).double()
    return y.new(4, 2).zero_() + 1, y.new(x.size()).fill_(2) + 1


def laid_out(x):
    y = (x * 2)[None]
    return (y if y.is_contiguous(memory_format=torch.contiguous_format) else -y,
            y[None] if y[None].is_contiguous(memory_format=torch.channels_last) else -y)


def old_constructors(x):
    return (torch.LongTensor([1, 2]) + torch.FloatTensor([1.5]).sum(), torch.Tensor(2, 4).zero_() + x[:2],
            torch.Tensor(x.size()).copy_(x) * 2, torch.Tensor([1, 2.5]) * x[0, :2], torch.Tensor([[True, 2], [3, 4]]) + 1,
            torch.ByteTensor([[1, 0], [0, 1]]) + 1, torch.BoolTensor([True, False]).double() * 2)


def of_default_kind():
    return torch.Tensor([1, 2.5]) * 2, torch.Tensor(1, 2).zero_() + 1


def left_to_torch(x):
    return torch.LongTensor([1.7, 2]) + 1, torch.Tensor().sum() + x.sum(), torch.LongTensor(x[0].tolist()) * 2


def show(result):
    if isinstance(result, tuple):
        return [show(one) for one in result]
    return (result.dtype, tuple(result.shape), result.tolist()) if torch.is_tensor(result) else result


for n in (4, 4, 4, 5, 6):
    x = torch.arange(float(4 * n)).view(n, 4)
    print(show(to_device(x)), show(to_both(x)), show(typed(x)), show(itself(x)))
    print(show(new_data(x)), show(new_sizes(x)), show(laid_out(x)), show(old_constructors(x)),
          show(left_to_torch(x)), show(of_default_kind()))
    print(show(detached(torch.arange(16.0).view(4, 4) + n)))
torch.set_default_dtype(torch.float64)
print(show(of_default_kind()), show(old_constructors(x)))
torch.set_default_dtype(torch.float32)
