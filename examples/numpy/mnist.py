"""Which digit is it: ../mnist/model.ps in NumPy."""
import numpy as np
import pskit_numpy as ps


def fit(batch):
    kernel, last = batch["hidden.kernel"], batch["digits.kernel"]
    x = batch["image"].reshape(-1, 784) * np.float32(1 / 255)
    h = np.maximum(x @ kernel + batch["hidden.bias"], 0)
    z = h @ last + batch["digits.bias"]
    if "digit" not in batch:
        return ps.softmax(z)
    y = batch["digit"]
    loss, g = ps.sparse_categorical_crossentropy(z, y)
    hits = z.argmax(1) == y
    dh, dlast, dlast_bias = ps.dense_gradient(h, g, last)
    _, dkernel, dbias = ps.dense_gradient(x, dh * (h > 0), kernel)
    return loss, {"accuracy": (hits.sum(), len(z))}, {
        "hidden.kernel": dkernel, "hidden.bias": dbias,
        "digits.kernel": dlast, "digits.bias": dlast_bias}


ps.main("""
    input     image float[28,28]
    label     digit id rows=10
    variable  hidden.kernel [784,128]
    variable  hidden.bias [128] initializer=zeros
    variable  digits.kernel [128,10]
    variable  digits.bias [10] initializer=zeros
    step      fit image digit predicts=[10]
    metric    accuracy
    optimizer adam learning_rate=0.001
""", fit)
