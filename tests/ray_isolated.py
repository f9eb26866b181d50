"""Plays on Ray nodes that have nothing but the installed package, each in a network and a mount namespace of its own.

Run by test_faults_ray_nodes.py in fresh namespaces, where this process is the driver: ``python -m
tests.ray_isolated SITE WHEELS WORK CONFIG...``. SITE is the folder of installed packages, in which this project is
installed editable; on the nodes it comes by PYTHONPATH, where that means nothing, and before it comes WHEELS, where
the project is installed for good. The nodes see neither the project's folder nor WORK, where the driver's runs are.
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import ray

from simfarm import run as runs
from simfarm.config import load_config
from simfarm.executors.local import LocalExecutor
from simfarm.executors.ray import RayExecutor
from simfarm.store import Run

HEAD = "10.77.0.1"
PORT = 6379
PROJECT = Path(__file__).parents[1]

NODE = """
set -e
read -r _
ip link set lo up
ip addr add {address}/24 dev eth0
ip link set eth0 up
mkdir -p {site} {wheels} /tmp/ray
mount --bind {real_site} {site}
mount --bind {real_wheels} {wheels}
cp {work}/stray.json {base}/stray.json
mount -t tmpfs none {project}
mount -t tmpfs none {work}
mount -t tmpfs none /tmp/ray
mkdir {work}/run0
cp {base}/stray.json {work}/run0/manifest.json
cd /
export PYTHONPATH={wheels}:{site} SIMFARM_CACHE={base}/cache
exec {python} -m ray.scripts.scripts start --address={head}:{port} --node-ip-address={address} --num-cpus=1 --block
"""


def main(site: str, wheels: str, work: str, *configs: str) -> None:
    """Start a head and two nodes, and play each config on them and here; the rows must be equal."""
    base = Path(work).parent / "node"
    # this Ray is not to be noted as the current one on the machine
    Path("/tmp/ray").mkdir(exist_ok=True)
    shell("mount -t tmpfs none /tmp/ray")
    shell("ip link set lo up")
    shell("ip link add br0 type bridge")
    shell(f"ip addr add {HEAD}/24 dev br0")
    shell("ip link set br0 up")
    # the base interpreter, not the environment's: nothing is installed there
    python = os.path.realpath(sys.executable)
    head = f"--head --node-ip-address={HEAD} --port={PORT} --num-cpus=0 --include-dashboard=false --block"
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", *head.split()]
    subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    runs_there = [(Path(work) / f"run{index}", load_config(Path(config))) for index, config in enumerate(configs)]
    # what the nodes have where the first run's folder is here: a run, but another one
    stray = Run.create(Path(work) / "stray", runs_there[0][1])
    (Path(work) / "stray.json").write_bytes((stray.path / "manifest.json").read_bytes())
    for index in (2, 3):
        script = NODE.format(
            address=f"10.77.0.{index}",
            site=base / "site",
            wheels=base / "wheels",
            real_site=site,
            real_wheels=wheels,
            work=work,
            project=PROJECT,
            base=base,
            python=python,
            head=HEAD,
            port=PORT,
        )
        node = subprocess.Popen(
            ["unshare", "--mount", "--net", "bash", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        until_own_network(node.pid)
        shell(f"ip link add veth{index} type veth peer name eth0 netns {node.pid}")
        shell(f"ip link set veth{index} master br0 up")
        until_reached(PORT)
        assert node.stdin is not None
        node.stdin.write("go\n")
        node.stdin.flush()
    address = f"{HEAD}:{PORT}"
    ray.init(address, logging_level="ERROR", log_to_driver=False)
    deadline = time.monotonic() + 60
    while ray.cluster_resources().get("CPU", 0) < 2:
        assert time.monotonic() < deadline, "two nodes"
        time.sleep(0.1)
    look = ray.remote(num_cpus=1)(sight)
    seen = ray.get([look.remote(str(PROJECT / "simfarm"), str(runs_there[1][0])) for _ in range(4)])
    ray.shutdown()
    for project, run, package, network in seen:
        assert not project
        assert not run
        assert package.startswith(str(base / "wheels")), package
        assert network != os.readlink("/proc/self/ns/net")
    for folder, config in runs_there:
        there = Run.create(folder, config)
        runs.play(there, RayExecutor(address), lambda progress: None)
        here = Run.create(folder.with_name(f"{folder.name}-here"), config)
        runs.play(here, LocalExecutor(), lambda progress: None)
        for table in here.engine.tables:
            if table.optional and table.name not in config.record:
                continue
            times = [column.name for column in table if column.time]
            found, wanted = (
                Run(run.path).lazy(table.name).drop(times).collect().sort(pl.all(), nulls_last=True)
                for run in (there, here)
            )
            assert found.height > 0
            assert found.equals(wanted), (config.engine, table.name)
        print("equal", config.engine, flush=True)
    assert any((base / "cache").iterdir()), "C was compiled on the nodes"


def sight(*paths: str) -> tuple[object, ...]:
    """Runs on a node: which paths exist, where the package is, which network it is in."""
    import simfarm

    return (*map(os.path.exists, paths), str(simfarm.__file__), os.readlink("/proc/self/ns/net"))


def shell(command: str) -> None:
    """Run a command."""
    subprocess.run(command.split(), check=True)


def until_own_network(pid: int) -> None:
    """Wait until a process is in its own network namespace."""
    deadline = time.monotonic() + 10
    while os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def until_reached(port: int) -> None:
    """Wait until the head listens."""
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection((HEAD, port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])
