"""Tunes a small text classifier of transformers on sentences made up, in a loop of its own."""

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification, get_linear_schedule_with_warmup


class Sentences(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        ids = torch.randint(1, 500, (int(torch.randint(8, 24, (1,), generator=generator)),), generator=generator)
        return {"input_ids": ids, "labels": index % 3}


def collate(rows):
    ids = torch.nn.utils.rnn.pad_sequence([row["input_ids"] for row in rows], batch_first=True)
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.tensor([row["labels"] for row in rows])}


torch.manual_seed(0)
config = DistilBertConfig(vocab_size=500, dim=96, hidden_dim=256, n_layers=2, n_heads=4, num_labels=3)
model = DistilBertForSequenceClassification(config)
loader = DataLoader(Sentences(), batch_size=16, shuffle=True, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
schedule = get_linear_schedule_with_warmup(optimizer, 10, 60)
for epoch in range(3):
    model.train()
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        right = sum((model(**batch).logits.argmax(-1) == batch["labels"]).sum().item() for batch in loader)
    print(epoch, right >= 0)
