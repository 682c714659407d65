"""transformers' Trainer with a tokenizer made here, a collator, metrics, checkpoints and a resumed run."""
import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PrinterCallback
from transformers import (DataCollatorWithPadding, DistilBertConfig, DistilBertForSequenceClassification, PreTrainedTokenizerFast,
                          Trainer, TrainingArguments, pipeline)

texts = ["good film with a great plot", "bad film", "a great great time", "awful and bad plot", "great", "bad awful time"] * 8
labels = [1, 0, 1, 0, 1, 0] * 8
raw = Tokenizer(models.WordLevel(unk_token="[UNK]"))
raw.pre_tokenizer = pre_tokenizers.Whitespace()
raw.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["[UNK]", "[PAD]", "[CLS]", "[SEP]"]))
tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="[UNK]", pad_token="[PAD]")


class Reviews(torch.utils.data.Dataset):
    def __init__(self, texts, labels):
        self.encodings, self.labels = tokenizer(texts), labels

    def __getitem__(self, i):
        return {"input_ids": self.encodings["input_ids"][i], "attention_mask": self.encodings["attention_mask"][i], "labels": self.labels[i]}

    def __len__(self):
        return len(self.labels)


torch.manual_seed(0)
model = DistilBertForSequenceClassification(DistilBertConfig(dim=32, hidden_dim=64, n_layers=2, n_heads=2, vocab_size=len(tokenizer)))
arguments = TrainingArguments("out", num_train_epochs=2, per_device_train_batch_size=8, logging_steps=4, save_steps=6, seed=3, use_cpu=True,
                              report_to=[], disable_tqdm=True, learning_rate=1e-3, eval_strategy="epoch")
trainer = Trainer(model, arguments, train_dataset=Reviews(texts[:36], labels[:36]), eval_dataset=Reviews(texts[36:], labels[36:]),
                  data_collator=DataCollatorWithPadding(tokenizer),
                  compute_metrics=lambda p: {"accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())})
# It prints how long each evaluation took.
trainer.remove_callback(PrinterCallback)
result = trainer.train()
print([round(one["loss"], 3) for one in trainer.state.log_history if "loss" in one])
print(result.global_step, round(result.training_loss, 3))
print({k: round(v, 3) for k, v in sorted(trainer.evaluate().items()) if k in ("eval_loss", "eval_accuracy")})
classify = pipeline("text-classification", model=trainer.model, tokenizer=tokenizer, device="cpu")
for text in ("a great film", "bad", "an awful awful plot with a film", "great time"):
    print([(one["label"], round(one["score"], 3)) for one in classify(text)])
