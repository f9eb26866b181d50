"""The local executor's workers: how they end when the driver stops them."""

import subprocess
import sys

STOPPED = """
import multiprocessing, os, threading
from simfarm.executors.local import _work
ours, theirs = multiprocessing.Pipe()
ours.send("item")
def stop():
    assert ours.poll(10)
    ours.close()
threading.Thread(target=stop).start()
_work(theirs, lambda item: item, os.getppid())
"""


def test_a_worker_whose_answer_is_not_wanted_ends_without_a_word() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
