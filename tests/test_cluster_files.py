"""The launch files in jobs/cluster: what can be known of them without a cluster of that kind."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
CLUSTER = ROOT / "jobs" / "cluster"
CONSTRAINTS = dict(re.findall(r"^([\w-]+)==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["on-premise.yaml", "aws.yaml"])
def test_ray_up_takes_it(name: str) -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = yaml.safe_load((CLUSTER / name).read_text())
    validate_config(prepare_config(config))
    for mount in config["file_mounts"].values():
        assert mount.startswith(("~", "dist")) or (ROOT / mount).exists(), mount


def test_the_ray_job_has_the_tested_ray_and_a_config_that_is_there() -> None:
    job, claim = yaml.safe_load_all((CLUSTER / "rayjob.yaml").read_text())
    spec = job["spec"]["rayClusterSpec"]
    assert spec["rayVersion"] == CONSTRAINTS["ray"]
    pod = spec["headGroupSpec"]["template"]["spec"]
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    command = job["spec"]["entrypoint"].split()
    assert command[:2] == ["simfarm", "run"]
    assert (ROOT / command[2]).exists()
    mounts = [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]]
    assert command[-1].startswith(tuple(f"{mount}/" for mount in mounts)), "the run lies on the volume"


def test_the_slurm_script_is_a_script() -> None:
    script = CLUSTER / "slurm.sh"
    subprocess.run(["bash", "-n", script], check=True)
    done = subprocess.run(["bash", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: sbatch ")


def test_the_image_has_all_that_the_build_reads() -> None:
    copied = re.findall(r"^COPY (?:--\S+ )?(.+) \S+$", (CLUSTER / "Dockerfile").read_text(), re.MULTILINE)
    files = [file for line in copied for file in line.split()]
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {"pyproject.toml", "README.md", "simfarm", "engines", "jobs"} <= set(files) <= allowed
    assert all((ROOT / file).exists() for file in files)
