"""steps.py - the model of "steps" in TensorFlow.

3 workers and 2 servers, batch 10.  A line is PACK FUNCTIONS: the number of
batches in each function that is scheduled, and the number of functions.  The
answer is steps a second, and processor seconds for a step.
"""
import functools

import tensorflow_cluster

RATE = 0.1


def make_step(tf, strategy, table, kernel, bias, pack):
    def shards(variable):
        return list(getattr(variable, "variables", [variable]))

    watched = shards(table) + shards(kernel) + shards(bias)

    def loss_of(ids, y):
        mean = tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1)
        logit = tf.matmul(mean, tf.convert_to_tensor(kernel))
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
            y, logit + tf.convert_to_tensor(bias)))

    def replica(ids, y):
        with tf.GradientTape() as tape:
            loss = loss_of(ids, y)
        for v, g in zip(watched, tape.gradient(loss, watched)):
            if isinstance(g, tf.IndexedSlices):
                v.scatter_sub(tf.IndexedSlices(RATE * g.values, g.indices))
            elif g is not None:
                v.assign_sub(RATE * g)
        return loss

    @tf.function
    def step(iterator):
        for _ in range(pack):
            strategy.run(replica, args=next(iterator))

    return step


def make_batches(tf):
    ids = tf.random.uniform([64, 10, 3], 0, 7, tf.int64)
    labels = tf.cast(tf.reduce_any(ids == 0, 2, keepdims=True), tf.float32)
    return tf.data.Dataset.from_tensor_slices((ids, labels)).repeat()


def prepare(strategy, coordinator):
    import tensorflow as tf
    with strategy.scope():
        table = tf.Variable(tf.random.uniform([7, 20], -0.05, 0.05))
        kernel = tf.Variable(tf.random.uniform([20, 1], -0.5, 0.5))
        bias = tf.Variable(tf.zeros([1]))
    data = iter(coordinator.create_per_worker_dataset(
        lambda: make_batches(tf)))

    @functools.cache
    def find(pack):
        step = make_step(tf, strategy, table, kernel, bias, pack)
        return (step, (data,)), pack

    return find


tensorflow_cluster.answer(3, prepare)
