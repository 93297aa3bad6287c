"""reader.py - BiDAF in PyTorch as src/models/bidaf.c has it: a peer for the speed of a
step of training (`clattn bench --suite reader --filter bidaf`); pytorch.py runs it."""
import torch
from torch import nn
from torch.nn.utils import rnn

WORDS = 8000  # of the vocabulary


class Pointer(nn.Module):
    """Two distributions over the passage, a step of a cell between them."""

    def __init__(self, h):
        super().__init__()
        self.passage = nn.Linear(2 * h, h)
        self.state = nn.Linear(h, h, bias=False)
        self.score = nn.Linear(h, 1, bias=False)
        self.cell = nn.LSTMCell(2 * h, h)

    def forward(self, states, begin):
        keys, h, where = self.passage(states), begin, []
        for k in range(2):
            score = self.score(torch.tanh(keys + self.state(h)[:, None]))
            where.append(score.softmax(dim=1))
            if k == 0:
                h, _ = self.cell((where[0] * states).sum(dim=1), (begin, begin))
        return [w.squeeze(2) for w in where]


class Bidaf(nn.Module):
    def __init__(self, width, h, depth, packed):
        super().__init__()
        self.packed = packed
        self.words = nn.Embedding(WORDS, width)
        self.question, self.passage, self.fuse = (
            nn.LSTM(n, h, bidirectional=True, batch_first=True)
            for n in (width, width, 8 * h))
        self.levels = nn.Parameter(torch.zeros(depth))
        self.pool_question = nn.Linear(2 * h, h, bias=False)
        self.pool_own = nn.Linear(h, h)
        self.pool_vector = nn.Parameter(torch.randn(1, h))
        self.pool_score = nn.Linear(h, 1, bias=False)
        self.begin = nn.Linear(2 * h, h)
        self.pointers = nn.ModuleList([Pointer(h), Pointer(h)])

    def walk(self, layer, x):
        """Packed is what sentences of different lengths need; dense goes to oneDNN."""
        if not self.packed:
            return layer(x)[0]
        lengths = torch.full((x.shape[0],), x.shape[1])
        rows = rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return rnn.pad_packed_sequence(layer(rows)[0], batch_first=True)[0]

    def match(self, h, u):
        found, query = 0, h
        for share in self.levels.softmax(dim=0):
            query = (query @ u.transpose(1, 2)).softmax(dim=2) @ u
            found = found + share * query
        best = (h @ u.transpose(1, 2)).max(dim=2, keepdim=True).values
        about = (best.softmax(dim=1) * h).sum(dim=1, keepdim=True)
        return torch.cat([h, found, h * found, h * about], dim=2)

    def forward(self, question, passage):
        """Probabilities [B,P] of each word as the first of the answer, and as the last."""
        u = self.walk(self.question, self.words(question))
        h = self.walk(self.passage, self.words(passage))
        states = self.walk(self.fuse, self.match(h, u))
        key = self.pool_question(u) + self.pool_own(self.pool_vector)
        pool = self.pool_score(torch.tanh(key)).softmax(dim=1)
        begin = self.begin((pool * u).sum(dim=1))
        (a, b), (c, d) = (p(states, begin) for p in self.pointers)
        return (a + d) / 2, (b + c) / 2


def bidaf(s, flags, grad):
    """Ways of a whole step: loss, gradients, their norm clipped, Adam."""
    B, P, Q = s["B"], s["P"], s["Q"]
    passage = torch.arange(B * P).reshape(B, P) * 7919 % WORDS
    question = torch.arange(B * Q).reshape(B, Q) * 104729 % WORDS
    first = torch.arange(B) * 3 % P
    last, row = first + 1, torch.arange(B)

    def make(packed):
        model = Bidaf(s["in"], s["n"], s["depth"], packed)
        optim = torch.optim.Adam(model.parameters(), lr=1e-4)

        def step():
            optim.zero_grad(set_to_none=True)
            p, q = model(question, passage)
            loss = -((p[row, first] + 1e-9).log() + (q[row, last] + 1e-9).log()).mean()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5)
            optim.step()
            return loss.item()

        return step

    yield "packed", [], lambda: make(True)
    yield "dense", [], lambda: make(False)
