# Modules of PyTorch as step programs: examples/torch/pskit_torch.py.

load lib.bash
load python.bash

setup() {
	begin_library torch PyTorch torch
	cat >net.py <<-'END'
		import sys, torch, torch.nn as nn, torch.nn.functional as F
		import pskit_torch
		torch.manual_seed(1)
		net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8),
		                    nn.Tanh(), nn.Linear(8, 1))
		def logit(net, batch):
		    return net(batch["x"]).squeeze(1)
		def loss(net, batch):
		    print("what a module prints is no answer")
		    z, y = logit(net, batch), batch["y"]
		    if (batch["x"] == 9).any():
		        raise pskit_torch.BadBatch("a nine")
		    return (F.binary_cross_entropy_with_logits(z, y),
		            {"accuracy": (((z > 0) == (y > 0)).sum(), len(z))})
		LINES = """
		    input     x float[4]
		    label     y binary
		    metric    accuracy
		    optimizer sgd learning_rate=0.1 momentum=0.9
		"""
		if __name__ == "__main__":
		    pskit_torch.main(net, loss, LINES, ["x", "y"], "fit",
		                     predict=logit, predicts=[1])
	END
	"$PYTHON" net.py model >model.ps
}

# begin - write a checkpoint of the module's initial values to saved.
begin() {
	"$PYTHON" net.py initial first.npz
	ps-ckpt import -m model.ps first.npz saved >/dev/null
}

# train MODEL OPTION-OF-WORKERS... - train one worker for 100 steps from saved.
train() {
	local model=$1
	shift
	echo train 100 | ps-local -q -C saved -- --prefetch=0 "$@" --repeat \
		train.svm -- \
		ps-coord -m "$model" -B 4 --checkpoint=saved
}

# score NAME - print a score of the evaluation in the output.
score() {
	grep '"op":"eval"' <<<"$output" | sed "s/.*\"$1\":\([0-9.]*\).*/\1/"
}

@test "values do not change on the way to a checkpoint and back" {
	begin
	ps-ckpt convert saved last.npz
	"$PYTHON" net.py state last.npz last.pt
	run -0 "$PYTHON" -c '
import torch, net
last = torch.load("last.pt")
kept = net.net.state_dict()
assert list(last) == list(kept)
for name, value in kept.items():
    assert last[name].dtype == value.dtype, name
    assert torch.equal(last[name], value), name
print(len(kept))'
	assert_output 9
	run -1 "$PYTHON" net.py else
	assert_output "usage: net.py [model | initial FILE.npz | \
state FILE.npz FILE.pt]"
}

@test "a module is trained as PyTorch alone trains it" {
	begin
	train model.ps --step="$net" >out 2>log
	[ "$(grep -c '"loss"' out)" = 100 ]
	ps-ckpt convert saved last.npz
	cat >alone.py <<-'END'
		# The worker reads sequential batches of four.
		import json, numpy as np, torch
		from net import net, loss
		x, y = torch.zeros(8, 4), torch.zeros(8)
		for i, line in enumerate(open("train.svm")):
		    y[i] = float(line.split()[0] == "+1")
		    for word in line.split()[1:]:
		        k, v = word.split(":")
		        x[i, int(k) - 1] = float(v)
		by = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
		lines = [json.loads(line) for line in open("out")]
		for step in range(100):
		    part = slice(4 * (step % 2), 4 * (step % 2) + 4)
		    l, _ = loss(net, {"x": x[part], "y": y[part]})
		    by.zero_grad()
		    l.backward()
		    by.step()
		    assert abs(lines[step]["loss"] - l.item()) < 1e-5, step
		last = np.load("last.npz")
		for name, value in net.state_dict().items():
		    far = np.abs(last[name] - value.numpy()).max()
		    assert far < 1e-4, (name, far)
	END
	run -0 "$PYTHON" alone.py
	# The predictions are those of the trained module.
	"$PYTHON" net.py state last.npz last.pt
	ps-eval -C saved --predict --step="$net" train.svm >predicted 2>log
	run -0 "$PYTHON" -c '
import torch, net
net.net.load_state_dict(torch.load("last.pt"))
net.net.eval()
z = net.net(torch.tensor([[1., 1, 0, 0], [0, 0, 1, 0]]))
said = [float(line) for line in open("predicted")]
assert len(said) == 8
assert all(abs(a - b) < 1e-5 for a, b in zip(z.flatten().tolist(), said))'
}

@test "layers of pskit below a module are trained by its gradients" {
	sed -i 's/nn.Linear(4, 8)/nn.Linear(3, 8)/; s/batch\["x"\]/batch["h"]/
		s/^    input .*/&\n    h = dense x units=3/
		s/\["x", "y"\]/["h", "y"]/' net.py
	"$PYTHON" net.py model >model.ps
	begin
	train model.ps --step="$net" >out 2>log
	tail -n 1 out | awk -F'"loss":' '{ split($2, rest, ",")
		exit !(rest[1] < 0.2) }'
	run -1 ps-ckpt diff saved/ckpt-00000000 saved/ckpt-00000100
	assert_output --partial h/kernel
}

@test "several step lines train the variables that each of them names" {
	cat >net.py <<-'END'
		import torch, torch.nn as nn, torch.nn.functional as F
		import pskit_torch
		torch.manual_seed(1)
		net = nn.ModuleDict({"a": nn.Linear(4, 3),
		                     "b": nn.Linear(3, 1)})
		def loss(net, batch):
		    z = net["b"](net["a"](batch["x"]).tanh()).squeeze(1)
		    return F.binary_cross_entropy_with_logits(z, batch["y"])
		def less(net, batch):
		    return .5 * loss(net, batch)
		if __name__ == "__main__":
		    pskit_torch.main(net, {"top": loss, "low": less}, """
		        input     x float[4]
		        label     y binary
		        optimizer sgd learning_rate=0.5 momentum=0.9
		        step      low x y variables=a.* reads=b.*
		        step      top x y variables=b.* reads=a.*
		    """)
	END
	"$PYTHON" net.py model >model.ps
	begin
	for _ in $(seq 20); do
		echo '{"step":"low"}'
		echo '{"step":"top","steps":2}'
	done >requests
	ps-local -q -C saved -- --prefetch=0 --repeat --step="$net" \
		train.svm -- \
		ps-coord -m model.ps -B 8 --checkpoint=saved requests >out
	ps-ckpt convert saved last.npz
	run -0 "$PYTHON" -c '
import numpy as np, torch
from net import net, loss, less
x, y = torch.zeros(8, 4), torch.zeros(8)
for i, line in enumerate(open("train.svm")):
    y[i] = float(line.split()[0] == "+1")
    for word in line.split()[1:]:
        k, v = word.split(":")
        x[i, int(k) - 1] = float(v)
by = {n: torch.optim.SGD(net[n].parameters(), 0.5, momentum=0.9)
      for n in "ab"}
for step in range(60):
    net.zero_grad()
    (loss if step % 3 else less)(net, {"x": x, "y": y}).backward()
    by["b" if step % 3 else "a"].step()
last = np.load("last.npz")
for name, value in net.state_dict().items():
    assert np.abs(last[name] - value.numpy()).max() < 1e-4, name'
}

@test "a batch that a module refuses is an error of the step" {
	echo '+1 1:9' >>train.svm
	echo train 9 >requests
	run -65 --separate-stderr ps-local -q -- --repeat --step="$net" \
		train.svm -- ps-coord -m model.ps -B 4 requests
	assert_line --partial \
		'"step":2,"worker":"worker:0","error":"step 2: model.ps:'
	assert_line --partial ': fit: a nine"}'
}

@test "torch: the example reads digits" {
	images=mnist10k-images-idx3-ubyte.gz
	labels=mnist10k-labels-idx1-ubyte.gz
	need_data $images $labels
	run -0 --separate-stderr "$SRC/examples/torch/run" "$data/$images" \
		"$data/$labels" "$data/$images" "$data/$labels"
	awk "BEGIN { exit !($(score accuracy) > 0.96) }" ||
		fail "accuracy $(score accuracy), not over 0.96"
}

@test "gan: two step lines in turn learn to draw a circle" {
	"$SRC/examples/gan/run" 1000 >points 2>log
	# The points are near the circle, and on all its sides.
	awk -F, '{ r = sqrt($1 * $1 + $2 * $2)
			sum += r
			squares += r * r
			side[int((atan2($2, $1) + 3.2) / 6.4 * 8)]++ }
		END {
			mean = sum / NR
			far = mean < 1 ? 1 - mean : mean - 1
			print NR, mean, sqrt(squares / NR - mean * mean)
			for (i = 0; i < 8; i++)
				few += side[i] < 10
			exit !(NR == 500 && far < 0.15 && few == 0 &&
				squares / NR - mean * mean < 0.09)
		}' points
}

@test "a module with data of its own reports their number and their end" {
	cat >own.py <<-'END'
		import torch, torch.nn as nn, pskit_torch
		net = nn.Linear(1, 1)
		data = torch.arange(10.).unsqueeze(1)
		def loss(net, batch):
		    global data
		    x, data = data[:batch.examples], data[batch.examples:]
		    if len(x) == 0:
		        raise pskit_torch.End
		    batch.examples, batch.result = len(x), x.flatten().tolist()
		    return (net(x) - 2 * x).square().mean()
		pskit_torch.main(net, loss, "optimizer sgd learning_rate=0.01",
		                 [], "own")
	END
	"$PYTHON" own.py model >own.ps
	printf 'train 2\ntrain 9 batch=3\n' >requests
	run -66 --separate-stderr ps-local -q -- --step="'$PYTHON' own.py" -- \
		ps-coord -m own.ps -B 4 requests
	assert_equal "$(grep -o '"examples":[0-9]*\|"result":.*' <<<"$output" |
		tr '\n' ' ')" '"examples":4 "result":[0.0, 1.0, 2.0, 3.0]} '\
'"examples":4 "result":[4.0, 5.0, 6.0, 7.0]} '\
'"examples":2 "result":[8.0, 9.0]} '
}

@test "torch-clicks: a tower in PyTorch trains the table below, too" {
	run -0 --separate-stderr "$SRC/examples/torch-clicks/run"
	score log_loss | awk '{ exit !($1 < 0.44) }'
	run find . -path './tmp*'
	assert_output ""
}
