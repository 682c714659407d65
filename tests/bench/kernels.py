"""Kernels beside torch eager, paired: each kernel is timed by turns in both, and the medians of the turns
stand in one line. Usage: kernels.py BENCH_KERNELS [THREADS]; prints JSON lines, then a table."""
import json
import os
import statistics
import subprocess
import sys
import time

TURNS = 3


def eager_cases(torch):
    f = torch.nn.functional
    x1, y1 = torch.randn(1 << 20), torch.randn(1 << 20)
    g, gb = torch.randn(512, 3072), torch.randn(3072)
    s1, s2 = torch.randn(12288, 128), torch.randn(768, 2048)
    small = torch.randn(8)

    def norm(rows, width):
        a, b = torch.randn(rows, width), torch.randn(rows, width)
        w, bias = torch.randn(width), torch.randn(width)
        return lambda: f.layer_norm(a + b, (width,), w, bias)

    c = torch.randn(2048, 1024)
    return {
        "add_1048576": lambda: x1 + y1,
        "bias_gelu_512x3072": lambda: f.gelu(g + gb),
        "bias_gelu_tanh_512x3072": lambda: f.gelu(g + gb, approximate="tanh"),
        "softmax_12288x128": lambda: torch.softmax(s1, 1),
        "softmax_768x2048": lambda: torch.softmax(s2, 1),
        "add_layer_norm_512x768": norm(512, 768),
        "add_layer_norm_4096x1024": norm(4096, 1024),
        "column_sum_2048x1024": lambda: c.sum(0),
        "sum_2048x1024": lambda: c.sum(),
        "call_of_one_op": lambda: small + 1.0,
    }


def time_eager(call):
    call()
    begin = time.perf_counter()
    call()
    repeats = max(1, int(1e-3 / max(time.perf_counter() - begin, 2e-7)))
    samples = []
    for _ in range(41):
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        samples.append((time.perf_counter() - begin) / repeats * 1e6)
    return statistics.median(samples)


def main():
    program = sys.argv[1]
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import torch
    torch.set_num_threads(threads)
    rows = []
    with torch.no_grad():
        for name, call in eager_cases(torch).items():
            ours, eager = [], []
            for _ in range(TURNS):
                ours.append(json.loads(subprocess.run([program, name], capture_output=True,
                                                      text=True, check=True).stdout))
                eager.append(time_eager(call))
            row = {"name": name, "threads": threads,
                   "us": statistics.median(o["us"] for o in ours),
                   "gbs": statistics.median(o["gbs"] for o in ours),
                   "compile_ms": statistics.median(o["compile_ms"] for o in ours),
                   "functions": ours[0]["functions"], "eager_us": statistics.median(eager)}
            print(json.dumps(row), flush=True)
            rows.append(row)
    print(f"{'kernel':28}{'us':>10}{'GB/s':>8}{'eager us':>10}{'ratio':>7}{'compile ms':>12}")
    for row in rows:
        print(f"{row['name']:28}{row['us']:10.1f}{row['gbs']:8.1f}{row['eager_us']:10.1f}"
              f"{row['eager_us'] / row['us']:7.2f}{row['compile_ms']:12.2f}")


if __name__ == "__main__":
    main()
