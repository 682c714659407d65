"""Metric learning with miners and losses, and a nearest-neighbour check (pytorch-metric-learning)."""
import torch
from pytorch_metric_learning import distances, losses, miners, reducers
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 6)
y = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
distance = distances.CosineSimilarity()
loss_function = losses.TripletMarginLoss(margin=0.2, distance=distance, reducer=reducers.ThresholdReducer(low=0))
mining = miners.TripletMarginMiner(margin=0.2, distance=distance, type_of_triplets="semihard")
contrastive = losses.NTXentLoss(temperature=0.1)
for epoch in range(3):
    for i in range(0, 120, 40):
        embeddings = model(x[i:i + 40])
        pairs = mining(embeddings, y[i:i + 40])
        loss = loss_function(embeddings, y[i:i + 40], pairs) + 0.1 * contrastive(embeddings, y[i:i + 40])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 3), mining.num_triplets)
model.eval()
with torch.no_grad():
    for rows in (120, 60, 60, 33):
        e = nn.functional.normalize(model(x[:rows]), dim=1)
        similarity = e @ e.t()
        similarity.fill_diagonal_(-1)
        print(rows, int((y[:rows][similarity.argmax(1)] == y[:rows]).sum()))
