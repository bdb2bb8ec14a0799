"""Is there an avenger among three heroes: ../avengers/model.ps in NumPy.

The table stays in pskit, whose optimizers touch only the rows of a batch.
"""
import numpy as np
import pskit_numpy as ps


def fit(batch):
    emb, kernel = batch["emb"], batch["prob.kernel"]
    mean = emb.mean(1)
    z = (mean @ kernel + batch["prob.bias"])[:, 0]
    if "label" not in batch:
        return ps.sigmoid(z)
    y = batch["label"].astype("f4")
    loss, g = ps.binary_crossentropy(z, y)
    hits = (z > 0) == (y > 0)
    dmean, dkernel, dbias = ps.dense_gradient(mean, g[:, None], kernel)
    return loss, {"accuracy": (hits.sum(), len(z))}, {
        "emb": np.broadcast_to(dmean[:, None] / emb.shape[1], emb.shape),
        "prob.kernel": dkernel, "prob.bias": dbias}


ps.main("""
    input     feature string[3] sep=| \
vocab=avenger,ironman,batman,hulk,spiderman,kingkong,wonder_woman
    label     label   string    vocab=no,yes
    emb     = embedding feature dim=20
    variable  prob.kernel [20,1]
    variable  prob.bias [1] initializer=zeros
    step      fit emb label predicts=[1]
    metric    accuracy
    optimizer rmsprop learning_rate=0.1
""", fit)
