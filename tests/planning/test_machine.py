"""Memory and cores within limits: a machine made of files."""

import os

import pytest

from regard.hardware import available_cores
from regard.planning.machine import available_memory, look_at_machine


def machine(root, cgroup: str, **files: str):
    """A root folder whose /proc says that 8 GB are available, and whose process is in a control group."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text("MemTotal:  16000000 kB\nMemAvailable:    8000000 kB\n")
    (root / "proc/self/cgroup").write_text(cgroup)
    for name, content in files.items():
        path = root / "sys/fs/cgroup" / name.replace("__", "/").replace("--", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def test_without_limits_it_is_what_the_machine_has(tmp_path):
    assert available_memory(machine(tmp_path, "0::/\n")) == 8_192_000_000


def test_a_container_leaves_less_and_its_file_pages_count_as_free(tmp_path):
    files = {"memory--max": "3000000000\n", "memory--current": "1000000000\n"}
    root = machine(tmp_path, "0::/\n", **files, **{"memory--stat": "anon 5\ninactive_file 200000000\n"})
    assert available_memory(root) == 2_200_000_000


def test_the_tightest_of_nested_groups_counts(tmp_path):
    files = {"a__memory--max": "2000000000", "a__memory--current": "1500000000", "a__b__memory--max": "max"}
    root = machine(tmp_path, "0::/a/b\n", **files, a__b__memory__current="1")
    assert available_memory(root) == 500_000_000


def test_the_first_version_of_groups(tmp_path):
    files = {"memory__memory--limit_in_bytes": "900000000", "memory__memory--usage_in_bytes": "100000000"}
    root = machine(tmp_path, "5:cpu:/x\n4:memory:/\n", **files)
    assert available_memory(root) == 800_000_000


def test_where_nobody_tells_nobody_knows(tmp_path):
    assert available_memory(tmp_path) is None


def test_the_disk_of_a_run_that_is_not_there_yet_is_that_of_the_folder_above(tmp_path):
    found = look_at_machine(tmp_path / "runs/new")
    assert found.disk > 0
    assert found.cores >= 1


@pytest.mark.parametrize(
    ("cgroup", "files", "cores"),
    [
        ("0::/\n", {}, 8),
        ("0::/\n", {"cpu--max": "max 100000\n"}, 8),
        ("0::/\n", {"cpu--max": "200000 100000\n"}, 2),
        ("0::/a/b\n", {"a__cpu--max": "150000 100000\n", "a__b__cpu--max": "600000 100000\n"}, 2),
        ("0::/\n", {"cpu--max": "20000 100000\n"}, 1),
        ("0::/\n", {"cpu--max": "1600000 100000\n"}, 8),
        ("0::/\n", {"cpu--max": "strange\n"}, 8),
        (
            "5:cpuacct,cpu:/x\n4:memory:/\n",
            {"cpu__cpu--cfs_quota_us": "300000\n", "cpu__cpu--cfs_period_us": "100000\n"},
            3,
        ),
        (
            "5:cpu,cpuacct:/\n",
            {"cpu__cpu--cfs_quota_us": "-1\n", "cpu__cpu--cfs_period_us": "100000\n"},
            8,
        ),
    ],
)
def test_a_container_may_take_the_time_of_fewer_cores(tmp_path, monkeypatch, cgroup, files, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert available_cores(machine(tmp_path, cgroup, **files)) == cores
