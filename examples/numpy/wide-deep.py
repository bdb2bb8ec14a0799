"""Wide & deep: ../wide-deep/model.ps in NumPy.

The table of embeddings stays in pskit, whose adam touches only the rows of a
batch; ftrl has no such difference, so the wide part is a plain variable.
"""
import numpy as np
import pskit_numpy as ps


def fit(batch):
    x, emb, wide = batch["clicks"], batch["emb"], batch["wide.kernel"]
    hidden, deep = batch["hidden.kernel"], batch["deep.kernel"]
    h = np.maximum(emb @ hidden + batch["hidden.bias"], 0)
    z = (x @ wide + batch["wide.bias"] + h @ deep + batch["deep.bias"])[:, 0]
    if "label" not in batch:
        return ps.sigmoid(z)
    loss, g = ps.binary_crossentropy(z, batch["label"])
    g = g[:, None]
    dh, ddeep, ddeep_bias = ps.dense_gradient(h, g, deep)
    demb, dhidden, dhidden_bias = ps.dense_gradient(emb, dh * (h > 0), hidden)
    return loss, {"log_loss": (loss.sum(), len(z))}, {
        "emb": demb, "wide.kernel": x.gradient(g, wide), "wide.bias": g.sum(),
        "hidden.kernel": dhidden, "hidden.bias": dhidden_bias,
        "deep.kernel": ddeep, "deep.bias": ddeep_bias}


ps.main("""
    input     clicks sparse[300]
    label     label  binary
    emb     = embedding clicks dim=8 combiner=sum
    variable  wide.kernel [300,1] initializer=zeros
    variable  wide.bias [1] initializer=zeros
    variable  hidden.kernel [8,16]
    variable  hidden.bias [16] initializer=zeros
    variable  deep.kernel [16,1]
    variable  deep.bias [1] initializer=zeros
    step      fit clicks emb label predicts=[1]
    metric    log_loss
    optimizer ftrl for=wide.* learning_rate=0.1
    optimizer adam learning_rate=0.01
""", fit)
