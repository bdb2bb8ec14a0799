"""Steps of pskit by NumPy: see ps-step(5).

A file of one's own has a model, and a function that computes its step:

    import numpy as np, pskit_numpy as ps

    def fit(batch):
        x, W = batch["x"], batch["W"]
        z = x @ W
        if "y" not in batch:
            return z                            # what is predicted
        loss, g = ps.binary_crossentropy(z[:, 0], batch["y"])
        return loss, {}, {"W": x.T @ g[:, None]}

    ps.main('''
        input     x float[4]
        label     y binary
        variable  W [4,1]
        step      fit x y predicts=[1]
        optimizer adam
    ''', fit)

and is a program with two uses:

    python3 fit.py model > model.ps             the model file
    ps-work --step="python3 fit.py" ...         the step program
"""
import json
import mmap
import os
import sys

import numpy as np


class BadBatch(Exception):
    """Raised by a step: the batch cannot be computed, for this reason."""


class End(Exception):
    """Raised by a step of a line without inputs: no data are left."""


def main(model, *steps):
    """Do what the command line says.

    steps are functions with the names of the model's step lines.  Each gets
    a Batch, and returns the loss of each example, a dictionary of metrics,
    (sum, weight) each, and one of the gradients, which are sums over the
    examples; without the label, what it predicts.  That of a line without
    inputs has data of its own, and returns None when they have ended.
    """
    if sys.argv[1:] == ["model"]:
        print("\n".join(line.strip() for line in model.strip().splitlines()))
    elif sys.argv[1:]:
        sys.exit("usage: %s [model]" % sys.argv[0])
    else:
        Steps({step.__name__: step for step in steps}).run()


# ---- the step program ----

class Batch(dict):
    """The arrays that a step line is sent, by their names; an input with any
    number of ids is a Bag."""

    def __init__(self, arrays, request):
        super().__init__(arrays)
        for name in [n for n in self if n + "/offset" in self]:
            self[name] = Bag(self[name], self[name + "/offset"],
                             self.get(name + "/weight"))
        self.args = request["args"]
        self.wanted = request.get("batch")  # examples, of a line without inputs
        self.seed, self.step = request.get("seed"), request.get("step")


class Program:
    """Requests and answers, whoever computes: pskit_jax has one, too.

    answer(request, sent) takes arrays by their names, and returns a line and
    the arrays that may be wanted behind it.
    """

    def __init__(self):
        self.maps = []
        # What is printed is no answer.
        self.out = os.fdopen(os.dup(1), "wb", 1 << 16)
        os.dup2(2, 1)

    def run(self):
        while line := sys.stdin.buffer.readline():
            request = json.loads(line)
            self.map(request.get("shm"))
            sent = {a["name"]: self.receive(a) for a in request["sent"]}
            behind = []
            try:
                head, arrays = self.answer(request, sent)
            except BadBatch as why:
                head = {"error": str(why)}
            except End:
                head = {"examples": 0, "end": True}
            else:
                head["shm"] = True
                behind = [self.give(arrays[a["name"]], a)
                          for a in request["wanted"]]
            self.out.write(json.dumps(head).encode() + b"\n" +
                           b"".join(behind))
            self.out.flush()

    # ---- where arrays lie: in shared memory, or behind the line ----

    def map(self, shm):
        if shm and shm["size"] > (len(self.maps[-1]) if self.maps else 0):
            self.maps.append(mmap.mmap(shm["fd"], shm["size"]))

    def shared(self, a, kind):
        return np.frombuffer(self.maps[-1], kind, int(np.prod(a["shape"])),
                             a["offset"]).reshape(a["shape"])

    def receive(self, a):
        kind = np.dtype("<u8" if a.get("type") == "uint64" else "<f4")
        if "offset" in a:
            return self.shared(a, kind)
        size = kind.itemsize * int(np.prod(a["shape"]))
        return np.frombuffer(sys.stdin.buffer.read(size),
                             kind).reshape(a["shape"])

    def give(self, x, a):
        x = np.asarray(x, "<f4").reshape(a["shape"])
        if "offset" not in a:
            return x.tobytes()
        self.shared(a, "<f4")[...] = x
        return b""


def pairs(metrics):
    return {n: [float(sum), float(weight)]
            for n, (sum, weight) in metrics.items()}


class Steps(Program):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def answer(self, request, sent):
        name = request["name"]
        said = self.steps[name](Batch(sent, request))
        if request["op"] == "predict":
            return {}, {name: said}
        if said is None:
            raise End
        loss, metrics, gradients = said
        return {"loss": float(np.mean(loss)), "examples": len(loss),
                "metrics": pairs(metrics)}, gradients


# ---- what steps are made of ----

class Bag:
    """Any number of ids for each example, and their weights: a matrix with a
    row for each example, of which most is 0."""

    def __init__(self, ids, offset, weight):
        self.ids = ids.astype("i8")
        self.row = np.repeat(np.arange(len(offset) - 1),
                             np.diff(offset.astype("i8")))
        self.weight = 1 if weight is None else weight[:, None]
        self.rows = len(offset) - 1

    def __matmul__(self, table):
        out = np.zeros((self.rows, table.shape[1]), table.dtype)
        np.add.at(out, self.row, self.weight * table[self.ids])
        return out

    def gradient(self, g, table):
        """By the table, of what this times the table is used for."""
        out = np.zeros_like(table)
        np.add.at(out, self.ids, self.weight * g[self.row])
        return out


def sigmoid(z):
    return 0.5 * (1 + np.tanh(0.5 * z))


def binary_crossentropy(z, y):
    """The loss of each logit, and its gradient."""
    z = z.astype("f8")      # where p is near y, floats lose p - y
    return np.logaddexp(0, z) - y * z, sigmoid(z) - y


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def sparse_categorical_crossentropy(z, y):
    """The loss of each example's logits, and its gradient."""
    p = softmax(z)
    at = np.arange(len(y)), y.astype("i8")
    loss = -np.log(p[at])
    p[at] -= 1
    return loss, p


def dense_gradient(x, g, kernel):
    """Of x @ kernel + bias: by x, by kernel and by bias."""
    return g @ kernel.T, x.T @ g, g.sum(0)
