"""Deep Q-learning in a maze of plain Python, with a replay memory and a target network."""

import random
from collections import deque, namedtuple

import torch
from torch import nn

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class Maze:
    moves = ((0, 1), (1, 0), (0, -1), (-1, 0))

    def reset(self):
        self.place, self.steps = (0, 0), 0
        return self.observe()

    def observe(self):
        return [self.place[0] / 7, self.place[1] / 7, (7 - self.place[0]) / 7, (7 - self.place[1]) / 7]

    def step(self, action):
        row, column = self.place[0] + self.moves[action][0], self.place[1] + self.moves[action][1]
        if 0 <= row < 8 and 0 <= column < 8 and (row, column) not in {(3, 3), (3, 4), (4, 3)}:
            self.place = row, column
        self.steps += 1
        done = self.place == (7, 7)
        return self.observe(), 1.0 if done else -0.02, done or self.steps > 60


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2, self.layer3 = nn.Linear(4, 128), nn.Linear(128, 128), nn.Linear(128, 4)

    def forward(self, x):
        return self.layer3(torch.relu(self.layer2(torch.relu(self.layer1(x)))))


def optimize_model(policy, target, memory, optimizer):
    if len(memory) < 64:
        return
    batch = Transition(*zip(*random.sample(memory, 64)))
    mask = torch.tensor([s is not None for s in batch.next_state])
    following = torch.cat([s for s in batch.next_state if s is not None])
    values = policy(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_values = torch.zeros(64)
    with torch.no_grad():
        next_values[mask] = target(following).max(1).values
    expected = next_values * 0.99 + torch.cat(batch.reward)
    loss = nn.functional.smooth_l1_loss(values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy.parameters(), 100)
    optimizer.step()


def main():
    random.seed(0)
    torch.manual_seed(0)
    policy, target, maze, memory = DQN(), DQN(), Maze(), deque(maxlen=2000)
    target.load_state_dict(policy.state_dict())
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3, amsgrad=True)
    state = torch.tensor([maze.reset()])
    for step in range(1500):
        if random.random() > 0.9 - step / 3000:
            with torch.no_grad():
                action = policy(state).max(1).indices.view(1, 1)
        else:
            action = torch.tensor([[random.randrange(4)]])
        seen, reward, done = maze.step(action.item())
        following = None if done else torch.tensor([seen])
        memory.append(Transition(state, action, following, torch.tensor([reward])))
        state = torch.tensor([maze.reset()]) if done else following
        optimize_model(policy, target, memory, optimizer)
        weights, wanted = target.state_dict(), policy.state_dict()
        for key in wanted:
            weights[key] = wanted[key] * 0.005 + weights[key] * 0.995
        target.load_state_dict(weights)
    print(len(memory))


main()
