"""An index that chooses nothing: the device finds it, and the next wait raises. Nothing runs there any more after that."""
import os

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    words = nn.Sequential(nn.Embedding(101, 64), nn.LayerNorm(64)).cuda().eval()
    with torch.no_grad():
        tokens = torch.randint(101, (3, 16), device="cuda")
        for _ in range(4):
            words(tokens)
        torch.cuda.synchronize()
        tokens[1, 2] = 101
        torch.cuda.synchronize()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what the device prints names the kernel
        try:
            words(tokens)
            torch.cuda.synchronize()
        except RuntimeError as error:
            print("refused", "device-side assert" in str(error))


main()
