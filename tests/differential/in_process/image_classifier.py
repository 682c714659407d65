import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1); self.b1 = nn.BatchNorm2d(8)
        self.c2 = nn.Conv2d(8, 16, 3, stride=2); self.fc = nn.Linear(16*6*6, 10)
    def forward(self, x):
        x = F.relu(self.b1(self.c1(x)))
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        x = torch.flatten(x, 1)
        return F.log_softmax(self.fc(F.dropout(x, 0.5, self.training)), dim=1)
m = Net().eval()
with torch.no_grad():
    for i in range(4):
        o = m(torch.randn(2, 1, 28, 28))
        print(o.argmax(1).tolist(), round(o.sum().item(), 2))
