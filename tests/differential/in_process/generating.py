"""Decoders that generate with a cache of keys and values, which is longer at every step or of one length: the steps share their entries."""
import torch
import transformers

transformers.logging.set_verbosity_error()
torch.manual_seed(0)
config = transformers.GPT2Config(n_layer=2, n_embd=32, n_head=4, vocab_size=100, n_positions=128)
model = transformers.GPT2LMHeadModel(config).eval()
model.generation_config.eos_token_id = None
model.generation_config.pad_token_id = 0
for prompt, tokens in ((7, 20), (7, 20), (12, 30)):
    ids = torch.randint(config.vocab_size, (1, prompt))
    print(model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=tokens).tolist())
ids = torch.randint(config.vocab_size, (2, 5))
mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])  # padded on the left
print(model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=12).tolist())
ids = torch.randint(config.vocab_size, (1, 6))
print(model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=12,
                     cache_implementation="static").tolist())

# Heads that share keys and values, positions by rotation.
config = transformers.LlamaConfig(num_hidden_layers=1, hidden_size=32, intermediate_size=48, num_attention_heads=4,
                                  num_key_value_heads=2, vocab_size=100)
model = transformers.LlamaForCausalLM(config).eval()
model.generation_config.eos_token_id = None
model.generation_config.pad_token_id = 0
ids = torch.randint(config.vocab_size, (2, 7))
for cache in ("dynamic", "static"):
    print(model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=12,
                         cache_implementation=cache).tolist())
