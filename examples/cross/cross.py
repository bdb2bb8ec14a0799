"""Cross layers for an external layer of pskit, by NumPy; see ps-external(5).

Each turns x into x0 (x w) + b + x, where x0 is what the first one is given:
so n of them multiply up to n + 1 features with each other.
"""
import json
import sys

import numpy as np


def read(shape):
    """The next array of standard input."""
    size = 4 * int(np.prod(shape))
    return np.frombuffer(sys.stdin.buffer.read(size), "<f4").reshape(shape)


def forward(sent):
    """What comes out, and what backward() needs to know."""
    x0, *weights = sent.values()
    inputs = [x0]
    for w, b in zip(weights[::2], weights[1::2]):
        x = inputs[-1]
        inputs.append(x0 * (x @ w)[:, None] + b + x)
    return inputs.pop(), (sent, inputs)


def backward(g, known):
    """The gradients by all that was sent, by name."""
    sent, inputs = known
    x0, *weights = sent.values()
    gradient = [g.sum(0) for _ in weights]
    of_x0 = np.zeros_like(x0)
    for i in reversed(range(len(inputs))):
        x, w = inputs[i], weights[2 * i]
        s = (g * x0).sum(1)
        gradient[2 * i], gradient[2 * i + 1] = x.T @ s, g.sum(0)
        of_x0 += g * (x @ w)[:, None]
        g = g + s[:, None] * w
    return dict(zip(sent, [of_x0 + g, *gradient]))


known = None
while line := sys.stdin.buffer.readline():
    request = json.loads(line)
    sent = {a["name"]: read(a["shape"]) for a in request["sent"]}
    if request["op"] == "forward":
        out, known = forward(sent)
        answer = {request["layer"]: out}
    else:
        answer = backward(sent[request["layer"]], known)
    sys.stdout.buffer.write(b"{}\n")
    for a in request["wanted"]:
        sys.stdout.buffer.write(answer[a["name"]].astype("<f4").tobytes())
    sys.stdout.buffer.flush()
