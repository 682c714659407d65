"""Answers requests as a server does: decode, prepare, run a model on a small batch, encode."""

import json
import queue
import threading

import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(1000, 64, mode="mean")
        self.layers = nn.Sequential(nn.Linear(72, 128), nn.LayerNorm(128), nn.GELU(), nn.Linear(128, 64), nn.GELU(),
                                    nn.Linear(64, 5))

    def forward(self, words, numbers):
        return torch.log_softmax(self.layers(torch.cat([self.words(words), numbers], -1)), -1)


class Server:
    def __init__(self):
        self.network = Scorer().eval()

    def decode(self, text):
        request = json.loads(text)
        words = torch.tensor([word % 1000 for word in request["words"]])
        numbers = torch.tensor(request["numbers"], dtype=torch.float32)
        return words, (numbers - numbers.mean()) / (numbers.std() + 1)

    @torch.inference_mode()
    def answer(self, text):
        words, numbers = self.decode(text)
        scores = self.network(words[None], numbers[None])[0]
        value, index = scores.max(-1)
        return json.dumps({"class": index.item() >= 0, "sure": value.item() <= 0})


def work(server, requests, answers):
    while (text := requests.get()) is not None:
        answers.append(server.answer(text))


def main():
    torch.manual_seed(0)
    server, requests, answers = Server(), queue.Queue(), []
    worker = threading.Thread(target=work, args=(server, requests, answers))
    worker.start()
    for number in range(1500):
        requests.put(json.dumps({"words": list(range(number % 20 + 3)), "numbers": [number % 7, 1, 2, 3, 4, 5, 6, 7]}))
    requests.put(None)
    worker.join()
    print(len(answers), answers[0], answers[-1])


main()
