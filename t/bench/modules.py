"""modules.py CASE [alone STEPS | data FILE | ...] - the models of "modules".

They are step programs of pskit; with "alone" so many steps are PyTorch's own,
and the answer is steps a second.
"""
import os
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

import pskit_torch

torch.set_num_threads(1)
torch.manual_seed(1)
case = sys.argv.pop(1)
image = case == "convnet"

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
}[case]()


def loss(net, batch):
    x = batch["x"]
    z = net(x.view(-1, 1, 28, 28) if image else x)
    return (F.cross_entropy(z, batch["y"]),
            {"accuracy": ((z.argmax(1) == batch["y"]).sum(), len(z))})


def alone(steps):
    """Plain PyTorch: the loss and the metric are looked at in each step."""
    by = torch.optim.Adam(net.parameters())
    x, y = torch.randn(1024, 784), torch.randint(10, (1024,))
    for step in range(-steps // 5, steps):
        if step == 0:
            begun = time.time()
        first = step * 32 % 1024
        by.zero_grad()
        l, metrics = loss(net, {"x": x[first:first + 32],
                                "y": y[first:first + 32]})
        l.backward()
        by.step()
        l.item(), metrics["accuracy"][0].item()
    print(steps / (time.time() - begun))


if sys.argv[1:2] == ["alone"]:
    alone(int(sys.argv[2]))
elif sys.argv[1:2] == ["data"]:
    import numpy as np
    draw = np.random.default_rng(1)
    np.savez(sys.argv[2], y=draw.integers(10, size=1024).astype("f4"),
             x=draw.standard_normal((1024, 784), "f4"))
else:
    pskit_torch.Program.shares = "PIPES" not in os.environ
    pskit_torch.main(net, loss, """
        input     x float[784]
        label     y id rows=10
        metric    accuracy
        optimizer adam
    """, ["x", "y"])
