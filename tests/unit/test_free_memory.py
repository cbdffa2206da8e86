"""How much memory there is: the least that the system, control groups and limits of the process leave."""

import ctypes
import resource
import subprocess
import sys

import pytest
import torch

from ctpwa.base import memory

CPU = torch.device("cpu")
MB = 1 << 20


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of files: writes what /proc and /sys say, and takes all real limits away."""
    limits = {resource.RLIMIT_AS: resource.RLIM_INFINITY, resource.RLIMIT_DATA: resource.RLIM_INFINITY}
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: (limits[kind], resource.RLIM_INFINITY))

    class Machine:
        def __init__(self):
            self.limits = limits
            (tmp_path / "proc" / "self").mkdir(parents=True)
            (tmp_path / "proc" / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {1000 * 1024} kB\n")

        def free(self):
            return memory.available_bytes(CPU, proc=tmp_path / "proc", groups=tmp_path / "groups")

        def process(self, **files):
            for name, text in files.items():
                (tmp_path / "proc" / "self" / name).write_text(text)

        def group(self, path, limit, used, inactive=0):
            folder = tmp_path / "groups" / path
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "memory.max").write_text(f"{limit}\n")
            (folder / "memory.current").write_text(f"{used}\n")
            (folder / "memory.stat").write_text(f"anon 5\ninactive_file {inactive}\n")

        def old_group(self, path, limit, used, inactive=0):
            folder = tmp_path / "groups" / "memory" / path
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "memory.limit_in_bytes").write_text(f"{limit}\n")
            (folder / "memory.usage_in_bytes").write_text(f"{used}\n")
            (folder / "memory.stat").write_text(f"inactive_file 1\ntotal_inactive_file {inactive}\n")

    return Machine()


def test_without_limits_it_is_what_the_system_has(machine):
    assert machine.free() == 1000 * MB
    machine.process(cgroup="0::/\n", status="VmSize:\t 100 kB\nVmData:\t 50 kB\n")
    machine.group("", "max", 5 * MB)
    assert machine.free() == 1000 * MB


@pytest.mark.parametrize("deep", ["", "job", "job/step/task"])
def test_a_limit_of_any_group_above_counts(machine, deep):
    machine.process(cgroup="0::/job/step/task\n")
    for path in ("", "job", "job/step", "job/step/task"):
        machine.group(path, 900 * MB if path != deep else 300 * MB, 100 * MB, 20 * MB)
    assert machine.free() == 220 * MB


def test_a_group_that_has_used_all_leaves_nothing(machine):
    machine.process(cgroup="0::/job\n")
    machine.group("job", 100 * MB, 120 * MB)
    assert machine.free() == 0


def test_groups_of_the_first_version(machine):
    machine.process(cgroup="12:cpu,cpuacct:/elsewhere\n7:memory:/slurm/job_5/step\n1:name=systemd:/x\n0::/\n")
    machine.old_group("", 9223372036854771712, 5 * MB)
    machine.old_group("slurm", 9223372036854771712, 5 * MB)
    machine.old_group("slurm/job_5", 400 * MB, 100 * MB, 50 * MB)
    machine.old_group("slurm/job_5/step", 500 * MB, 100 * MB)
    assert machine.free() == 350 * MB


def test_the_root_of_a_container_tells_its_limit(machine):
    """The path that the process sees is that of the host, which is not there."""
    machine.process(cgroup="7:memory:/docker/0123abcd\n0::/../../docker/0123abcd\n")
    machine.old_group("", 200 * MB, 50 * MB)
    assert machine.free() == 150 * MB
    machine.group("", 100 * MB, 50 * MB)
    assert machine.free() == 50 * MB


@pytest.mark.parametrize(("kind", "free"), [(resource.RLIMIT_AS, 300), (resource.RLIMIT_DATA, 350)])
def test_limits_of_the_process(machine, kind, free):
    machine.process(status="Name:\tpython: odd\nVmSize:\t  102400 kB\nVmData:\t   51200 kB\n")
    machine.limits[kind] = 400 * MB
    assert machine.free() == free * MB
    machine.limits[kind] = 10 * MB
    assert machine.free() == 0


def test_a_real_limit_is_seen():
    before = resource.getrlimit(resource.RLIMIT_AS)
    free = memory.available_bytes(CPU)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 40, before[1]))
    try:
        assert memory.available_bytes(CPU) == min(free, memory.available_bytes(CPU))
        (left, *_) = memory._free_of_limits()
        assert 0 < left < 1 << 40
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_damaged_files_say_nothing(machine):
    machine.process(cgroup="0::/job\n", status="VmSize: 1 kB\n")
    machine.group("job", "many", "few")
    assert machine.free() == 1000 * MB


LIBC = """
import ctypes, resource, threading
from pathlib import Path
from ctpwa.base import memory

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]

def take(n, size):
    blocks = [libc.malloc(size) for _ in range(n)]
    for block in blocks:
        ctypes.memset(block, 1, size)
    for block in blocks:
        libc.free(block)
"""
THREAD_THAT_ENDS = """
libc.mallopt(memory.M_TRIM_THRESHOLD, 2 * memory.LARGEST_HEAP_BLOCK)  # as after large blocks

def resident():
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()

before = resident()
thread = threading.Thread(target=take, args=(300, 100_000))
thread.start()
thread.join()
kept = resident() - before
memory.give_back_freed(threads=2)
print(kept, resident() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="memory is not managed by glibc")
def test_what_a_thread_that_has_ended_leaves_behind_is_given_back():
    """As in the preparation of events: all is free again, but glibc keeps it for the next thread.

    In a process of its own: where other threads have left something, a new one needs less.
    """
    run = subprocess.run([sys.executable, "-c", LIBC + THREAD_THAT_ENDS], capture_output=True, text=True, check=True)
    kept, left = map(int, run.stdout.split())
    assert kept > 25_000_000
    assert left < 5_000_000


CHUNKS = """
memory.keep_freed()
take(60, 500_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    take(60, 500_000)
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) * resource.getpagesize())
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="memory is not managed by glibc")
def test_what_a_chunk_has_freed_is_there_for_the_next():
    """By itself glibc asks the system for all of the 300 MB that ten chunks take."""
    run = subprocess.run([sys.executable, "-c", LIBC + CHUNKS], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 30_000_000
