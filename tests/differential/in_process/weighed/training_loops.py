"""Loops of training programs in the main module and in functions that are called once."""
import sys
import threading

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data, labels = torch.randn(100, 32), torch.randint(0, 10, (100,))


def net():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.0), nn.Linear(64, 10))


def show(name, *numbers):
    print(name, *(f"{torch.as_tensor(number).item():.3e}" for number in numbers))


def weights(model):
    return sum(p.detach().double().abs().sum() for p in model.parameters())


# A loader whose last batch is smaller, evaluation under no_grad in every epoch, and the model's modes.
model = net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.7)
loader = DataLoader(TensorDataset(data, labels), batch_size=16, shuffle=True)
history = []
for epoch in range(60):
    model.train()
    total, seen = 0.0, 0
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
        seen += len(x)
        if epoch % 20 == 0 and i % 3 == 0:
            print(epoch, i, f"{loss.item():.3f}")
    scheduler.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
    history.append((total / seen, correct))
show("epochs", *history[0], *history[30], *history[-1], weights(model), optimizer.param_groups[0]["lr"])
print(i, x.shape, sorted(name for name in globals() if len(name) == 1))

# Early stopping, continue, break, else, a while loop, and names that are deleted.
model = net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
best, patience, step = 1e9, 0, 0
while True:
    step += 1
    if step % 7 == 0:
        continue
    loss = F.cross_entropy(model(data[:16]), labels[:16])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() < best - 1e-4:
        best, patience = loss.item(), 0
    else:
        patience += 1
    del loss
    if patience > 5 or step >= 900:
        break
show("stopped", step, best, weights(model))
try:
    loss
except NameError as error:
    print(error)

model = net()
for step in range(700):
    loss = model(data[:8]).square().mean()
    loss.backward()
    if step > 650 and loss.item() > 1e9:
        break
else:
    show("not broken", loss, sum(p.grad.abs().sum() for p in model.parameters()))

# Gradients accumulated over steps, clipped; an exception in the middle, caught outside of the loop.
model = net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps = 0
try:
    for step in range(2000):
        x, y = data[step % 5 * 20 : step % 5 * 20 + 20], labels[step % 5 * 20 : step % 5 * 20 + 20]
        loss = F.cross_entropy(model(x), y) / 4
        loss.backward()
        if (step + 1) % 4 == 0:
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
        if step == 1403:
            x = x[:, :5]
            model(x)
except RuntimeError as error:
    print(type(error).__name__, str(error)[:40], sys.exc_info()[2].tb_lineno)
show("accumulated", step, steps, loss, norm, weights(model))


# An exception in the middle that is caught in the loop.
def main():
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    bad = 0
    for step in range(900):
        x = data[:20] if step % 50 else data[:20, :3]
        try:
            out = model(x)
        except RuntimeError:
            bad += 1
            continue
        finally:
            last = step
        loss = F.cross_entropy(out, labels[:20])
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
    show("caught", bad, last, loss, weights(model))
    return locals()


print(sorted(main()))


# Two models in turn.
def adversarial():
    torch.manual_seed(3)
    maker, judge = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32)), nn.Sequential(nn.Linear(32, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    of_maker, of_judge = torch.optim.Adam(maker.parameters(), 2e-4, betas=(0.5, 0.999)), torch.optim.Adam(judge.parameters(), 2e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    real, fake = torch.ones(16, 1), torch.zeros(16, 1)
    for step in range(900):
        noise = torch.randn(16, 8)
        judge.zero_grad()
        made = maker(noise)
        loss_judge = criterion(judge(data[:16]), real) + criterion(judge(made.detach()), fake)
        loss_judge.backward()
        of_judge.step()
        maker.zero_grad()
        loss_maker = criterion(judge(made), real)
        loss_maker.backward()
        of_maker.step()
    show("two models", loss_judge, loss_maker, weights(maker), weights(judge))


adversarial()

# Checkpoints in the loop, and a hook that appears later.
model = net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
states, seen_by_hook = [], []
for step in range(1200):
    optimizer.zero_grad()
    out = model(data[:32])
    loss = F.cross_entropy(out, labels[:32])
    loss.backward()
    optimizer.step()
    if step % 300 == 0:
        states.append({name: value.clone() for name, value in model.state_dict().items()})
    if step == 1000:
        handle = model[0].register_forward_hook(lambda module, args, result: seen_by_hook.append(result.shape[0]))
    if step == 1010:
        handle.remove()
show("checkpoints", loss, *(weights_of["0.weight"].abs().sum() for weights_of in states), sum(seen_by_hook))

# Inference, in a loop over a generator; what is printed on the way.
def batches():
    for at in range(1200):
        yield data[at % 80 : at % 80 + 20]


model.eval()
total = torch.zeros(10)
with torch.no_grad():
    for number, batch in enumerate(batches()):
        total += model(batch).softmax(1).sum(0)
        if number % 400 == 0:
            print(f"{number}: {total[0]:.3f}")
show("inference", total.sum(), total[3], number)

# A number that another thread changes, and one that a callback does.
scale, changes = 1.0, 0


def change():
    global scale, changes
    scale = 3.0
    changes += 1


result = torch.zeros(8)
for step in range(1500):
    result = result * 0.5 + data[0, :8] * scale + changes
    if step == 1000:
        thread = threading.Thread(target=change)
        thread.start()
        thread.join()
    if step == 1200:
        change()
show("global", result.sum(), scale, changes)
