"""Answers prompts by `generate` of transformers, with a GPT-2 from a configuration: greedy, sampled, and by beams."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=800, n_positions=256, n_embd=128, n_layer=4, n_head=4, bos_token_id=0, eos_token_id=None)
model = GPT2LMHeadModel(config).eval()
for length in (5, 12, 9):
    prompt = torch.randint(1, 800, (1, length))
    mask = torch.ones_like(prompt)
    for options in ({"do_sample": False}, {"do_sample": True, "top_k": 40, "temperature": 0.8}, {"num_beams": 3}):
        print(model.generate(prompt, attention_mask=mask, max_new_tokens=40, pad_token_id=0, **options).shape)
