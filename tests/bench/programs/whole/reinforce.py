"""Learns to balance a pole by REINFORCE; the pole is plain Python."""

import math
import random

import torch
from torch import nn
from torch.distributions import Categorical


class Pole:
    def reset(self):
        self.state = [random.uniform(-0.05, 0.05) for _ in range(4)]
        return self.state

    def step(self, action):
        x, speed, angle, turn = self.state
        force = 10.0 if action == 1 else -10.0
        push = (force + 0.05 * turn**2 * math.sin(angle)) / 1.1
        bend = (9.8 * math.sin(angle) - math.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        slide = push - 0.05 * bend * math.cos(angle) / 1.1
        self.state = [x + 0.02 * speed, speed + 0.02 * slide, angle + 0.02 * turn, turn + 0.02 * bend]
        return self.state, 1.0, abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.209


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1, self.dropout, self.affine2 = nn.Linear(4, 128), nn.Dropout(p=0.6), nn.Linear(128, 2)
        self.saved_log_probs, self.rewards = [], []

    def forward(self, x):
        x = torch.relu(self.dropout(self.affine1(x)))
        return torch.softmax(self.affine2(x), dim=1)


def select_action(policy, state):
    m = Categorical(policy(torch.tensor(state).unsqueeze(0)))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer):
    R, returns = 0, []
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std(correction=0) + 1e-6)
    loss = torch.cat([-log_prob * r for log_prob, r in zip(policy.saved_log_probs, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del policy.rewards[:], policy.saved_log_probs[:]


def main():
    random.seed(0)
    torch.manual_seed(0)
    policy, pole = Policy(), Pole()
    optimizer, steps = torch.optim.Adam(policy.parameters(), lr=1e-2), 0
    while steps < 8000:
        state = pole.reset()
        for _ in range(500):
            state, reward, done = pole.step(select_action(policy, state))
            policy.rewards.append(reward)
            steps += 1
            if done:
                break
        finish_episode(policy, optimizer)
    print(steps >= 8000)


main()
