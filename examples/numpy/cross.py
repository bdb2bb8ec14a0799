"""A deep & cross network: ../cross/model.ps, all above its table in NumPy."""
import numpy as np
import pskit_numpy as ps


def fit(batch):
    x0, logit = batch["x0"], batch["logit.kernel"]
    cross = [(batch["w1"], batch["b1"]), (batch["w2"], batch["b2"])]
    x = [x0]
    for w, b in cross:
        x.append(x0 * (x[-1] @ w)[:, None] + b + x[-1])
    deep = np.maximum(x0 @ batch["deep.kernel"] + batch["deep.bias"], 0)
    both = np.concatenate([x.pop(), deep], 1)
    z = (both @ logit + batch["logit.bias"])[:, 0]
    if "label" not in batch:
        return ps.sigmoid(z)

    loss, g = ps.binary_crossentropy(z, batch["label"])
    dboth, dlogit, dlogit_bias = ps.dense_gradient(both, g[:, None], logit)
    g, ddeep = np.split(dboth, 2, 1)
    dx0, ddeep_kernel, ddeep_bias = ps.dense_gradient(
        x0, ddeep * (deep > 0), batch["deep.kernel"])
    by_cross = []
    for (w, b), x in reversed(list(zip(cross, x))):
        s = (g * x0).sum(1)
        by_cross = [x.T @ s, g.sum(0), *by_cross]
        dx0 += g * (x @ w)[:, None]
        g = g + s[:, None] * w
    return loss, {"log_loss": (loss.sum(), len(z))}, {
        "x0": dx0 + g, **dict(zip(["w1", "b1", "w2", "b2"], by_cross)),
        "deep.kernel": ddeep_kernel, "deep.bias": ddeep_bias,
        "logit.kernel": dlogit, "logit.bias": dlogit_bias}


ps.main("""
    input     x     sparse[300]
    label     label binary
    x0      = embedding x dim=24 combiner=sum \
embeddings_initializer=glorot_uniform
    variable  w1 [24]
    variable  b1 [24] initializer=zeros
    variable  w2 [24]
    variable  b2 [24] initializer=zeros
    variable  deep.kernel [24,24]
    variable  deep.bias [24] initializer=zeros
    variable  logit.kernel [48,1]
    variable  logit.bias [1] initializer=zeros
    step      fit x0 label predicts=[1]
    metric    log_loss
    optimizer adam learning_rate=0.005
""", fit)
