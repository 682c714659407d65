"""Text generation with transformers: greedy, beams, sampling with warpers, an encoder-decoder, a streamer, a stop rule."""
import torch
from transformers import (GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, LogitsProcessor, LogitsProcessorList,
                          StoppingCriteria, StoppingCriteriaList, T5Config, T5ForConditionalGeneration)


class NoRepeat(LogitsProcessor):
    def __call__(self, input_ids, scores):
        return scores.scatter(1, input_ids, -1e4)


class StopAt(StoppingCriteria):
    def __init__(self, token):
        self.token = token

    def __call__(self, input_ids, scores, **kwargs):
        return (input_ids[:, -1] == self.token)


torch.manual_seed(0)
gpt2 = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=89, n_positions=64, bos_token_id=1, eos_token_id=2)).eval()
llama = LlamaForCausalLM(LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                                     num_key_value_heads=2, vocab_size=89, max_position_embeddings=64)).eval()
t5 = T5ForConditionalGeneration(T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=89,
                                         decoder_start_token_id=0)).eval()
for name, model in (("gpt2", gpt2), ("llama", llama), ("t5", t5)):
    for length in (4, 7):
        ids = torch.randint(3, 89, (2, length))
        print(name, model.generate(ids, max_new_tokens=8, do_sample=False, pad_token_id=0).tolist())
    print(name, model.generate(ids, max_new_tokens=6, num_beams=3, do_sample=False, pad_token_id=0, length_penalty=0.8).tolist())
    torch.manual_seed(11)
    print(name, model.generate(ids, max_new_tokens=6, do_sample=True, top_k=20, top_p=0.9, temperature=0.7, pad_token_id=0).tolist())
    print(name, model.generate(ids, max_new_tokens=10, do_sample=False, pad_token_id=0, logits_processor=LogitsProcessorList([NoRepeat()]),
                               stopping_criteria=StoppingCriteriaList([StopAt(5)]), repetition_penalty=1.2).shape)
padded = torch.randint(3, 89, (2, 6))
attention = torch.ones_like(padded)
attention[0, :3] = 0
print(gpt2.generate(padded, attention_mask=attention, max_new_tokens=5, do_sample=False, pad_token_id=0).tolist())
