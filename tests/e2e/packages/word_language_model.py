"""An LSTM language model with tied weights and truncated back propagation, and text sampled from it."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Corpus:
    def __init__(self, text):
        self.words = sorted(set(text.split()))
        self.index = {w: i for i, w in enumerate(self.words)}
        self.ids = torch.tensor([self.index[w] for w in text.split()])


class RNNModel(nn.Module):
    def __init__(self, kind, ntoken, ninp, nhid, nlayers):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = getattr(nn, kind)(ninp, nhid, nlayers, dropout=0.2)
        self.decoder = nn.Linear(nhid, ntoken)
        self.decoder.weight = self.encoder.weight
        self.kind, self.nhid, self.nlayers, self.ntoken = kind, nhid, nlayers, ntoken
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        if self.kind == "LSTM":
            return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))
        return weight.new_zeros(self.nlayers, bsz, self.nhid)


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


torch.manual_seed(1111)
corpus = Corpus("the cat sat on the mat and the dog ran after the cat while a bird sang on the tree " * 40)
for kind in ("LSTM", "GRU", "RNN"):
    model = RNNModel(kind, len(corpus.words), 24, 24, 2)
    criterion = nn.NLLLoss()
    data = batchify(corpus.ids, 8)
    lr = 5.0
    for epoch in range(2):
        model.train()
        hidden = model.init_hidden(8)
        total = 0.0
        for i in range(0, data.size(0) - 1, 10):
            seq_len = min(10, len(data) - 1 - i)
            inputs, targets = data[i:i + seq_len], data[i + 1:i + 1 + seq_len].view(-1)
            model.zero_grad()
            hidden = repackage_hidden(hidden)
            output, hidden = model(inputs, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            total += loss.item()
        print(f"{kind} epoch {epoch} ppl {math.exp(total / (data.size(0) // 10 + 1)):.3f}")
    model.eval()
    hidden = model.init_hidden(1)
    input = torch.zeros(1, 1, dtype=torch.long)
    out = []
    with torch.no_grad():
        for _ in range(25):
            output, hidden = model(input, hidden)
            weights = output.squeeze().div(0.8).exp()
            index = torch.multinomial(weights, 1)[0]
            input.fill_(index)
            out.append(corpus.words[index])
    print(" ".join(out))
