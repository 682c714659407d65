"""Networks that learn on the GPU: statistics of batch normalisation, batches that change, dropout, autocast, gradients that add up, streams."""
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """A transformer's, whose dropout is a number that the program sets."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.first(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(mixed.transpose(1, 2).reshape(batch, length, width)))
        return x + self.dropout(self.down(F.gelu(self.up(self.second(x)))))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.second, self.other = nn.Conv2d(16, 32, 3, stride=2, bias=False), nn.BatchNorm2d(32)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        x = F.relu(self.other(self.second(x)))
        return self.head(x.mean((2, 3)))


class Words(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.words, self.block, self.head = nn.Embedding(50, 64), Block(64, 4, dropout), nn.Linear(64, 50)

    def forward(self, tokens):
        return self.head(self.block(self.words(tokens)))


def told(name, step, loss, model):
    gradient = sum(p.grad.double().square().sum() for p in model.parameters() if p.grad is not None).sqrt()
    print(name, step, f"{loss.item():.2f}", f"{gradient.item():.2f}")


def learn_images(layout, sizes):
    torch.manual_seed(0)
    model = Images().cuda().to(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    for step, size in enumerate(sizes):
        torch.manual_seed(step)
        pixels, targets = torch.randn(size, 3, 18, 18).cuda().to(memory_format=layout), torch.randint(10, (size,)).cuda()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(pixels), targets)
        loss.backward()
        optimizer.step()
        told("images", step, loss, model)
        print([f"{s.double().sum().item():.2f}" for s in (model.norm.running_mean, model.norm.running_var, model.other.running_mean, model.other.running_var)], model.norm.num_batches_tracked.item())
    model.eval()
    with torch.no_grad():
        print("eval", f"{model(pixels).double().abs().mean().item():.2f}")


def learn_words(dropout, steps=14):
    torch.manual_seed(0)
    model = Words(dropout).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for step in range(steps):
        tokens = torch.arange(8 * 17).view(8, 17).mul(step + 3).remainder(50).cuda()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        told(f"words {dropout}", step, loss, model)
    print("drawn behind", f"{torch.rand(3, device='cuda').sum().item():.4f}")


def learn_autocast(dtype):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 8)).cuda()
    optimizer, scaler = torch.optim.Adam(model.parameters(), 1e-3), torch.amp.GradScaler("cuda", init_scale=1024.0, enabled=dtype == torch.float16)
    x, y = torch.randn(128, 32).cuda(), torch.randn(128, 8).cuda()
    for step in range(12):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype):
            made = model(x)
            loss = F.mse_loss(made, y)
        if step == 5:
            loss = loss * float("inf")  # which the scaler skips
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step != 5 or dtype == torch.float16:
            print("autocast", step, made.dtype, loss.dtype, f"{loss.item():.1f}", f"{scaler.get_scale():.0f}")
        if step == 5 and dtype != torch.float16:
            break


def learn_in_parts():
    """Gradients of several batches add up."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(8):
        optimizer.zero_grad()
        for part in range(3):
            torch.manual_seed(10 * step + part)
            x, y = torch.randn(32, 16).cuda(), torch.randn(32, 4).cuda()
            loss = (model(x) - y).square().mean() / 3
            loss.backward()
        optimizer.step()
        told("parts", step, loss, model)


def learn_on_streams():
    """Backward runs where forward did."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256)).cuda()
    x, current = torch.randn(512, 256).cuda(), torch.cuda.current_stream()
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    for step in range(12):
        stream = streams[step % 2] if step > 3 else current
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            loss = model(x * 2).square().mean()
        current.wait_stream(stream)
        model.zero_grad()
        loss.backward()
        told("streams", step, loss, model)


def learn_again():
    """Gradients asked for twice, of a part, and of gradients."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 1)).cuda()
    x = torch.randn(20, 8).cuda().requires_grad_()
    for step in range(8):
        model.zero_grad()
        loss = model(x).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        told("twice", step, loss, model)
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        slope.square().sum().backward()
        told("of gradients", step, slope.sum(), model)
        with torch.no_grad():
            model[0].weight.add_(0.01)
    y = model(x)
    try:
        with torch.no_grad():
            model[2].weight.add_(1)
        y.sum().backward()
        print("not noticed")
    except RuntimeError as error:
        print("written", "modified by an inplace operation" in str(error))


def main():
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    learn_images(torch.contiguous_format, (8,) * 12)
    learn_images(torch.channels_last, (8, 8, 8, 16, 16, 5, 5, 16, 8, 5, 32, 32, 7, 16, 16))
    learn_words(0.0)
    learn_words(0.1)
    learn_autocast(torch.float16)
    learn_autocast(torch.bfloat16)
    learn_in_parts()
    learn_on_streams()
    learn_again()


main()
