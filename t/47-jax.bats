# Functions of JAX as step programs: examples/jax/pskit_jax.py.

load lib.bash
load python.bash

setup() {
	begin_library jax JAX jax
	cat >net.py <<-'END'
		import jax, jax.numpy as jnp, numpy as np, pskit_jax
		draw = np.random.default_rng(1)
		def layer(rows, units):
		    return {"kernel": draw.normal(0, .5, (rows, units)),
		            "bias": np.zeros(units), "scale": np.float32(1)}
		params = {"layers": [layer(3, 8), layer(8, 1)]}
		def logit(params, batch):
		    x = batch["h"]
		    for p in params["layers"]:
		        x = jnp.tanh(p["scale"] * (x @ p["kernel"] + p["bias"]))
		    return 3 * x[:, 0]
		def loss(params, batch, key):
		    print("what is printed is no answer")
		    z, y = logit(params, batch), batch["y"]
		    return ((jnp.logaddexp(0, z) - y * z).mean(),
		            {"accuracy": (((z > 0) == (y > 0)).sum(), len(z))})
		if __name__ == "__main__":
		    pskit_jax.main(params, loss, """
		        input     x float[4]
		        label     y binary
		        h       = dense x units=3 kernel_initializer=ones
		        metric    accuracy
		        optimizer sgd learning_rate=0.1 momentum=0.9
		    """, ["h", "y"], "fit", predict=logit, predicts=[1])
	END
	"$PYTHON" net.py model >model.ps
	"$PYTHON" net.py initial first.npz
}

@test "a function is trained as JAX alone trains it, and the layer below" {
	ps-ckpt import -m model.ps first.npz saved >/dev/null
	ps-ckpt convert saved last.npz
	"$PYTHON" net.py state last.npz first.pkl
	echo train 100 | ps-local -q -C saved -- --prefetch=0 --step="$net" \
		--repeat train.svm -- ps-coord -m model.ps -B 4 \
		--checkpoint=saved >out 2>log
	[ "$(grep -c '"loss"' out)" = 100 ]
	ps-ckpt convert saved last.npz
	"$PYTHON" net.py state last.npz last.pkl
	cat >alone.py <<-'END'
		import json, jax, jax.numpy as jnp, numpy as np, pickle
		from net import params, loss
		x, y = np.zeros((8, 4), "f4"), np.zeros(8, "f4")
		for i, line in enumerate(open("train.svm")):
		    y[i] = line.split()[0] == "+1"
		    for word in line.split()[1:]:
		        k, v = word.split(":")
		        x[i, int(k) - 1] = float(v)
		first = pickle.load(open("first.pkl", "rb"))
		leaves = jax.tree.leaves
		for a, b in zip(leaves(params), leaves(first)):
		    assert np.shape(a) == b.shape
		    assert (np.float32(a) == b).all()
		w = {"net": params, "below": {"kernel": np.ones((4, 3), "f4"),
		                              "bias": np.zeros(3, "f4")}}
		def total(w, x, y):
		    h = x @ w["below"]["kernel"] + w["below"]["bias"]
		    return loss(w["net"], {"h": h, "y": y}, None)[0]
		v = jax.tree.map(lambda a: 0 * np.float32(a), w)
		slope = jax.jit(jax.value_and_grad(total))
		lines = [json.loads(line) for line in open("out")]
		for step in range(100):
		    part = slice(4 * (step % 2), 4 * (step % 2) + 4)
		    l, g = slope(w, x[part], y[part])
		    v = jax.tree.map(lambda v, g: .9 * v - .1 * g, v, g)
		    w = jax.tree.map(lambda w, v: w + v, w, v)
		    assert abs(lines[step]["loss"] - float(l)) < 1e-4, step
		last = pickle.load(open("last.pkl", "rb"))
		for a, b in zip(leaves(w["net"]), leaves(last)):
		    assert np.abs(np.asarray(a) - b).max() < 1e-3
	END
	run -0 "$PYTHON" alone.py
	run -0 ps-eval -C saved --predict --step="$net" train.svm
	[ "$(grep -c '^-\?[0-9]' <<<"$output")" = 8 ]
	run -1 "$PYTHON" net.py else
	assert_output "usage: net.py [model | initial FILE.npz | \
state FILE.npz FILE.pkl]"
}

@test "a function with data of its own reports their number and their end" {
	cat >own.py <<-'END'
		import numpy as np, pskit_jax
		points = np.arange(10, dtype="f4")[:, None]
		def data(request):
		    global points
		    x, points = (points[:request["batch"]],
		                 points[request["batch"]:])
		    if len(x) == 0:
		        raise pskit_jax.End
		    return {"x": x}
		def fit(params, batch, key):
		    x = batch["x"]
		    z = x * params["kernel"] + params["bias"]
		    return ((z - 2 * x) ** 2).mean(), {"seen": (x.sum(), 1)}
		def score(params, batch, key):
		    z = batch["x"] * params["kernel"]
		    return abs(z[:, 0] - batch["y"]).mean()
		params = {"kernel": np.ones(1, "f4"), "bias": np.zeros(1, "f4")}
		pskit_jax.main(params, {"own": fit, "score": score}, """
		    input x float[1]
		    label y float
		    step own
		    step score x y reads=kernel
		    metric seen
		    optimizer sgd learning_rate=0.01
		""", data=data)
	END
	"$PYTHON" own.py model >own.ps
	printf 'train 2\neval x.svm\ntrain 9 batch=3\n' >requests
	echo '4 1:1' >x.svm
	run -66 --separate-stderr ps-local -q -- --step="'$PYTHON' own.py" -- \
		ps-coord -m own.ps -B 4 requests
	assert_equal "$(grep -o '"examples":[0-9]*\|"seen":[0-9]*' \
		<<<"$output" | tr '\n' ' ')" '"examples":4 "seen":6 '\
'"examples":4 "seen":22 "examples":1 "seen": "examples":2 "seen":17 '
}

@test "jax: the example reads digits" {
	images=mnist10k-images-idx3-ubyte.gz
	labels=mnist10k-labels-idx1-ubyte.gz
	need_data $images $labels
	run -0 --separate-stderr "$SRC/examples/jax/run" "$data/$images" \
		"$data/$labels" "$data/$images" "$data/$labels"
	grep '"op":"eval"' <<<"$output" |
		sed 's/.*"accuracy":\([0-9.]*\).*/\1/' |
		awk '{ exit !($1 > 0.95) }'
}
