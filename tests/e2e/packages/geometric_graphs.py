"""Graph classification in mini-batches with pooling (torch_geometric's loader)."""
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GraphConv, TopKPooling, global_add_pool, global_max_pool, global_mean_pool


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.pool1 = GraphConv(5, 16), TopKPooling(16, ratio=0.8)
        self.conv2, self.pool2 = GraphConv(16, 16), TopKPooling(16, ratio=0.8)
        self.lin1, self.lin2 = torch.nn.Linear(48, 16), torch.nn.Linear(16, 2)

    def forward(self, data):
        x, edge_index, batch = data.x, data.edge_index, data.batch
        x = F.relu(self.conv1(x, edge_index))
        x, edge_index, _, batch, _, _ = self.pool1(x, edge_index, None, batch)
        x1 = torch.cat([global_max_pool(x, batch), global_mean_pool(x, batch), global_add_pool(x, batch)], dim=1)
        x = F.relu(self.conv2(x, edge_index))
        x, edge_index, _, batch, _, _ = self.pool2(x, edge_index, None, batch)
        x2 = torch.cat([global_max_pool(x, batch), global_mean_pool(x, batch), global_add_pool(x, batch)], dim=1)
        return F.log_softmax(self.lin2(F.relu(self.lin1(x1 + x2))), dim=-1)


torch.manual_seed(1)
graphs = []
for i in range(60):
    n = int(torch.randint(5, 15, (1,)))
    label = i % 2
    graphs.append(Data(x=torch.randn(n, 5) + label, edge_index=torch.randint(0, n, (2, 3 * n)), y=torch.tensor([label])))
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
for epoch in range(3):
    model.train()
    total = 0
    for data in DataLoader(graphs[:48], batch_size=12, shuffle=True):
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), data.y)
        loss.backward()
        total += loss.item() * data.num_graphs
        optimizer.step()
    print(epoch, round(total / 48, 3))
    model.eval()
    with torch.no_grad():
        correct = sum(int(model(data).max(dim=1)[1].eq(data.y).sum()) for data in DataLoader(graphs[48:], batch_size=5))
    print("correct", correct)
