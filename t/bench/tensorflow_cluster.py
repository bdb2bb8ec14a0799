"""A cluster of TensorFlow on this machine, for the benchmarks.

answer(WORKERS, prepare) starts that many workers and 2 servers as processes of
their own, and calls prepare(strategy, coordinator), which returns a function.
That is called with the numbers of each line of standard input, and returns the
function of one step and its number of examples, or steps.  The last number of a
line is the number of steps to run.  The answer is the examples, or steps, a
second, and the processor seconds of all processes for each.
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


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(kind, index, cluster):
    """Run a member of the cluster until it is killed."""
    import tensorflow as tf
    tf.distribute.Server(
        tf.train.ClusterSpec(cluster), job_name=kind, task_index=index,
        protocol="grpc", config=tf.compat.v1.ConfigProto(
            inter_op_parallelism_threads=4)).join()


def cpu_seconds(members):
    """The processor seconds of this process and the running members."""
    ticks = os.sysconf("SC_CLK_TCK")
    usage = resource.getrusage(resource.RUSAGE_SELF)
    total = usage.ru_utime + usage.ru_stime
    for m in members:
        with open(f"/proc/{m.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / ticks
    return total


def measure(coordinator, step, count, cpu):
    """The wall and processor seconds of count steps."""
    for _ in range(6):
        coordinator.schedule(*step)
    coordinator.join()
    before, began = cpu(), time.monotonic()
    for _ in range(count):
        coordinator.schedule(*step)
    coordinator.join()
    return time.monotonic() - began, cpu() - before


def answer(workers, prepare):
    cluster = {kind: [f"127.0.0.1:{free_port()}" for _ in range(count)]
               for kind, count in (("worker", workers), ("ps", 2))}
    members = [subprocess.Popen([sys.executable, __file__, kind, str(i),
                                 json.dumps(cluster)],
                                stdin=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
               for kind in cluster for i in range(len(cluster[kind]))]
    try:
        import tensorflow as tf
        strategy = tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.SimpleClusterResolver(
                tf.train.ClusterSpec(cluster), rpc_layer="grpc"),
            variable_partitioner=tf.distribute.experimental.partitioners
            .FixedShardsPartitioner(2))
        coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        find = prepare(strategy, coordinator)
        for line in sys.stdin:
            *what, count = map(int, line.split())
            step, size = find(*what)
            wall, cpu = measure(coordinator, step, count,
                                lambda: cpu_seconds(members))
            print(count * size / wall, cpu / (count * size), flush=True)
    finally:
        for m in members:
            m.kill()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
