"""Which digit is it?  A program that reads its images itself, in NumPy.

IMAGES and LABELS are IDX files, compressed or not; PART=I/N is which part of
them is its own, PASSES how often it reads them.
"""
import gzip
import os

import numpy as np
import pskit_numpy as ps


def read(path, head):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return np.frombuffer(data, "u1", offset=head)


def own():
    """Examples, a few at a time, as many as are asked for."""
    part, parts = map(int, os.environ["PART"].split("/"))
    images = read(os.environ["IMAGES"], 16).reshape(-1, 784)[part::parts]
    labels = read(os.environ["LABELS"], 8)[part::parts]
    draw = np.random.default_rng(part)
    order = np.concatenate([draw.permutation(len(labels))
                            for _ in range(int(os.environ["PASSES"]))])
    count = yield
    while len(order):
        some, order = order[:count], order[count:]
        count = yield images[some], labels[some]


data = None


def fit(batch):
    global data
    if data is None:    # the first step, and not one that scores
        data = own()
        next(data)
    try:
        image, digit = data.send(batch.wanted)
    except StopIteration:
        return None
    x = image * np.float32(1 / 255)
    loss, metrics, g, h = network(batch, x, digit)
    _, kernel, bias = ps.dense_gradient(h, g, batch["digits.kernel"])
    dh = g @ batch["digits.kernel"].T * (h > 0)
    return loss, metrics, {"digits.kernel": kernel, "digits.bias": bias,
                           "hidden.kernel": x.T @ dh,
                           "hidden.bias": dh.sum(0)}


def score(batch):
    """Of files that pskit reads."""
    x = batch["image"].reshape(-1, 784) * np.float32(1 / 255)
    if "digit" not in batch:
        return ps.softmax(logits(batch, x)[0])
    return *network(batch, x, batch["digit"])[:2], {}


def logits(batch, x):
    h = np.maximum(x @ batch["hidden.kernel"] + batch["hidden.bias"], 0)
    return h @ batch["digits.kernel"] + batch["digits.bias"], h


def network(batch, x, digit):
    z, h = logits(batch, x)
    loss, g = ps.sparse_categorical_crossentropy(z, digit)
    hits = (z.argmax(1) == digit).sum()
    return loss, {"accuracy": (hits, len(z))}, g, h


ps.main("""
    input     image float[28,28]
    label     digit id rows=10
    variable  hidden.kernel [784,128]
    variable  hidden.bias [128] initializer=zeros
    variable  digits.kernel [128,10]
    variable  digits.bias [10] initializer=zeros
    step      fit
    step      score image digit reads=* predicts=[10]
    metric    accuracy
    optimizer adam learning_rate=0.001
""", fit, score)
