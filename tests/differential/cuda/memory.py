"""Statistics of memory, giving it back, and a GPU that is out of it."""
import torch


def work(x):
    return (x * 2 + 1).relu().sum(0)


def main():
    x = torch.ones(1024, 1024, device="cuda")
    for _ in range(4):
        result = work(x)
    torch.cuda.synchronize()
    print(torch.cuda.memory_allocated() == x.nbytes + result.nbytes, torch.cuda.memory_allocated() <= torch.cuda.max_memory_allocated())
    del result
    torch.cuda.empty_cache()
    print(torch.cuda.memory_allocated() == x.nbytes, f"{work(x).sum().item():.1f}")
    free = torch.cuda.mem_get_info()[0]
    torch.cuda.set_per_process_memory_fraction(0.05)
    try:
        work(torch.empty(free // 4, device="cuda"))
    except torch.cuda.OutOfMemoryError as error:
        print("out of memory", type(error).__name__)
    torch.cuda.set_per_process_memory_fraction(1.0)
    print(f"{work(x).sum().item():.1f}", torch.cuda.current_device(), torch.cuda.device_count() > 0)
    try:
        x[torch.tensor([2000], device="cpu")]
    except IndexError as error:
        print(error)


main()
