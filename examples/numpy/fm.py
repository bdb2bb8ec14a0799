"""A factorization machine: ../fm/model.ps, all above its tables in NumPy.

It reads the four ids of an example as a column of CSV, "0|100|200|224", and is
sent a vector for each of them.
"""
import pskit_numpy as ps


def fit(batch):
    linear, v = batch["linear"], batch["pairs"]
    both = v.sum(1)
    pairs = (both ** 2 - (v ** 2).sum(1)).sum(1) / 2
    z = linear[:, 0] + pairs
    if "label" not in batch:
        return ps.sigmoid(z)
    loss, g = ps.binary_crossentropy(z, batch["label"])
    return loss, {"log_loss": (loss.sum(), len(z))}, {
        "linear": g, "pairs": g[:, None, None] * (both[:, None] - v)}


ps.main("""
    input     clicks id[4] sep=| rows=300
    label     label  binary
    linear  = linear clicks
    pairs   = embedding clicks dim=8
    step      fit linear pairs label predicts=[1]
    metric    log_loss
    optimizer adam learning_rate=0.005
""", fit)
