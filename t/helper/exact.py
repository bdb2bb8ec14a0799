#!/usr/bin/python3
"""exact.py - the weights that training must reach, computed by NumPy.

    exact.py make MODEL [OPTION=VALUE]... OPTIMIZER...
    exact.py local MODEL ALGORITHM REPLICAS STEPS INNER OUTER [REGULARIZER]
    exact.py compare FILE FILE [TOLERANCE]

make writes model.ps, data.csv, initial.npz and expected.npz: the weights
after 100 steps of 8 examples, by NumPy in double precision, with each
model's gradient written out by hand and the optimizers from Keras's
published formulas.  An OPTIMIZER is a line of a model file without its first
word.  A table's rows change only when a batch has their ids.

local writes the same files for local steps, and slot0.csv and so on, the
records that each replica reads.  In each of 100 rounds every replica trains a
copy with STEPS batches of 2 by the line INNER, whose schedule counts rounds.
The copies are combined by the published algorithm, with the parameters of the
line OUTER: "average" (Stich 2019), "slowmo" (Wang et al. 2020) or "diloco"
(Douillard et al. 2023).
With slots=keep in INNER, and one replica, its slots stay from round to round.

compare ends with 1 if a weight differs by more than TOLERANCE (1e-5) of the
largest of its variable.
"""
import fnmatch
import math
import sys

import numpy as np

STEPS, BATCH, RECORDS = 100, 8, 37
WORDS = "ape bee cat dog elk fox gnu hen ibis jay kiwi".split()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rows_of(ids, grads, like):
    """The gradient of a table: zero but for the rows of ids."""
    g = np.zeros_like(like)
    np.add.at(g, ids.ravel(), grads.reshape(ids.size, -1))
    return g


class Mlp:
    """Numbers through two dense layers to one of three classes."""
    model = """
input  x float[5] columns=x*
label  y id rows=3
hidden = dense x units=6 activation=tanh {regular}
prob   = dense hidden units=3 activation=softmax
loss   sparse_categorical_crossentropy prob
"""
    shapes = {"hidden/kernel": (5, 6), "hidden/bias": (6,),
              "prob/kernel": (6, 3), "prob/bias": (3,)}
    tables = ()
    regularized = "hidden/kernel"

    def __init__(self, random):
        self.x = random.normal(size=(RECORDS, 5)).round(3)
        self.y = random.integers(0, 3, size=RECORDS)

    def csv(self):
        yield ["x%d" % i for i in range(5)] + ["y"]
        for x, y in zip(self.x, self.y):
            yield [repr(float(v)) for v in x] + [str(y)]

    def gradient(self, w, at):
        x, y, n = self.x[at], self.y[at], len(at)
        h = np.tanh(x @ w["hidden/kernel"] + w["hidden/bias"])
        z = h @ w["prob/kernel"] + w["prob/bias"]
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(n), y] -= 1
        p /= n
        dh = (p @ w["prob/kernel"].T) * (1 - h * h)
        return {"hidden/kernel": x.T @ dh, "hidden/bias": dh.sum(axis=0),
                "prob/kernel": h.T @ p, "prob/bias": p.sum(axis=0)}, ()


class Words:
    """The common part of models over three words."""

    def __init__(self, random):
        self.ids = random.integers(0, len(WORDS), size=(RECORDS, 3))
        self.y = random.integers(0, 2, size=RECORDS)

    def csv(self):
        yield ["word", "y"]
        for ids, y in zip(self.ids, self.y):
            yield ["|".join(WORDS[i] for i in ids), "no yes".split()[y]]


INPUT = """
input  word string[3] sep=| vocab=%s
label  y string vocab=no,yes
""" % ",".join(WORDS)


class Tutorial(Words):
    """The mean of three embeddings, through a sigmoid."""
    model = INPUT + """
emb    = embedding word dim=4
mean   = reduce_mean emb
prob   = dense mean units=1 activation=sigmoid {regular}
loss   binary_crossentropy prob
"""
    shapes = {"emb/embeddings": (len(WORDS), 4), "prob/kernel": (4, 1),
              "prob/bias": (1,)}
    tables = ("emb/embeddings",)
    regularized = "prob/kernel"

    def gradient(self, w, at):
        ids, y, n = self.ids[at], self.y[at], len(at)
        mean = w["emb/embeddings"][ids].mean(axis=1)
        p = sigmoid(mean @ w["prob/kernel"] + w["prob/bias"])
        dz = (p - y[:, None]) / n
        dmean = np.repeat(dz @ w["prob/kernel"].T / 3, 3, axis=0)
        return {"emb/embeddings": rows_of(ids, dmean, w["emb/embeddings"]),
                "prob/kernel": mean.T @ dz, "prob/bias": dz.sum(axis=0)}, ids


class Wide(Words):
    """A linear model beside a network over embeddings."""
    model = INPUT + """
wide   = linear word
emb    = embedding word dim=4 combiner=sum
hidden = dense emb units=5 activation=sigmoid {regular}
deep   = dense hidden units=1
logit  = add wide deep
loss   binary_crossentropy logit from_logits=true
"""
    shapes = {"wide/kernel": (len(WORDS), 1), "wide/bias": (1,),
              "emb/embeddings": (len(WORDS), 4), "hidden/kernel": (4, 5),
              "hidden/bias": (5,), "deep/kernel": (5, 1), "deep/bias": (1,)}
    tables = ("wide/kernel", "emb/embeddings")
    regularized = "hidden/kernel"

    def gradient(self, w, at):
        ids, y, n = self.ids[at], self.y[at], len(at)
        bag = w["emb/embeddings"][ids].sum(axis=1)
        h = sigmoid(bag @ w["hidden/kernel"] + w["hidden/bias"])
        z = (w["wide/kernel"][ids].sum(axis=1) + w["wide/bias"] +
             h @ w["deep/kernel"] + w["deep/bias"])
        dz = (sigmoid(z) - y[:, None]) / n
        dh = (dz @ w["deep/kernel"].T) * h * (1 - h)
        dbag = np.repeat(dh @ w["hidden/kernel"].T, 3, axis=0)
        return {"wide/kernel": rows_of(ids, np.repeat(dz, 3, axis=0),
                                       w["wide/kernel"]),
                "wide/bias": dz.sum(axis=0),
                "emb/embeddings": rows_of(ids, dbag, w["emb/embeddings"]),
                "hidden/kernel": bag.T @ dh, "hidden/bias": dh.sum(axis=0),
                "deep/kernel": h.T @ dz, "deep/bias": dz.sum(axis=0)}, ids


MODELS = {"mlp": Mlp, "tutorial": Tutorial, "wide": Wide}


class Slots:
    """The slots of an optimizer for some rows of a variable."""

    def __init__(self, arrays, like, rows):
        self.arrays, self.like, self.rows = arrays, like, rows

    def get(self, key, start=0.):
        if key not in self.arrays:
            self.arrays[key] = np.full_like(self.like, start)
        return self.arrays[key][self.rows].copy()

    def put(self, key, value):
        self.arrays[key][self.rows] = value
        return value


class Optimizer:
    """One line of a model file; slots by the name of the variable."""
    rate = {"sgd": .01}

    def __init__(self, line):
        self.kind, *words = line.split()
        self.set = dict(word.split("=", 1) for word in words)
        self.slots = {}

    def get(self, key, start):
        text = self.set.get(key, start)
        return text == "true" if isinstance(start, bool) and isinstance(
            text, str) else type(start)(text)

    def learning_rate(self, s):
        lr = self.get("learning_rate", self.rate.get(self.kind, .001))
        n = self.get("decay_steps", 1.)
        schedule = self.set.get("schedule")
        if schedule == "exponential_decay":
            e = s / n
            if self.get("staircase", False):
                e = math.floor(e)
            return lr * self.get("decay_rate", 0.) ** e
        if schedule == "inverse_time_decay":
            return lr / (1 + self.get("decay_rate", 0.) * s / n)
        if schedule == "polynomial_decay":
            end = self.get("end_learning_rate", 1e-4)
            left = 1 - min(s, n) / n
            return (lr - end) * left ** self.get("power", 1.) + end
        if schedule == "piecewise_constant":
            bounds = [int(b) for b in self.set["boundaries"].split(",")]
            values = [float(v) for v in self.set["values"].split(",")]
            return values[sum(s > b for b in bounds)]
        if schedule == "cosine_decay":
            warm = self.get("warmup_steps", 0)
            target = self.get("warmup_target", lr)
            if s < warm:
                return lr + (target - lr) * s / warm
            alpha = self.get("alpha", 0.)
            cosine = (1 + math.cos(math.pi * min(s - warm, n) / n)) / 2
            return target * ((1 - alpha) * cosine + alpha)
        return lr

    def clip(self, grads):
        """Clip the gradients of all variables of this optimizer in place."""
        value = self.get("clipvalue", 0.)
        norm = self.get("clipnorm", 0.)
        whole = self.get("global_clipnorm", 0.)
        together = math.sqrt(sum((g * g).sum() for g in grads.values()))
        for name, g in grads.items():
            if value:
                grads[name] = np.clip(g, -value, value)
            if norm:
                grads[name] = g * norm / max(math.sqrt((g * g).sum()), norm)
            if whole:
                grads[name] = g * whole / max(together, whole)

    def update(self, name, w, g, t, rows, s=None):
        """Change w[rows] in place; t is 1 for the first update.  The rate is
        that after s updates, by default t - 1."""
        slots = Slots(self.slots.setdefault(name, {}), w, rows)
        lr = self.learning_rate(t - 1 if s is None else s)
        decay = self.get("weight_decay", .004 if self.kind == "adamw" else 0.)
        g = g[rows]
        new = w[rows] - lr * decay * w[rows]
        w[rows] = getattr(self, self.kind)(slots, new, g, lr, t)

    def sgd(self, slots, w, g, lr, t):
        momentum = self.get("momentum", 0.)
        if not momentum:
            return w - lr * g
        m = slots.put("m", momentum * slots.get("m") - lr * g)
        return w + (momentum * m - lr * g if self.get("nesterov", False)
                    else m)

    def adagrad(self, slots, w, g, lr, t):
        start = self.get("initial_accumulator_value", .1)
        a = slots.put("a", slots.get("a", start) + g * g)
        return w - lr * g / np.sqrt(a + self.get("epsilon", 1e-7))

    def rmsprop(self, slots, w, g, lr, t):
        rho, momentum = self.get("rho", .9), self.get("momentum", 0.)
        v = slots.put("v", rho * slots.get("v") + (1 - rho) * g * g)
        d = v + self.get("epsilon", 1e-7)
        if self.get("centered", False):
            b = slots.put("b", rho * slots.get("b") + (1 - rho) * g)
            d = d - b * b
        u = lr * g / np.sqrt(d)
        if not momentum:
            return w - u
        return w - slots.put("m", momentum * slots.get("m") + u)

    def adam(self, slots, w, g, lr, t):
        b1, b2 = self.get("beta_1", .9), self.get("beta_2", .999)
        alpha = lr * math.sqrt(1 - b2 ** t) / (1 - b1 ** t)
        m = slots.put("m", b1 * slots.get("m") + (1 - b1) * g)
        v = slots.put("v", b2 * slots.get("v") + (1 - b2) * g * g)
        if self.get("amsgrad", False):
            v = slots.put("h", np.maximum(slots.get("h"), v))
        return w - alpha * m / (np.sqrt(v) + self.get("epsilon", 1e-7))

    adamw = adam

    def ftrl(self, slots, w, g, lr, t):
        p = -self.get("learning_rate_power", -.5)
        l1 = self.get("l1", 0.)
        l2 = self.get("l2", 0.) + self.get("beta", 0.) / (2 * lr)
        a = slots.get("a", self.get("initial_accumulator_value", .1))
        n = slots.put("a", a + g * g)
        shrunk = g + 2 * self.get(
            "l2_shrinkage_regularization_strength", 0.) * w
        z = slots.put("z", slots.get("z") + shrunk -
                      (n ** p - a ** p) / lr * w)
        return (np.clip(z, -l1, l1) - z) / (n ** p / lr + 2 * l2)


def penalty(text, w):
    """The gradient of l1:A, l2:B or l1_l2:A:B."""
    kind, *numbers = text.split(":")
    numbers = [float(n) for n in numbers]
    l1 = numbers[0] if kind != "l2" else 0
    l2 = numbers[-1] if kind != "l1" else 0
    return l1 * np.sign(w) + 2 * l2 * w


def train(model, w, optimizers, regular):
    """Train w in place."""
    lines = [Optimizer(line) for line in optimizers]
    last = [o for o in lines if "for" not in o.set]
    of = {name: next((o for o in lines if "for" in o.set and
                      fnmatch.fnmatch(name, o.set["for"])), last[0])
          for name in w}
    for step in range(STEPS):
        at = np.arange(step * BATCH, (step + 1) * BATCH) % RECORDS
        grads, ids = model.gradient(w, at)
        if regular:
            name = model.regularized
            grads[name] = grads[name] + penalty(regular, w[name])
        for o in lines:
            own = {name: grads[name] for name in w if of[name] is o}
            o.clip(own)
            for name, g in own.items():
                rows = (np.unique(ids) if name in model.tables
                        else slice(None))
                o.update(name, w[name], g, step + 1, rows)


# The algorithms: each returns a variable and its state after a round.  w is the
# variable before the round, mean the mean of the replicas' copies after it, u
# the state of the algorithm.

def average(w, mean, u, outer):
    return mean, u


def slowmo(w, mean, u, outer):
    """With the slow rate alpha, and a fast rate that cancels out."""
    u = outer.get("momentum", 0.) * u + (w - mean)
    return w - outer.get("learning_rate", 1.) * u, u


def diloco(w, mean, u, outer):
    """PyTorch's Nesterov momentum, on the outer gradient w - mean."""
    momentum = outer.get("momentum", .9)
    u = momentum * u + (w - mean)
    return (w - outer.get("learning_rate", .7) * (w - mean + momentum * u), u)


ALGORITHMS = {"average": average, "slowmo": slowmo, "diloco": diloco}


def train_copy(model, w, optimizer, batches, before, s, regular):
    """Return the copy of a replica after round s; its optimizer has had
    "before" batches."""
    w = {name: value.copy() for name, value in w.items()}
    for t, at in enumerate(batches, before + 1):
        grads, ids = model.gradient(w, at)
        if regular:
            name = model.regularized
            grads[name] = grads[name] + penalty(regular, w[name])
        optimizer.clip(grads)
        for name, g in grads.items():
            rows = np.unique(ids) if name in model.tables else slice(None)
            optimizer.update(name, w[name], g, t, rows, s)
    return w


def train_local(model, w, algorithm, slots, inner, outer, regular):
    """Train w in place; slots has the batches of each replica and round."""
    u = {name: np.zeros_like(value) for name, value in w.items()}
    kept = Optimizer(inner) if "slots=keep" in inner else None
    for r in range(STEPS):
        before = r * slots.shape[2] if kept else 0
        copies = [train_copy(model, w, kept or Optimizer(inner), slot[r],
                             before, r, regular) for slot in slots]
        for name in w:
            mean = sum(copy[name] for copy in copies) / len(copies)
            w[name][:], u[name] = ALGORITHMS[algorithm](
                w[name], mean, u[name], Optimizer(outer))


def begin(kind):
    random = np.random.default_rng(7)
    return random, MODELS[kind](random)


def regularize(model, regular):
    return model.model.format(
        regular="kernel_regularizer=" + regular if regular else "")


def finish(model, random, solve):
    w = {name: random.normal(scale=.3, size=shape).astype(np.float32)
         for name, shape in model.shapes.items()}
    np.savez("initial.npz", **w)
    w = {name: value.astype(np.float64) for name, value in w.items()}
    solve(w)
    np.savez("expected.npz", **w)


def make_local(kind, algorithm, replicas, steps, inner, outer, regular=""):
    random, model = begin(kind)
    replicas, steps, size = int(replicas), int(steps), 2
    with open("model.ps", "w") as out:
        out.write(regularize(model, regular) +
                  "local %s steps=%d\noptimizer %s\n" % (inner, steps, outer))
    slots = np.arange(STEPS * replicas * steps * size) % RECORDS
    slots = slots.reshape(STEPS, replicas, steps, size).swapaxes(0, 1)
    head, *rows = model.csv()
    for s, slot in enumerate(slots):
        with open("slot%d.csv" % s, "w") as out:
            for row in [head] + [rows[i] for i in slot.ravel()]:
                out.write(",".join(row) + "\n")
    finish(model, random, lambda w: train_local(
        model, w, algorithm, slots, inner, outer, regular))


def make(kind, words):
    random, model = begin(kind)
    regular = ""
    if words[0].startswith("regular="):
        regular = words.pop(0).split("=", 1)[1]
    with open("model.ps", "w") as out:
        out.write(regularize(model, regular))
        for line in words:
            out.write("optimizer %s\n" % line)
    with open("data.csv", "w") as out:
        for row in model.csv():
            out.write(",".join(row) + "\n")
    finish(model, random, lambda w: train(model, w, words, regular))


def compare(first, second, tolerance=1e-5):
    first, second = np.load(first), np.load(second)
    worst = 0.
    assert sorted(first.files) == sorted(second.files), second.files
    for name in first.files:
        a, b = first[name].astype(np.float64), second[name]
        assert a.shape == b.shape, name
        off = np.abs(a - b).max() / np.abs(a).max()
        print("%s: off by %.2g" % (name, off))
        worst = max(worst, off if np.isfinite(off) else np.inf)
    return int(worst > float(tolerance))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3:])
    elif sys.argv[1] == "local":
        make_local(*sys.argv[2:])
    else:
        sys.exit(compare(*sys.argv[2:]))
