"""Sine waves predicted by LSTM cells in double precision, trained with L-BFGS."""
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

np.random.seed(2)
torch.manual_seed(0)


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 21)
        self.lstm2 = nn.LSTMCell(21, 21)
        self.linear = nn.Linear(21, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 21, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 21, dtype=torch.double)
        h_t2 = torch.zeros(input.size(0), 21, dtype=torch.double)
        c_t2 = torch.zeros(input.size(0), 21, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


x = np.array(range(40)) + np.random.randint(-80, 80, 12).reshape(12, 1)
data = torch.from_numpy(np.sin(x / 1.0 / 20).astype("float64"))
input, target = data[3:, :-1], data[3:, 1:]
test_input, test_target = data[:3, :-1], data[:3, 1:]
seq = Sequence().double()
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=5)
for i in range(3):
    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(input), target)
        loss.backward()
        return loss
    print("STEP", i, "%.6f" % optimizer.step(closure).item())
    with torch.no_grad():
        future = 30
        pred = seq(test_input, future=future)
        print("test loss: %.6f" % criterion(pred[:, :-future], test_target).item(), pred.detach().numpy()[0, -3:].round(4))
