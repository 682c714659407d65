"""Translates sentences by an encoder and a decoder of transformers (a T5 from a configuration)."""

import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
config = T5Config(vocab_size=600, d_model=96, d_kv=24, d_ff=256, num_layers=3, num_heads=4, decoder_start_token_id=0)
model = T5ForConditionalGeneration(config).eval()
for number in range(6):
    ids = torch.randint(2, 600, (2, 8 + 3 * (number % 3)))
    out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=24, min_new_tokens=24)
    print(out.shape)
