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
NumPy, and without a word it is the step program.  It needs pskit_numpy.py,
which talks to the worker.
"""
import math
import os
import pickle
import sys

# Else the first program of several on one GPU takes most of its memory.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
import pskit_numpy
from pskit_numpy import BadBatch, End


def main(params, loss, lines, sends=None, name="step", predict=None,
         predicts=None, settings="", data=None):
    """Do what the command line says.

    params is a tree of arrays, which are variables by their paths.
    loss(params, batch, key) returns the mean over the examples, or that and a
    dictionary of metrics, (sum, weight) each; it is compiled, for each shape
    that batches have.  predict(params, batch) returns examples x predicts.

    Several step lines are written in lines, without sends; loss is then a
    dictionary of functions by their names.

    data(request) is for step lines without inputs.  It returns the batch, a
    dictionary of arrays whose first axis is the examples, of which
    request["batch"] are wanted, and raises End when none are left.  It is not
    compiled, and so may read files.
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
        Program(params, loss, predict, data).run()
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
    if sends is None:
        return "\n".join(out) + "\n"
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

def compile(loss):
    """What trains by a loss, and what evaluates."""
    def both(params, batch, key):
        said = loss(params, batch, key)
        return said if isinstance(said, tuple) else (said, {})

    def train(params, layers, batch, key, examples):
        def total(params, layers):
            mean, metrics = both(params, {**batch, **layers}, key)
            return mean * examples, (mean, metrics)

        return jax.grad(total, argnums=(0, 1), has_aux=True)(params, layers)

    return jax.jit(train), jax.jit(both)


class Program(pskit_numpy.Program):
    def __init__(self, params, loss, predict, data):
        super().__init__()
        self.params, self.data = params, data
        self.tree = jax.tree_util.tree_structure(params)
        self.leaves = dict(variables(params))
        self.steps = {n: compile(f) for n, f in loss.items()} \
            if isinstance(loss, dict) else None
        self.step = None if self.steps else compile(loss)
        self.predict = jax.jit(predict) if predict else None

    def receive(self, a):
        """A copy: what it is in is written to when the next request comes.

        JAX has ids of 32 bits, unless it is told otherwise.
        """
        x = super().receive(a).copy()
        return x.view("<i8") if x.dtype == np.uint64 else x

    # ---- an answer ----

    def answer(self, request, sent):
        """A line may take a part of the variables: others are as they were at
        first, and no gradient of theirs is wanted."""
        params = jax.tree_util.tree_unflatten(
            self.tree, [jnp.asarray(sent.pop(n, x)).reshape(np.shape(x))
                        for n, x in self.leaves.items()])
        if request["op"] == "predict":
            return {}, {request["name"]: self.predict(params, sent)}
        train, evaluate = self.steps[request["name"]] if self.steps else \
            self.step
        key = jax.random.key(request.get("seed", 0) & 0xffffffff)
        if request["op"] == "evaluate":
            return self.head(*evaluate(params, sent, key)), {}
        wanted = {a["name"] for a in request["wanted"]}
        layers = {n: x for n, x in sent.items() if n in wanted}
        batch = {n: x for n, x in sent.items() if n not in wanted}
        if "batch" in request:
            batch = self.data(request)
            examples = len(next(iter(batch.values())))
        else:
            examples = request["sent"][0]["shape"][0]
        # A gradient is a sum over examples, the loss is their mean.
        (gradients, by_layers), said = train(params, layers, batch, key,
                                             examples)
        return {**self.head(*said), "examples": examples}, \
            {**dict(variables(gradients)), **by_layers}

    @staticmethod
    def head(loss, metrics):
        loss = float(loss)
        return {"loss": loss if math.isfinite(loss) else None,
                "metrics": pskit_numpy.pairs(metrics)}
