"""Logistic regression on sparse features: ../a9a/model.ps in NumPy."""
import pskit_numpy as ps


def fit(batch):
    x, kernel = batch["person"], batch["prob.kernel"]
    z = (x @ kernel + batch["prob.bias"])[:, 0]
    if "rich" not in batch:
        return ps.sigmoid(z)
    loss, g = ps.binary_crossentropy(z, batch["rich"])
    return loss, {"log_loss": (loss.sum(), len(z))}, {
        "prob.kernel": x.gradient(g[:, None], kernel), "prob.bias": g.sum()}


ps.main("""
    input     person sparse[123]
    label     rich   binary
    variable  prob.kernel [123,1] initializer=zeros
    variable  prob.bias [1] initializer=zeros
    step      fit person rich predicts=[1]
    metric    log_loss
    optimizer adagrad learning_rate=1 schedule=polynomial_decay \
decay_steps=3000 end_learning_rate=0.02
""", fit)
