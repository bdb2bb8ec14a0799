"""Any PyTorch module as a step program of pskit: see ps-step(5).

A file of one's own says what is trained:

    import torch.nn as nn, torch.nn.functional as F, pskit_torch

    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))

    def loss(net, batch):
        z = net(batch["image"])
        hits = (z.argmax(1) == batch["digit"]).sum()
        return F.cross_entropy(z, batch["digit"]), {"accuracy": (hits, len(z))}

    pskit_torch.main(net, loss, '''
        input     image float[28,28]
        label     digit id rows=10
        metric    accuracy
        optimizer adam learning_rate=0.001
    ''', sends=["image", "digit"], predicts=[10],
        predict=lambda net, batch: net(batch["image"]))

and is a program with four uses:

    python3 digits.py model > model.ps          the model file
    python3 digits.py initial first.npz         initial values, for
                                                ps-ckpt import
    ps-work --step="python3 digits.py" ...      the step program
    python3 digits.py state last.npz net.pt     a state_dict, of what
                                                ps-ckpt convert wrote

Parameters and buffers are variables of the module's own names.  PyTorch
computes losses and gradients; optimizers, data and checkpoints are pskit's.
"""
import json
import math
import mmap
import os
import sys

import numpy as np
import torch


class BadBatch(Exception):
    """Raised by a loss: the batch cannot be computed, for this reason."""


class End(Exception):
    """Raised by a loss of a step line without inputs: no data are left."""


class Batch(dict):
    """A tensor for each name that the step line sends.

    args is the object that the request has.  examples is their number; of a
    line without inputs it is how many are wanted, and a loss that takes
    others sets it.  What a loss sets result to is in the result line.
    """

    def __init__(self, request, sent):
        super().__init__(sent)
        self.args, self.result = request["args"], None
        self.examples = request.get("batch") or request["sent"][0]["shape"][0]


def main(module, loss, lines, sends=None, name="step", predict=None,
         predicts=None, settings="", device=None):
    """Do what the command line says.

    loss(module, batch) returns the mean over the examples of the Batch, or
    that and a dictionary of metrics, (sum, weight) each.  Tensors are on the
    device.
    predict(module, batch) returns examples x predicts.
    lines are those of the model file but the variables' and the step's;
    settings stand at the end of the step line.

    Several step lines, as of a GAN, are written in lines, without sends; loss
    is then a dictionary of functions by their names.
    """
    word = sys.argv[1:]
    if word == ["model"]:
        print(model(module, lines, sends, name, predicts, settings), end="")
    elif len(word) == 2 and word[0] == "initial":
        np.savez(word[1], **{n: array_of(t) for n, t, _ in variables(module)})
    elif len(word) == 3 and word[0] == "state":
        load(module, word[1])
        torch.save(module.state_dict(), word[2])
    elif not word:
        Program(module, loss, predict, device).run()
    else:
        sys.exit("usage: %s [model | initial FILE.npz | "
                 "state FILE.npz FILE.pt]" % sys.argv[0])


# ---- variables ----

def variables(module):
    """Name, tensor and whether it is trained, of all that is kept."""
    kept = module.state_dict(keep_vars=True)
    for name, tensor in module.named_parameters():
        yield name, tensor, tensor.requires_grad
    for name, tensor in module.named_buffers():
        if name in kept:
            yield name, tensor, False


def shape_of(tensor):
    """A variable has one axis at least."""
    return list(tensor.shape) or [1]


def array_of(tensor):
    return tensor.detach().cpu().float().numpy().reshape(shape_of(tensor))


def model(module, lines, sends, name, predicts, settings):
    """The text of the model file."""
    out = [line.strip() for line in lines.strip().splitlines()]
    for n, tensor, trained in variables(module):
        a = array_of(tensor)
        same = [word for word, x in (("zeros", 0), ("ones", 1))
                if (a == x).all()]
        out.append("variable  %s [%s]%s%s" % (
            n, ",".join(map(str, a.shape)),
            " initializer=" + same[0] if same else "",
            "" if trained else " trainable=false"))
    if sends is None:
        return "\n".join(out) + "\n"
    step = ["step     ", name, *sends]
    if predicts:
        step.append("predicts=[%s]" % ",".join(map(str, predicts)))
    return "\n".join(out + [" ".join(step + settings.split())]) + "\n"


def load(module, path):
    """Values of ps-ckpt convert, into the module."""
    with np.load(path) as values, torch.no_grad():
        for name, tensor, _ in variables(module):
            tensor.copy_(torch.from_numpy(values[name]).view(tensor.shape))


# ---- the step program ----

class Program:
    shares = True       # memory with the worker, for arrays

    def __init__(self, module, loss, predict, device):
        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(1)    # other workers have the other cores
        self.device = torch.device(device)
        self.pinned = self.device.type == "cuda"
        self.module = module.to(self.device)
        self.loss, self.predict = loss, predict
        self.named = {n: (t, trained) for n, t, trained in variables(module)}
        self.maps, self.layouts, self.rooms = [], {}, {}
        self.layout, self.touched = None, False
        # What the module prints is no answer.
        self.out = os.fdopen(os.dup(1), "wb", 1 << 16)
        os.dup2(2, 1)

    def run(self):
        while line := sys.stdin.buffer.readline():
            request = json.loads(line)
            batch = self.receive(request)
            try:
                head, arrays = self.answer(request, batch)
            except BadBatch as why:
                head, arrays = {"error": str(why)}, []
            except End:
                head, arrays = {"examples": 0, "end": True}, []
            else:
                head["shm"] = self.shares
            self.out.write(json.dumps(head).encode() + b"\n")
            for array in arrays:
                self.out.write(array)
            self.out.flush()

    # ---- where arrays lie: in shared memory, or in rooms of our own ----

    def room(self, a, type=torch.float32):
        """A tensor of the host's where an array of a request is, or goes."""
        if "offset" in a:
            return self.shared(a["offset"], math.prod(a["shape"]),
                               type).view(a["shape"])
        return torch.zeros(a["shape"], dtype=type, pin_memory=self.pinned)

    def shared(self, offset, count, type=torch.float32):
        if count == 0:
            return torch.zeros(0, dtype=type)
        return torch.frombuffer(self.maps[-1], dtype=type, count=count,
                                offset=offset)

    def map(self, shm):
        """Larger than before: what was mapped stays, for who has it."""
        if shm and shm["size"] > (len(self.maps[-1]) if self.maps else 0):
            self.maps.append(mmap.mmap(shm["fd"], shm["size"]))

    def span(self, arrays, use):
        """Arrays as one: on the host, on the device, and where each is."""
        size, at = 0, {}
        for a in arrays:
            first = a["offset"] // 4 if "offset" in a else size
            at[a["name"]] = slice(first, first + math.prod(a["shape"]))
            size = at[a["name"]].stop
        if arrays and "offset" in arrays[0]:
            low = min(part.start for part in at.values())
            size = max(part.stop for part in at.values()) - low
            at = {n: slice(p.start - low, p.stop - low)
                  for n, p in at.items()}
            host = self.shared(4 * low, size)
        else:
            host = torch.zeros(size)
        if not self.pinned:
            return host, host, None, at
        # A copy engine reads and writes what does not move.
        if (use, size) not in self.rooms:
            self.rooms[use, size] = (torch.zeros(size, device=self.device),
                                     torch.zeros(size, pin_memory=True))
        return host, *self.rooms[use, size], at

    # ---- a request ----

    def receive(self, request):
        """The batch; the variables go where they belong."""
        self.map(request.get("shm"))
        batch, variables = {}, []
        for a in request["sent"]:
            if a["name"] in self.named:
                variables.append(a)
                continue
            tensor = self.room(a, torch.int64 if a.get("type") == "uint64"
                               else torch.float32)
            if "offset" not in a:
                self.fill(tensor)
            batch[a["name"]] = tensor.to(self.device, non_blocking=True)
        self.receive_values(variables, request["wanted"])
        return Batch(request, batch)

    def receive_values(self, variables, wanted):
        last, now = self.layout, self.find_layout(variables, wanted)
        if now is not last:
            now.apply()
            self.layout = now
        if variables and "offset" not in variables[0]:
            self.fill(now.host)
        elif last and last.names == now.names and not self.touched and \
                all(a.get("unchanged") for a in variables):
            return
        self.touched = False
        if self.pinned:
            now.staged.copy_(now.host)
            now.values.copy_(now.staged, non_blocking=True)
        for tensor, _, value, _ in now.place:
            if tensor.dtype != torch.float32:
                tensor.data.copy_(value)

    def find_layout(self, variables, wanted):
        """That of a request before, if the arrays lie as they did there.

        A request that is written while another is computed lies elsewhere.
        """
        lie = tuple((a["name"], a.get("offset")) for a in variables)
        answers = [(a["name"], a.get("offset")) for a in wanted]
        found = self.layouts.get(lie)
        if not found or (wanted and answers != found.answers_lie):
            if len(self.layouts) > 8:
                self.layouts.clear()    # they are of what has grown since
            found = self.layouts[lie] = Layout(self, variables, wanted)
            found.answers_lie = answers
        return found

    def fill(self, tensor):
        if tensor.numel() == 0:
            return
        room = memoryview(tensor.numpy().reshape(-1)).cast("B")
        while room:
            n = sys.stdin.buffer.readinto(room)
            if not n:
                sys.exit("pskit_torch: a request has ended early")
            room = room[n:]

    # ---- an answer ----

    def answer(self, request, batch):
        if request["op"] == "step":
            return self.train(request, batch)
        self.module.eval()
        with torch.no_grad():
            if request["op"] == "predict":
                out = self.predict(self.module, batch).float()
                return {}, self.give(out, request["wanted"][0])
            return self.head(self.run_loss(request, batch), batch), []

    def run_loss(self, request, batch):
        loss = self.loss
        return (loss[request["name"]] if isinstance(loss, dict) else loss)(
            self.module, batch)

    def give(self, tensor, a):
        """What is wanted, to where it goes."""
        tensor = tensor.detach().reshape(a["shape"])
        if "offset" not in a:
            return [tensor.cpu().contiguous().numpy()]
        self.room(a).copy_(tensor)
        return []

    def train(self, request, batch):
        torch.manual_seed(request["seed"])
        self.module.train()
        layers = [(batch[a["name"]].requires_grad_(), a)
                  for a in request["wanted"] if a["name"] not in self.named]
        for tensor, trained, _, answer in self.layout.place:
            tensor.grad = None
            if trained and tensor.dtype == torch.float32 and \
                    answer is not None:
                answer.zero_()
                tensor.grad = answer
        said = self.run_loss(request, batch)
        loss = said[0] if isinstance(said, tuple) else said
        # A gradient is a sum over examples, the loss is their mean.
        (loss * batch.examples).backward()
        arrays = []
        with torch.no_grad():
            for tensor, a in layers:
                arrays += self.give(tensor.grad if tensor.grad is not None
                                    else torch.zeros_like(tensor), a)
            for tensor, trained, _, answer in self.layout.place:
                source = tensor.grad if trained else tensor
                if answer is None or source is answer:
                    continue
                if source is None:
                    answer.zero_()
                else:
                    answer.copy_(source)
            if self.pinned:
                self.layout.staged_back.copy_(self.layout.answers,
                                              non_blocking=True)
                torch.cuda.synchronize(self.device)
                self.layout.sent_back.copy_(self.layout.staged_back)
        self.touched = any(not trained
                           for _, trained, _, _ in self.layout.place)
        if not any("offset" in a for a in request["wanted"]):
            arrays.append(self.layout.sent_back.numpy())
        return self.head(said, batch), arrays

    @staticmethod
    def head(said, batch):
        """The line of an answer."""
        loss, metrics = said if isinstance(said, tuple) else (said, {})
        loss = float(torch.as_tensor(loss).detach())
        head = {"loss": loss if math.isfinite(loss) else None,
                "examples": batch.examples,
                "metrics": {n: [float(sum), float(weight)]
                            for n, (sum, weight) in metrics.items()}}
        if batch.result is not None:
            head["result"] = batch.result
        return head


class Layout:
    """All values in one tensor on the device, and so the answers.

    Parameters are parts of it, so values come by one copy, and gradients go by
    one; on a CPU, from and to shared memory, by none.
    """

    def __init__(self, program, variables, wanted):
        named = program.named
        self.names = [a["name"] for a in variables]
        self.host, self.values, self.staged, at = program.span(variables,
                                                               "values")
        self.sent_back, self.answers, self.staged_back, to = program.span(
            [a for a in wanted if a["name"] in named], "answers")
        self.place = []
        for name, part in at.items():
            tensor, trained = named[name]
            self.place.append((tensor, trained,
                               self.values[part].view(tensor.shape),
                               self.answers[to[name]].view(tensor.shape)
                               if name in to else None))

    def apply(self):
        for tensor, _, value, _ in self.place:
            if tensor.dtype == torch.float32:
                tensor.data = value
