"""torch.nn's attention and recurrent layers, with masks and packed sequences."""
import torch
from torch import nn
torch.manual_seed(0)


def size(y):
    return f'{y.abs().sum().item():.2f} {tuple(y.shape)}'


layer = nn.TransformerEncoderLayer(12, 3, 24, batch_first=True, dropout=0.0).eval()
decoder = nn.TransformerDecoderLayer(12, 3, 24, batch_first=True, dropout=0.0).eval()
attention = nn.MultiheadAttention(12, 3, batch_first=True).eval()
lstm = nn.LSTM(12, 6, 2, bidirectional=True, batch_first=True)
x = torch.randn(2, 5, 12)
mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
with torch.no_grad():
    for _ in range(2):
        print(size(layer(x)), size(layer(x, src_mask=mask)), size(decoder(x, x + 1, tgt_mask=mask)))
        y, weights = attention(x, x + 1, x, attn_mask=mask)
        print(size(y), size(weights), size(attention(x, x, x, need_weights=False)[0]))
        y, (h, c) = lstm(nn.utils.rnn.pack_padded_sequence(x, [5, 3], batch_first=True))
        y, lengths = nn.utils.rnn.pad_packed_sequence(y, batch_first=True)
        print(size(y), size(h), size(c), lengths)


def attention(query, key, value):
    return torch.nn.functional.scaled_dot_product_attention(query, key, value)


# Scores of half precision that are large: rounded to it, they would make other weights.
for dtype in (torch.bfloat16, torch.float16):
    torch.manual_seed(3)
    query, key, value = (torch.randn(4, 12, 8).mul(6).to(dtype) for _ in range(3))
    exact = attention(query.double(), key.double(), value.double())
    for turn in range(5):
        error = (attention(query, key, value).double() - exact).abs().max().item()
        print("large scores", dtype, error < (0.15 if dtype is torch.bfloat16 else 0.02))
