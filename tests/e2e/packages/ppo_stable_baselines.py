"""Reinforcement learning with PPO, A2C and DQN on CartPole (stable-baselines3)."""
import numpy as np
import torch
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy

torch.set_num_threads(1)
for kind, keywords in ((PPO, {"n_steps": 64, "batch_size": 32, "n_epochs": 2}), (A2C, {"n_steps": 8}),
                       (DQN, {"learning_starts": 50, "batch_size": 16, "buffer_size": 500})):
    model = kind("MlpPolicy", "CartPole-v1", seed=0, device="cpu", **keywords)
    model.learn(total_timesteps=256)
    mean, spread = evaluate_policy(model, model.get_env(), n_eval_episodes=2, deterministic=True, warn=False)
    observation = np.zeros((1, 4), dtype=np.float32)
    print(kind.__name__, model.num_timesteps, model.predict(observation, deterministic=True)[0].tolist(), mean > 0)
    model.save(kind.__name__)
    print(kind.load(kind.__name__).predict(observation, deterministic=True)[0].tolist())
