"""A cluster of TensorFlow's on this machine, for the benchmarks.

run(WORKERS, main) starts that many workers and 2 servers as processes of
their own, calls main(strategy, coordinator, cpu_seconds), and ends them.
"""
import json
import os
import resource
import socket
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(kind, index, cluster):
    """Be a member until we are killed."""
    import tensorflow as tf
    tf.distribute.Server(
        tf.train.ClusterSpec(cluster), job_name=kind, task_index=index,
        protocol="grpc", config=tf.compat.v1.ConfigProto(
            inter_op_parallelism_threads=4)).join()


def cpu_seconds(members):
    """Of this process and the members, who are still alive."""
    ticks = os.sysconf("SC_CLK_TCK")
    usage = resource.getrusage(resource.RUSAGE_SELF)
    total = usage.ru_utime + usage.ru_stime
    for m in members:
        with open(f"/proc/{m.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / ticks
    return total


def run(workers, main):
    cluster = {kind: [f"127.0.0.1:{free_port()}" for _ in range(count)]
               for kind, count in (("worker", workers), ("ps", 2))}
    members = [subprocess.Popen([sys.executable, __file__, kind, str(i),
                                 json.dumps(cluster)],
                                stderr=subprocess.DEVNULL)
               for kind in cluster for i in range(len(cluster[kind]))]
    try:
        import tensorflow as tf
        strategy = tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.SimpleClusterResolver(
                tf.train.ClusterSpec(cluster), rpc_layer="grpc"),
            variable_partitioner=tf.distribute.experimental.partitioners
            .FixedShardsPartitioner(2))
        main(strategy, tf.distribute.coordinator.ClusterCoordinator(strategy),
             lambda: cpu_seconds(members))
    finally:
        for m in members:
            m.kill()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
