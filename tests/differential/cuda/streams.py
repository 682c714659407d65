"""Streams, events, threads, a captured graph: work is where the program puts it."""
import threading

import torch


def work(x, y):
    return (x * 2 + y).relu() - y.tanh()


def same(one, other):
    """But for how results were rounded, by torch's kernels or others."""
    return torch.allclose(one, other, rtol=1e-5, atol=1e-5)


def main():
    torch.manual_seed(0)
    x, y = torch.randn(512, 512, device="cuda"), torch.randn(512, 512, device="cuda")
    for _ in range(3):
        expected = work(x, y)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            other = work(x, y)
        done = side.record_event()
    done.wait()
    print("stream", same(other, expected))
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(10):
        again = work(x, y)
    end.record()
    end.synchronize()
    print("events", begin.elapsed_time(end) > 0, same(again, expected))
    # Every call waits for one on the other stream.
    current, value = torch.cuda.current_stream(), x
    for _ in range(20):
        side.wait_stream(current)
        with torch.cuda.stream(side):
            value = work(value, y)
        current.wait_stream(side)
        value = work(value, y)
    print("turns", f"{value.double().abs().max().item():.3f}")
    graph, static = torch.cuda.CUDAGraph(), x.clone()
    with torch.cuda.stream(side):
        work(static, y)
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        result = work(static, y)
    for factor in (1, 2, 3):
        static.copy_(x * factor)
        graph.replay()
        print("graph", same(result, work(x * factor, y)))
    results = [None] * 3

    def run(number):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(5):
                results[number] = work(x + number, y)
            torch.cuda.current_stream().synchronize()

    torch.cuda.synchronize()
    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("threads", [same(result, work(x + number, y)) for number, result in enumerate(results)])


main()
