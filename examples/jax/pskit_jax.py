"""Any function of JAX as a step program of pskit: see ps-step(5).

    import jax.numpy as jnp, pskit_jax

    params = {"kernel": jnp.zeros((784, 10)), "bias": jnp.zeros(10)}

    def scores(params, batch):
        x = batch["image"].reshape(-1, 784)
        return x @ params["kernel"] + params["bias"]

    def loss(params, batch, key):
        ...
        return mean, {"accuracy": (hits, len(z))}

    pskit_jax.main(params, loss, "...", sends=["image", "digit"],
                   predicts=[10], predict=scores)

The file has the uses of one with pskit_torch.py: "model", "initial FILE.npz",
"state FILE.npz FILE.pkl", which pickles the tree of parameters as arrays of
NumPy, and without a word it is the step program.
"""
import json
import math
import mmap
import os
import pickle
import sys

# Else the first program of several on one GPU takes most of its memory.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np


class BadBatch(Exception):
    """Raised by a loss: the batch cannot be computed, for this reason."""


def main(params, loss, lines, sends, name="step", predict=None, predicts=None,
         settings=""):
    """Do what the command line says.

    params is a tree of arrays, which are variables by their paths.
    loss(params, batch, key) returns the mean over the examples, or that and a
    dictionary of metrics, (sum, weight) each; it is compiled, for each shape
    that batches have.  predict(params, batch) returns examples x predicts.
    """
    word = sys.argv[1:]
    if word == ["model"]:
        print(model(params, lines, sends, name, predicts, settings), end="")
    elif len(word) == 2 and word[0] == "initial":
        np.savez(word[1], **{n: array_of(x) for n, x in variables(params)})
    elif len(word) == 3 and word[0] == "state":
        with open(word[2], "wb") as file:
            pickle.dump(load(params, word[1]), file)
    elif not word:
        Program(params, loss, predict).run()
    else:
        sys.exit("usage: %s [model | initial FILE.npz | "
                 "state FILE.npz FILE.pkl]" % sys.argv[0])


# ---- variables ----

def name_of(path):
    return ".".join(str(getattr(key, "key", getattr(key, "idx", getattr(
        key, "name", key)))) for key in path)


def variables(params):
    """Name and array of each leaf of the tree."""
    return [(name_of(path), x)
            for path, x in jax.tree_util.tree_leaves_with_path(params)]


def array_of(x):
    """A variable has one axis at least."""
    x = np.asarray(x, "<f4")
    return x.reshape(x.shape or (1,))


def model(params, lines, sends, name, predicts, settings):
    """The text of the model file."""
    out = [line.strip() for line in lines.strip().splitlines()]
    for n, x in variables(params):
        a = array_of(x)
        same = [word for word, value in (("zeros", 0), ("ones", 1))
                if (a == value).all()]
        out.append("variable  %s [%s]%s" % (
            n, ",".join(map(str, a.shape)),
            " initializer=" + same[0] if same else ""))
    step = ["step     ", name, *sends]
    if predicts:
        step.append("predicts=[%s]" % ",".join(map(str, predicts)))
    return "\n".join(out + [" ".join(step + settings.split())]) + "\n"


def load(params, path):
    """The tree, with values of ps-ckpt convert, as arrays of NumPy."""
    with np.load(path) as values:
        return jax.tree_util.tree_map_with_path(
            lambda at, x: values[name_of(at)].reshape(np.shape(x)), params)


# ---- the step program ----

class Program:
    def __init__(self, params, loss, predict):
        self.params = params
        self.tree = jax.tree_util.tree_structure(params)
        self.names = [n for n, _ in variables(params)]
        self.shape = {n: np.shape(x) for n, x in variables(params)}
        self.maps = []

        def both(params, batch, key):
            said = loss(params, batch, key)
            return said if isinstance(said, tuple) else (said, {})

        def train(params, layers, batch, key, examples):
            def total(params, layers):
                mean, metrics = both(params, {**batch, **layers}, key)
                return mean * examples, (mean, metrics)

            return jax.grad(total, argnums=(0, 1), has_aux=True)(params,
                                                                 layers)

        self.train = jax.jit(train)
        self.evaluate = jax.jit(both)
        self.predict = jax.jit(predict) if predict else None
        # What is printed is no answer.
        self.out = os.fdopen(os.dup(1), "wb", 1 << 16)
        os.dup2(2, 1)

    def run(self):
        while line := sys.stdin.buffer.readline():
            request = json.loads(line)
            self.map(request.get("shm"))
            sent = {a["name"]: self.receive(a) for a in request["sent"]}
            try:
                head, arrays = self.answer(request, sent)
            except BadBatch as why:
                head, wanted = {"error": str(why)}, []
            else:
                head["shm"] = True
                wanted = request["wanted"]
            behind = [self.give(arrays[a["name"]], a) for a in wanted]
            self.out.write(json.dumps(head).encode() + b"\n" +
                           b"".join(behind))
            self.out.flush()

    # ---- where arrays lie ----

    def map(self, shm):
        if shm and shm["size"] > (len(self.maps[-1]) if self.maps else 0):
            self.maps.append(mmap.mmap(shm["fd"], shm["size"]))

    def shared(self, a, kind):
        return np.frombuffer(self.maps[-1], kind, math.prod(a["shape"]),
                             a["offset"]).reshape(a["shape"])

    def receive(self, a):
        """A copy: what it is in is written to when the next request comes."""
        kind = "<i8" if a.get("type") == "uint64" else "<f4"
        if "offset" in a:
            return self.shared(a, kind).copy()
        size = np.dtype(kind).itemsize * math.prod(a["shape"])
        return np.frombuffer(sys.stdin.buffer.read(size),
                             kind).reshape(a["shape"])

    def give(self, x, a):
        x = np.asarray(x, "<f4").reshape(a["shape"])
        if "offset" not in a:
            return x.tobytes()
        self.shared(a, "<f4")[...] = x
        return b""

    # ---- an answer ----

    def answer(self, request, sent):
        params = jax.tree_util.tree_unflatten(
            self.tree, [jnp.asarray(sent.pop(n)).reshape(self.shape[n])
                        for n in self.names])
        if request["op"] == "predict":
            return {}, {request["name"]: self.predict(params, sent)}
        # JAX has ids of 32 bits, unless it is told otherwise.
        key = jax.random.key(request.get("seed", 0) & 0xffffffff)
        if request["op"] == "evaluate":
            return self.head(*self.evaluate(params, sent, key)), {}
        wanted = {a["name"] for a in request["wanted"]}
        layers = {n: x for n, x in sent.items() if n in wanted}
        batch = {n: x for n, x in sent.items() if n not in wanted}
        # A gradient is a sum over examples, the loss is their mean.
        examples = request["sent"][0]["shape"][0]
        (gradients, by_layers), said = self.train(params, layers, batch, key,
                                                  examples)
        return self.head(*said), {**dict(variables(gradients)), **by_layers}

    @staticmethod
    def head(loss, metrics):
        loss = float(loss)
        return {"loss": loss if math.isfinite(loss) else None,
                "metrics": {n: [float(sum), float(weight)]
                            for n, (sum, weight) in metrics.items()}}
