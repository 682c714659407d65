"""Where results lie decides which views of them there are: repeated, rolled and split tensors, and attention over views."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)


def show(value):
    return [round(v, 3) for v in value.double().flatten().tolist()[:6]], tuple(value.shape), value.stride()


def repeated(x):
    return (x.permute(2, 0, 1).unsqueeze(0).repeat(2, 1, 1, 1) * 2).view(-1, x.shape[0], x.shape[1])


def windows(x, shift):
    y = torch.roll(x, (-shift, -shift), (1, 2))
    batch, height, width, channels = y.shape
    y = y.view(batch, height // 4, 4, width // 4, 4, channels)
    return y.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 4, 4, channels) + 1


def attention(x, heads):
    batch, length, width = x.shape
    parts = [p.view(batch, length, heads, width // 3 // heads).transpose(1, 2) for p in x.split(width // 3, 2)]
    y = F.scaled_dot_product_attention(*parts, is_causal=True)
    return y.transpose(1, 2).contiguous().view(batch, length, width // 3) * 2


def reordered(x):
    first = torch.flip(x, [1]).transpose(0, 1)
    return torch.sort(x.t(), dim=0).values, first.reshape(-1) + 1, torch.stack([x.t(), x.t()]).view(-1) * 2


def kept(x):
    return F.hardtanh(x) + 0, torch.nan_to_num(x), x.clone(), torch.zeros_like(x) + x, F.pad(x, (-1, 0)), x[:, torch.tensor([1, 0])]


def main():
    compiled = {f: torch.compile(f) for f in (repeated, windows, attention, reordered, kept)}
    with torch.no_grad():
        for size in (8, 4, 12, 16):
            for _ in range(2):
                results = [compiled[repeated](torch.randn(5, size, 4)), compiled[windows](torch.randn(2, size, size, 3), 2),
                           compiled[windows](torch.randn(2, size, size, 3), 0), compiled[attention](torch.randn(2, size, 24), 2),
                           *compiled[reordered](torch.randn(size, 3)), *compiled[kept](torch.randn(3, size, 2).permute(2, 1, 0)),
                           *compiled[kept](torch.randn(2, 3, 1, size).expand(2, 3, 4, size).transpose(1, 3))]
            for result in results:
                print(*show(result))


main()
