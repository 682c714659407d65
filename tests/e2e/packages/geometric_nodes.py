"""Node classification with GCN, GAT, SAGE and GIN layers on random graphs of several sizes (torch_geometric)."""
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv
from torch_geometric.utils import to_undirected


class Net(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        if kind == "gcn":
            self.conv1, self.conv2 = GCNConv(8, 16), GCNConv(16, 4)
        elif kind == "gat":
            self.conv1, self.conv2 = GATConv(8, 8, heads=2, dropout=0.3), GATConv(16, 4, heads=1, concat=False)
        elif kind == "sage":
            self.conv1, self.conv2 = SAGEConv(8, 16), SAGEConv(16, 4)
        else:
            mlp = lambda a, b: torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.ReLU(), torch.nn.Linear(b, b))
            self.conv1, self.conv2 = GINConv(mlp(8, 16)), GINConv(mlp(16, 4))

    def forward(self, x, edge_index):
        x = F.dropout(x, p=0.4, training=self.training)
        x = F.elu(self.conv1(x, edge_index))
        return self.conv2(F.dropout(x, p=0.4, training=self.training), edge_index)


def graph(nodes):
    edges = to_undirected(torch.randint(0, nodes, (2, nodes * 2)))
    x = torch.randn(nodes, 8)
    return Data(x=x, edge_index=edges, y=x[:, :4].argmax(dim=1), train_mask=torch.rand(nodes) < 0.6)


torch.manual_seed(12345)
data = graph(90)
for kind in ("gcn", "gat", "sage", "gin"):
    model = Net(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(5):
        model.train()
        optimizer.zero_grad()
        out = model(data.x, data.edge_index)
        loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        pred = model(data.x, data.edge_index).argmax(dim=1)
        acc = int((pred[~data.train_mask] == data.y[~data.train_mask]).sum())
        print(kind, round(loss.item(), 3), acc)
        for nodes in (80, 61, 63, 80, 45, 30):
            other = graph(nodes)
            out = model(other.x, other.edge_index)
            print(nodes, tuple(out.shape), round(out.abs().mean().item(), 3))
