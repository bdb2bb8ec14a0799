"""Which digit is it?  Two convolutions, in PyTorch; see pskit_torch.py."""
import torch
import torch.nn as nn
import torch.nn.functional as F

import pskit_torch

torch.manual_seed(1)  # the same initial values each time
net = nn.Sequential(
    nn.Conv2d(1, 8, 5, stride=2), nn.BatchNorm2d(8), nn.ReLU(),
    nn.Conv2d(8, 16, 5, stride=2), nn.ReLU(), nn.Flatten(),
    nn.Linear(256, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))


def scores(net, batch):
    return net(batch["image"].unsqueeze(1) / 255)


def loss(net, batch):
    z = scores(net, batch)
    hits = (z.argmax(1) == batch["digit"]).sum()
    return F.cross_entropy(z, batch["digit"]), {"accuracy": (hits, len(z))}


pskit_torch.main(net, loss, """
    input     image float[28,28]
    label     digit id rows=10
    metric    accuracy
    optimizer adam learning_rate=0.002
""", name="digits", sends=["image", "digit"], predicts=[10], predict=scores)
