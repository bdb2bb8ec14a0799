"""widedeep.py BATCH STEPS - the model of "widedeep" in TensorFlow.

ParameterServerStrategy and ClusterCoordinator, 2 workers and 2 servers as
processes of their own, batches made in memory.  Prints examples a second, and
processor seconds of all processes for each.
"""
import json
import os
import resource
import socket
import subprocess
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

ROWS, IDS, FLOATS, DIM = 1 << 20, 26, 13, 16


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def member(kind, index, cluster):
    """Run a server of TensorFlow until we are killed."""
    import tensorflow as tf
    tf.distribute.Server(
        tf.train.ClusterSpec(cluster), job_name=kind, task_index=index,
        protocol="grpc", config=tf.compat.v1.ConfigProto(
            inter_op_parallelism_threads=4)).join()


def make_variables(tf):
    units = [IDS * DIM + FLOATS, 256, 128, 64, 1]
    table = tf.Variable(tf.random.uniform([ROWS, DIM], -0.05, 0.05))
    linear = tf.Variable(tf.zeros([ROWS, 1]))
    dense = [(tf.Variable(tf.random.normal([i, o], stddev=i ** -0.5)),
              tf.Variable(tf.zeros([o])))
             for i, o in zip(units, units[1:])]
    return table, linear, dense


def lookup(tf, variable, ids):
    return tf.nn.embedding_lookup(variable, ids)


def main(batch, steps):
    import tensorflow as tf
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec(CLUSTER), rpc_layer="grpc"),
        variable_partitioner=tf.distribute.experimental.partitioners
        .FixedShardsPartitioner(2))
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        table, linear, dense = make_variables(tf)

    def loss_of(ids, x, y):
        h = tf.concat([tf.reshape(lookup(tf, table, ids),
                                  [-1, IDS * DIM]), x], 1)
        for i, (w, b) in enumerate(dense):
            h = tf.matmul(h, tf.convert_to_tensor(w)) + \
                tf.convert_to_tensor(b)
            h = tf.nn.relu(h) if i + 1 < len(dense) else h
        logit = h + tf.reduce_sum(lookup(tf, linear, ids), 1)
        return tf.reduce_mean(
            tf.nn.sigmoid_cross_entropy_with_logits(y, logit))

    def apply(variable, gradient):
        """SGD, of rows where only rows have changed."""
        if isinstance(gradient, tf.IndexedSlices):
            variable.scatter_sub(tf.IndexedSlices(
                0.01 * gradient.values, gradient.indices))
        else:
            variable.assign_sub(0.01 * gradient)

    @tf.function
    def step(iterator):
        ids, x, y = next(iterator)

        def replica(ids, x, y):
            watched = trainable(table) + trainable(linear) + [
                v for pair in dense for one in pair for v in trainable(one)]
            with tf.GradientTape() as tape:
                loss = loss_of(ids, x, y)
            for v, g in zip(watched, tape.gradient(loss, watched)):
                if g is not None:
                    apply(v, g)
            return loss

        return strategy.run(replica, args=(ids, x, y))

    def trainable(v):
        return list(v.variables) if hasattr(v, "variables") else [v]

    def dataset(_):
        ids = tf.cast(tf.math.floor(tf.exp(tf.random.uniform(
            [64, batch, IDS]) * 13.8)) * 7919 % ROWS, tf.int64)
        return tf.data.Dataset.from_tensor_slices(
            (ids, tf.random.uniform([64, batch, FLOATS]),
             tf.round(tf.random.uniform([64, batch, 1])))).repeat()

    data = coordinator.create_per_worker_dataset(
        strategy.distribute_datasets_from_function(dataset))
    iterator = iter(data)
    for _ in range(4):
        coordinator.schedule(step, args=(iterator,))
    coordinator.join()
    cpu, began = cpu_seconds(), time.monotonic()
    for _ in range(steps):
        coordinator.schedule(step, args=(iterator,))
    coordinator.join()
    wall = time.monotonic() - began
    print(steps * batch / wall,
          (cpu_seconds() - cpu) / (steps * batch), flush=True)


def cpu_seconds():
    """Of this process and the members, who are still alive."""
    ticks = os.sysconf("SC_CLK_TCK")
    usage = resource.getrusage(resource.RUSAGE_SELF)
    total = usage.ru_utime + usage.ru_stime
    for m in MEMBERS:
        with open(f"/proc/{m.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / ticks
    return total


if sys.argv[1] == "member":
    member(sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
CLUSTER = {kind: [f"127.0.0.1:{free_port()}" for _ in range(2)]
           for kind in ("worker", "ps")}
MEMBERS = [subprocess.Popen([sys.executable, __file__, "member", kind,
                             str(i), json.dumps(CLUSTER)],
                            stderr=subprocess.DEVNULL)
           for kind in CLUSTER for i in range(2)]
try:
    main(int(sys.argv[1]), int(sys.argv[2]))
finally:
    for m in MEMBERS:
        m.kill()
