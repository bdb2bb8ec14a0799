"""modules.py CASE ... - the models of "modules" and "accuracy".

As step programs of pskit they need only CASE.  These train plain PyTorch:

    modules.py CASE alone STEPS FILE        steps a second
    modules.py CASE learn STEPS TRAIN TEST  accuracy on the second file

"alone" trains "clicks" on FILE, other cases on random data.  The table
of "clicks" is in pskit, or in plain PyTorch a sparse embedding with SparseAdam.
These write random data and the digits of MNIST:

    modules.py CASE data FILE
    modules.py CASE digits PREFIX TRAIN TEST
"""
import gzip
import os
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import pskit_torch

torch.set_num_threads(1)
torch.manual_seed(int(os.environ.get("SEED", 1)))
case = sys.argv.pop(1)
image, clicks = case == "convnet", case == "clicks"
IDS, DIM, FLOATS, ROWS = 26, 16, 13, 1 << 20

net = {
    "mlp-400k": lambda: nn.Sequential(
        nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)),
    "mlp-16M": lambda: nn.Sequential(
        nn.Linear(784, 2048), nn.ReLU(), nn.Linear(2048, 1200), nn.ReLU(),
        nn.Linear(1200, 10)),
    "convnet": lambda: nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(1600, 256), nn.ReLU(), nn.Linear(256, 10)),
    "clicks": lambda: nn.Sequential(
        nn.Linear(IDS * DIM + FLOATS, 256), nn.ReLU(), nn.Linear(256, 128),
        nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)),
}[case]()


def loss(net, batch):
    if clicks:
        y = batch["y"]
        z = net(torch.cat([batch["emb"].flatten(1), batch["i"]], 1)).squeeze(1)
        return (F.binary_cross_entropy_with_logits(z, y),
                {"accuracy": (((z > 0) == (y > 0)).sum(), len(z))})
    x = batch["x"]
    z = net(x.view(-1, 1, 28, 28) if image else x)
    return (F.cross_entropy(z, batch["y"]),
            {"accuracy": ((z.argmax(1) == batch["y"]).sum(), len(z))})


# ---- plain PyTorch ----

def read(path):
    """An array each of labels, floats and, for clicks, ids."""
    if path.endswith(".csv"):
        rows = torch.from_numpy(np.loadtxt(path, "f4", delimiter=",",
                                           skiprows=1))
        return (rows[:, 0], rows[:, 1:1 + FLOATS],
                rows[:, 1 + FLOATS:].long())
    with np.load(path) as arrays:
        return (torch.from_numpy(arrays["y"]).long(),
                torch.from_numpy(arrays["x"]))


class Plain:
    def __init__(self):
        self.by = [torch.optim.Adam(net.parameters())]
        if clicks:
            self.table = nn.Embedding(ROWS, DIM, sparse=True)
            nn.init.uniform_(self.table.weight, -0.05, 0.05)
            self.by.append(torch.optim.SparseAdam(self.table.parameters()))

    def loss(self, data, part):
        y, x, *ids = (array[part] for array in data)
        return loss(net, {"y": y, "i": x, "emb": self.table(*ids)} if clicks
                    else {"y": y, "x": x})

    def step(self, data, part):
        """Train a step; return its loss and metric, as pskit does."""
        for by in self.by:
            by.zero_grad()
        mean, metrics = self.loss(data, part)
        mean.backward()
        for by in self.by:
            by.step()
        return mean.item(), metrics["accuracy"][0].item()


BATCH = 512 if clicks else 32


def alone(steps, path):
    data = read(path) if clicks else (torch.randint(10, (1024,)),
                                      torch.randn(1024, 784))
    plain = Plain()
    for step in range(-steps // 5, steps):
        if step == 0:
            begun = time.time()
        at = (step + steps) * BATCH % (len(data[0]) - BATCH + 1)
        plain.step(data, slice(at, at + BATCH))
    print(steps / (time.time() - begun))


def learn(steps, train, test):
    data, plain, order = read(train), Plain(), []
    for _ in range(steps):
        if len(order) < BATCH:
            order = torch.randperm(len(data[0]))
        plain.step(data, order[:BATCH])
        order = order[BATCH:]
    data = read(test)
    with torch.no_grad():
        hits, n = plain.loss(data, slice(None))[1]["accuracy"]
    print(hits.item() / n)


def digits(prefix, train, test):
    """Shuffle the digits, which are in order, and hold out a fifth of them."""
    def array(kind, first):
        with gzip.open("%s-%s-ubyte.gz" % (prefix, kind)) as file:
            return np.frombuffer(file.read()[first:], "u1").astype("f4")

    x = array("images-idx3", 16).reshape(-1, 784) / 255
    y = array("labels-idx1", 8)
    order = np.random.default_rng(1).permutation(len(y))
    x, y, cut = x[order], y[order], len(y) * 4 // 5
    np.savez(train, x=x[:cut], y=y[:cut])
    np.savez(test, x=x[cut:], y=y[cut:])


what, *rest = sys.argv[1:] or [""]
if what == "alone":
    alone(int(rest[0]), rest[1])
elif what == "learn":
    learn(int(rest[0]), *rest[1:])
elif what == "digits":
    digits(*rest)
elif what == "data":
    draw = np.random.default_rng(1)
    np.savez(rest[0], y=draw.integers(10, size=1024).astype("f4"),
             x=draw.standard_normal((1024, 784), "f4"))
else:
    pskit_torch.Program.shares = "PIPES" not in os.environ
    pskit_torch.main(net, loss, """
        input     i float[%d] columns=i*
        input     c id[%d] rows=%d columns=c*
        label     y binary
        emb     = embedding c dim=%d
        metric    accuracy
        optimizer adam
    """ % (FLOATS, IDS, ROWS, DIM), ["emb", "i", "y"]) if clicks else \
        pskit_torch.main(net, loss, """
        input     x float[784]
        label     y id rows=10
        metric    accuracy
        optimizer adam
    """, ["x", "y"])
