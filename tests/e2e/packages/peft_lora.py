"""LoRA adapters on a small GPT-2 (peft): train, switch adapters, merge, unload, save and load."""
import torch
from peft import LoraConfig, PeftModel, TaskType, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
base = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=97, n_positions=64))
base.save_pretrained("base")
model = get_peft_model(base, LoraConfig(task_type=TaskType.CAUSAL_LM, r=4, lora_alpha=8, lora_dropout=0.1,
                                        target_modules=["c_attn", "c_proj"], fan_in_fan_out=True))
model.print_trainable_parameters()
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
ids = torch.randint(0, 97, (8, 24))
model.train()
for step in range(6):
    out = model(input_ids=ids, labels=ids)
    out.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, round(out.loss.item(), 3))
model.eval()
with torch.no_grad():
    for _ in range(4):
        adapted = model(input_ids=ids[:2]).logits
    with model.disable_adapter():
        for _ in range(4):
            plain = model(input_ids=ids[:2]).logits
    print("differ", not torch.allclose(adapted, plain, atol=1e-3))
    for length in (5, 9, 12):
        print(round(model(input_ids=ids[:1, :length]).logits.std().item(), 3))
    model.save_pretrained("adapter")
    merged = model.merge_and_unload()
    for _ in range(3):
        again = merged(input_ids=ids[:2]).logits
    print("merged", torch.allclose(adapted, again, atol=1e-3))
    loaded = PeftModel.from_pretrained(GPT2LMHeadModel.from_pretrained("base"), "adapter").eval()
    for _ in range(3):
        third = loaded(input_ids=ids[:2]).logits
    print("loaded", torch.allclose(adapted, third, atol=1e-3))
    print(merged.generate(ids[:1, :4], max_new_tokens=8, do_sample=False, pad_token_id=0).tolist())
