"""widedeep.py - the model of "widedeep" in TensorFlow.

2 workers and 2 servers, batches made in memory.  A line is BATCH STEPS; the
answer is examples a second, and processor seconds for an example.
"""
import functools

import tensorflow_cluster

ROWS, IDS, FLOATS, DIM, RATE = 1 << 20, 26, 13, 16, 0.01
UNITS = [IDS * DIM + FLOATS, 256, 128, 64, 1]


def shards(variable):
    return list(getattr(variable, "variables", [variable]))


def make_variables(tf):
    table = tf.Variable(tf.random.uniform([ROWS, DIM], -0.05, 0.05))
    linear = tf.Variable(tf.zeros([ROWS, 1]))
    dense = [(tf.Variable(tf.random.normal([i, o], stddev=i ** -0.5)),
              tf.Variable(tf.zeros([o]))) for i, o in zip(UNITS, UNITS[1:])]
    return table, linear, dense


def make_batches(tf, batch):
    ids = tf.cast(tf.exp(tf.random.uniform([64, batch, IDS]) * 13.8),
                  tf.int64) * 7919 % ROWS
    return tf.data.Dataset.from_tensor_slices(
        (ids, tf.random.uniform([64, batch, FLOATS]),
         tf.round(tf.random.uniform([64, batch, 1])))).repeat()


def make_step(tf, strategy, table, linear, dense):
    watched = [s for v in [table, linear] + [v for d in dense for v in d]
               for s in shards(v)]

    def loss_of(ids, x, y):
        h = tf.nn.embedding_lookup(table, ids)
        h = tf.concat([tf.reshape(h, [-1, IDS * DIM]), x], 1)
        for i, (w, b) in enumerate(dense):
            h = tf.matmul(h, tf.convert_to_tensor(w))
            h = h + tf.convert_to_tensor(b)
            h = tf.nn.relu(h) if i + 1 < len(dense) else h
        h = h + tf.reduce_sum(tf.nn.embedding_lookup(linear, ids), 1)
        return tf.reduce_mean(
            tf.nn.sigmoid_cross_entropy_with_logits(y, h))

    def replica(ids, x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(ids, x, y)
        for v, g in zip(watched, tape.gradient(loss, watched)):
            if isinstance(g, tf.IndexedSlices):
                v.scatter_sub(tf.IndexedSlices(RATE * g.values, g.indices))
            elif g is not None:
                v.assign_sub(RATE * g)
        return loss

    @tf.function
    def step(iterator):
        return strategy.run(replica, args=next(iterator))

    return step


def prepare(strategy, coordinator):
    import tensorflow as tf
    with strategy.scope():
        variables = make_variables(tf)

    @functools.cache
    def find(batch):
        step = make_step(tf, strategy, *variables)
        data = iter(coordinator.create_per_worker_dataset(
            lambda: make_batches(tf, batch)))
        return (step, (data,)), batch

    return find


tensorflow_cluster.answer(2, prepare)
