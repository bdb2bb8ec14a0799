"""Points on a circle, by a generative adversarial network; see pskit_torch.py.

The discriminator's step reads points; the generator's reads nothing.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

import pskit_torch

torch.manual_seed(1)  # the same initial values each time
net = nn.ModuleDict({
    "G": nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32),
                       nn.ReLU(), nn.Linear(32, 2)),
    "D": nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2),
                       nn.Linear(64, 64), nn.LeakyReLU(0.2),
                       nn.Linear(64, 1))})


def draw(net, count):
    where = net["G"][0].weight.device
    return net["G"](torch.randn(count, 4, device=where))


def discriminator(net, batch):
    real = net["D"](batch["x"])
    fake = net["D"](draw(net, batch.examples).detach())
    loss = F.softplus(-real).mean() + F.softplus(fake).mean()
    return loss, {"real": ((real > 0).sum(), len(real)),
                  "fake": ((fake < 0).sum(), len(fake))}


def generator(net, batch):
    points = draw(net, batch.examples)
    if batch.args.get("show"):
        batch.result = points.tolist()
    return F.softplus(-net["D"](points)).mean()


pskit_torch.main(net, {"discriminator": discriminator,
                       "generator": generator}, """
    input     x float[2] columns=x1,x2
    step      discriminator x variables=D.* reads=G.*
    step      generator variables=G.* reads=D.*
    metric    real
    metric    fake
    optimizer adam learning_rate=0.001 beta_1=0.5
""")
