"""Whole steps of a model of pskit, by NumPy; see ps-step(5).

A hidden layer over what a table of pskit has for each example, and a logistic
loss.  The table is trained by the gradient that goes back to it.
"""
import json
import sys

import numpy as np


def read(array):
    """The next array of standard input."""
    size = 4 * int(np.prod(array["shape"]))
    return np.frombuffer(sys.stdin.buffer.read(size),
                         "<f4").reshape(array["shape"])


def fit(x0, W, b, v, c, label=None):
    """The head of an answer, and all arrays that can be wanted."""
    h = np.maximum(x0 @ W + b, 0)
    z = h @ v + c
    p = 1 / (1 + np.exp(-z))
    if label is None:
        return {}, {"fit": p}
    loss = np.logaddexp(0, z) - label * z
    hits = (z > 0) == (label > 0)
    g = p - label
    dh = np.outer(g, v) * (h > 0)
    return ({"loss": float(loss.mean()),
             "metrics": {"accuracy": [int(hits.sum()), len(z)],
                         "log_loss": [float(loss.sum()), len(z)]}},
            {"x0": dh @ W.T, "W": x0.T @ dh, "b": dh.sum(0),
             "v": g @ h, "c": g.sum()})


while line := sys.stdin.buffer.readline():
    request = json.loads(line)
    head, answer = fit(**{a["name"]: read(a) for a in request["sent"]})
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n")
    for a in request["wanted"]:
        sys.stdout.buffer.write(answer[a["name"]].astype("<f4").tobytes())
    sys.stdout.buffer.flush()
