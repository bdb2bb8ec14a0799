"""Which digit is it?  Two layers, in JAX; see pskit_jax.py."""
import jax
import jax.numpy as jnp
import numpy as np

import pskit_jax

draw = np.random.default_rng(1)
params = {
    "hidden": {"kernel": draw.normal(0, 784 ** -0.5, (784, 128)),
               "bias": np.zeros(128)},
    "digit": {"kernel": draw.normal(0, 128 ** -0.5, (128, 10)),
              "bias": np.zeros(10)}}


def layer(params, x):
    return x @ params["kernel"] + params["bias"]


def scores(params, batch):
    x = batch["image"].reshape(-1, 784) / 255
    return layer(params["digit"], jax.nn.relu(layer(params["hidden"], x)))


def loss(params, batch, key):
    z = scores(params, batch)
    each = -jnp.take_along_axis(jax.nn.log_softmax(z),
                                batch["digit"][:, None], 1)
    hits = (z.argmax(1) == batch["digit"]).sum()
    return each.mean(), {"accuracy": (hits, len(z))}


pskit_jax.main(params, loss, """
    input     image float[28,28]
    label     digit id rows=10
    metric    accuracy
    optimizer adam learning_rate=0.002
""", name="digits", sends=["image", "digit"], predicts=[10], predict=scores)
