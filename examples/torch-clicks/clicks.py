"""A click model whose table is pskit's, and all above it PyTorch's.

The table may be larger than any worker's memory, or hashed: a step is sent no
more than the embeddings of its examples, and answers their gradients.
"""
import torch.nn as nn
import torch.nn.functional as F

import pskit_torch

net = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 1))


def logits(net, batch):
    return net(batch["x0"]).squeeze(1)


def loss(net, batch):
    z, label = logits(net, batch), batch["label"]
    mean = F.binary_cross_entropy_with_logits(z, label)
    n = len(z)
    return mean, {"accuracy": (((z > 0) == (label > 0)).sum(), n),
                  "log_loss": (mean.detach() * n, n)}


pskit_torch.main(net, loss, """
    input     x     sparse[300]
    label     label binary
    x0      = embedding x dim=24 combiner=sum \
              embeddings_initializer=glorot_uniform
    metric    accuracy
    metric    log_loss
    optimizer adam learning_rate=0.005
""", name="fit", sends=["x0", "label"], predicts=[1],
    predict=lambda net, batch: logits(net, batch).sigmoid())
