"""Attention whose scores are cut into blocks of rows: masks of every shape, causal, grouped heads, odd lengths."""
import torch
import torch.nn.functional as F

import roots

torch.manual_seed(0)


def attend(query, key, value, mask=None, causal=False, scale=None, grouped=False):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal, scale=scale,
                                          enable_gqa=grouped)


def heads(batch, count, length, features=16, dtype=torch.float32):
    return torch.randn(batch, count, length, features).to(dtype)


for rows, columns in ((1030, 1030), (1031, 777), (700, 1501), (2100, 520)):
    qkv = heads(1, 3, rows), heads(1, 3, columns), heads(1, 3, columns)
    keep = torch.rand(rows, columns) > 0.3
    keep[5] = False  # a row that looks at nothing
    masks = keep, torch.rand(1, 1, 1, columns) > 0.5, torch.randn(3, rows, 1), torch.randn(1, 3, rows, columns)
    roots.call(attend, *qkv)
    roots.call(attend, *qkv, None, True)
    roots.call(attend, *qkv, None, False, 0.5)
    for mask in masks:
        roots.call(attend, *qkv, mask)
    roots.call(attend, *(x.transpose(1, 2).contiguous().transpose(1, 2) for x in qkv), None, True)
roots.call(attend, heads(2, 4, 801), heads(2, 2, 801), heads(2, 2, 801), None, True, None, True)
for dtype in (torch.float16, torch.float64):
    roots.call(attend, *(heads(2, 2, 900, 8, dtype) for _ in range(3)), None, True)
print(roots.COUNT)
