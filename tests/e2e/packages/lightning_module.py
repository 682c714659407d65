"""A LightningModule with metrics, callbacks, a schedule and checkpoints (lightning, torchmetrics)."""
import logging
import warnings

import lightning as L
import torch
import torch.nn.functional as F
import torchmetrics
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
for name in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)


class Classifier(L.LightningModule):
    def __init__(self, hidden=32):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(12, hidden), torch.nn.GELU(), torch.nn.LayerNorm(hidden), torch.nn.Linear(hidden, 3))
        self.accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=3)
        self.f1 = torchmetrics.F1Score(task="multiclass", num_classes=3, average="macro")

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        logits = self(x)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.accuracy(logits, y)
        self.f1(logits, y)
        self.log("val_acc", self.accuracy, on_epoch=True)
        self.log("val_f1", self.f1, on_epoch=True)

    def on_validation_epoch_end(self):
        print({key: round(float(value), 3) for key, value in sorted(self.trainer.callback_metrics.items())})

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=5e-3)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)]


L.seed_everything(1, verbose=False)
x = torch.randn(160, 12)
y = x[:, :3].argmax(1)
data = TensorDataset(x, y)
train, val = torch.utils.data.random_split(data, [120, 40])
checkpoint = ModelCheckpoint(dirpath="checkpoints", monitor="val_loss", save_top_k=1, filename="best")
trainer = L.Trainer(max_epochs=4, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
                    callbacks=[checkpoint, EarlyStopping("val_loss", patience=3)], gradient_clip_val=1.0)
model = Classifier()
trainer.fit(model, DataLoader(train, batch_size=16, shuffle=True), DataLoader(val, batch_size=16))
best = Classifier.load_from_checkpoint("checkpoints/best.ckpt").eval()
with torch.no_grad():
    for rows in (5, 5, 9, 40):
        print(best(x[:rows]).argmax(1).tolist()[:5])
