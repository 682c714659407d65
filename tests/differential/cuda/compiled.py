"""torch.compile in the program, on the GPU."""
import torch


@torch.compile
def work(x, y):
    return torch.softmax(x * 2 + y, -1)


@torch.compile(mode="reduce-overhead")
def reduced(x):
    return (x * 2).tanh() + 1


def main():
    torch.manual_seed(0)
    x, y = torch.randn(64, 128).cuda(), torch.randn(128).cuda()
    for _ in range(3):
        print(f"{work(x, y).sum().item():.3f}")
    for _ in range(4):
        print(f"{reduced(x).sum().item():.2f}")


main()
