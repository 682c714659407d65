"""One process of the generate bench: GPT-2 with random weights, greedy decoding through transformers' generate.

Usage: generate.py SIDE LAYERS TOKENS PROMPT
SIDE: program (the model as it is: plain Python, or ours under `penstock run`) or inductor (its forward is
torch.compile's, as users compile a model that generates).

Prints one JSON object after the first call of generate, then one for each line that it reads: `steady` times
one more call, `end` says what was compiled and ends. All of it stands at the top level of this file: a
`<module>` is never a region, so that the measuring runs natively under `penstock run` too.
"""

import json
import sys
import time

import torch
import transformers


def say(record):
    print(json.dumps(record), flush=True)


side = sys.argv[1]
layers, tokens, prompt = map(int, sys.argv[2:])
transformers.logging.set_verbosity_error()
torch.manual_seed(0)
config = transformers.GPT2Config(n_layer=layers)
model = transformers.GPT2LMHeadModel(config).eval()
# Every call makes as many tokens as are asked for.
model.generation_config.eos_token_id = None
model.generation_config.pad_token_id = 0
ids = torch.randint(config.vocab_size, (1, prompt))
mask = torch.ones_like(ids)
# What a step reads of the weights: of the table of positions one row.
weights = {parameter.data_ptr(): parameter.nbytes for parameter in model.parameters()}
read = sum(weights.values()) - model.transformer.wpe.weight.nbytes
if side == "inductor":
    import torch._dynamo.utils
    model.forward = torch.compile(model.forward)
start = time.perf_counter_ns()
out = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=tokens)
say({"first": time.perf_counter_ns() - start, "tokens": out[0, prompt:].tolist(), "read": read,
     "threads": torch.get_num_threads()})
for line in sys.stdin:
    if line.split()[0] == "steady":
        start = time.perf_counter_ns()
        out = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=tokens)
        spent = time.perf_counter_ns() - start
        say({"time": spent, "tokens": out[0, prompt:].tolist()})
    else:
        compiled = torch._dynamo.utils.counters["stats"]["unique_graphs"] if side == "inductor" else 0
        say({"compiled": compiled})
        break
