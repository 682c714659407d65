"""A training loop with gradient accumulation, clipping, schedules, checkpoints and metrics (accelerate)."""
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

set_seed(42)
accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
model = BertForSequenceClassification(BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                                                 intermediate_size=64, vocab_size=101, max_position_embeddings=40))
ids = torch.randint(0, 101, (48, 20))
labels = (ids.sum(1) % 2).long()
mask = torch.ones_like(ids)
mask[::3, 14:] = 0
train = DataLoader(TensorDataset(ids[:32], mask[:32], labels[:32]), batch_size=8, shuffle=True)
evaluation = DataLoader(TensorDataset(ids[32:], mask[32:], labels[32:]), batch_size=6)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = get_linear_schedule_with_warmup(optimizer, 1, 4)
model, optimizer, train, evaluation, schedule = accelerator.prepare(model, optimizer, train, evaluation, schedule)
for epoch in range(2):
    model.train()
    for batch in train:
        with accelerator.accumulate(model):
            loss = model(input_ids=batch[0], attention_mask=batch[1], labels=batch[2]).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        accelerator.print(f"loss {loss.item():.3f} lr {schedule.get_last_lr()[0]:.6f}")
    model.eval()
    correct = total = 0
    for batch in evaluation:
        with torch.no_grad():
            logits = model(input_ids=batch[0], attention_mask=batch[1]).logits
        predictions, references = accelerator.gather_for_metrics((logits.argmax(dim=-1), batch[2]))
        correct += (predictions == references).sum().item()
        total += len(references)
    accelerator.print(f"epoch {epoch}: {correct}/{total}")
accelerator.save_state("state")
accelerator.load_state("state")
print(sum(p.numel() for p in accelerator.unwrap_model(model).parameters()))
