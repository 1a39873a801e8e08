"""A leader that nobody tells of a worker's death leaves all the same; one that is well is left alone."""

import subprocess
import sys
import threading
import time

from regard.train.watchman import watched

FOREVER = 60.0


def process(code):
    return subprocess.Popen([sys.executable, "-c", code])


def test_who_waits_for_a_dead_one_is_made_to_leave():
    left, messages = threading.Event(), []

    def leave(error):
        messages.append(str(error))
        left.set()

    worker = process("raise SystemExit(9)")
    with watched([process("pass"), worker], patience=0.1, leave=leave):
        assert left.wait(FOREVER)
    assert f"process {worker.pid} of this run has died" in messages[0]


def test_who_notices_by_itself_is_not_disturbed():
    messages = []
    worker = process("raise SystemExit(9)")
    with watched([worker], patience=FOREVER, leave=messages.append):
        worker.wait()
    assert messages == []


def test_an_ordinary_end_is_no_death():
    messages = []
    worker = process("pass")
    worker.wait()
    with watched([worker], patience=0.0, leave=messages.append):
        time.sleep(1.5)  # three looks
    assert messages == []


def test_the_leader_leaves_with_a_sentence_and_code_2():
    code = (
        "import subprocess, sys, time\n"
        "from regard.train.watchman import watched\n"
        "worker = subprocess.Popen([sys.executable, '-c', 'raise SystemExit(9)'])\n"
        "with watched([worker], patience=0.1):\n"
        "    time.sleep(600)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=FOREVER)
    assert done.returncode == 2
    assert done.stderr.startswith("regard: error: process ")
    assert done.stderr.endswith("has died: the same command goes on from the last checkpoint\n")
