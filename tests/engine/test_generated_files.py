"""Code that is kept and run later: nobody else can put some there, nothing on disk can break a fit, and it does not grow for ever."""

import importlib.util
import inspect
import marshal
import os
import pickle
import resource
import stat
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ctpwa.base.errors import CtpwaError
from ctpwa.engine.backends.cpu.threads import ThreadedKernel
from ctpwa.engine.codegen import kept_files, private_folder
from ctpwa.engine.codegen.generated_modules import load_generated
from ctpwa.engine.codegen.kept_files import cache_folder, remove_oldest
from ctpwa.engine.codegen.machine_code import code_path
from ctpwa.engine.codegen.triton_files import ready_triton_folder, triton_folder
from engine.cases import make


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Of a process that starts: no generated module is loaded yet that is loaded in the test."""
    monkeypatch.setenv("CTPWA_CACHE", str(tmp_path / "cache"))
    before = set(sys.modules)
    yield tmp_path / "cache" / "kernels"
    for name in set(sys.modules) - before:
        if name.startswith("ctpwa_"):
            del sys.modules[name]


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def forget(module):
    sys.modules.pop(module.__name__, None)


@contextmanager
def full_disk(size):
    """No file can get larger than so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# text


def test_a_module_is_written_once_and_found_by_its_content(folder):
    module = load_generated("demo", "ANSWER = 42\n")
    assert module.ANSWER == 42
    (name,) = files(folder)
    assert name == f"{module.__name__}.py"
    assert (folder / name).read_text(encoding="utf-8") == "ANSWER = 42\n"
    assert load_generated("demo", "ANSWER = 42\n") is module
    other = load_generated("demo", "ANSWER = 43\n")
    assert other.ANSWER == 43
    assert len(files(folder)) == 2
    forget(module)
    before = (folder / name).stat().st_ino
    assert load_generated("demo", "ANSWER = 42\n").ANSWER == 42
    assert (folder / name).stat().st_ino == before


def test_a_damaged_file_is_written_again(folder):
    text = "VALUE = 'λ → whole'\n"
    module = load_generated("damaged", text)
    path = Path(module.__file__)
    for content in (b"VALUE = 'changed'\n", b"VALUE = 'lam", b"", b"\xff\xfe\x00"):
        path.write_bytes(content)
        forget(module)
        module = load_generated("damaged", text)
        assert module.VALUE == "λ → whole"
        assert path.read_text(encoding="utf-8") == text
    assert files(folder) == [path.name]


@pytest.mark.parametrize("old", [None, b"# of before\n"])
def test_a_disk_that_is_full_leaves_no_half_of_a_file(folder, old):
    text = "".join(f"X{i} = {i}\n" for i in range(1000))
    path = Path(load_generated("full", text).__file__)
    forget(sys.modules[path.stem])
    path.unlink()
    if old is not None:
        path.write_bytes(old)
    with pytest.warns(UserWarning, match="not kept, and every process compiles them again"), full_disk(1000):
        module = load_generated("full", text)
    assert module.X999 == 999
    assert files(folder) == ([] if old is None else [path.name])
    assert old is None or path.read_bytes() == old


def test_another_process_sees_a_file_whole_or_not_at_all(folder, monkeypatch):
    text, seen = "".join(f"X{i} = {i}\n" for i in range(1000)), []
    replace = os.replace

    def look(new, path):
        seen.append((os.path.exists(path), Path(new).read_text(encoding="utf-8") == text, stat.S_IMODE(os.stat(new).st_mode)))
        replace(new, path)

    monkeypatch.setattr(kept_files.os, "replace", look)
    path = load_generated("whole", text).__file__
    assert seen == [(False, True, 0o600)]
    assert Path(path).read_text(encoding="utf-8") == text


def test_a_module_that_fails_is_not_kept(folder):
    text = "raise RuntimeError('broken')\n"
    for _ in range(2):
        with pytest.raises(RuntimeError, match="broken"):
            load_generated("broken", text)
    assert not any(name.startswith("ctpwa_broken") for name in sys.modules)


def test_tracebacks_and_inspection_know_the_text_without_a_file(folder):
    text = "def divide(x):\n    return 1 / x  # a line of generated code\n"
    module = load_generated("traced", text)
    os.unlink(module.__file__)
    assert inspect.getsource(module.divide) == text
    with pytest.raises(ZeroDivisionError) as caught:
        module.divide(0)
    assert "a line of generated code" in "".join(traceback.format_exception(caught.value))


# where


def test_the_folder_of_the_user_is_respected(tmp_path, monkeypatch):
    monkeypatch.setenv("CTPWA_CACHE", str(tmp_path / "deep" / "mine"))
    assert cache_folder() == tmp_path / "deep" / "mine" / "kernels"
    module = load_generated("elsewhere", "Y = 2\n")
    assert Path(module.__file__).is_relative_to(tmp_path / "deep" / "mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTPWA_CACHE", "here")
    assert cache_folder() == tmp_path / "here" / "kernels"
    monkeypatch.delenv("CTPWA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "ctpwa" / "kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "ctpwa" / "kernels"


def test_these_tests_do_not_touch_the_cache_of_the_user(cache_folder):
    assert kept_files.cache_folder() == cache_folder / "kernels"


def no_home(monkeypatch, tmp_path):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("Could not determine home directory.")))
    return "Could not determine home directory"


def home_is_a_file(monkeypatch, tmp_path):
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return "Not a directory"


def home_is_read_only(monkeypatch, tmp_path):
    access = os.access
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).startswith(str(tmp_path)) and access(path, mode))
    return "Permission denied"


def the_folder_given_is_a_file(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("CTPWA_CACHE", str(tmp_path / "file"))
    return "Not a directory"


@pytest.mark.parametrize("trouble", [no_home, home_is_a_file, home_is_read_only, the_folder_given_is_a_file])
def test_without_a_folder_code_runs_all_the_same(trouble, tmp_path, monkeypatch):
    monkeypatch.delenv("CTPWA_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    reason = trouble(monkeypatch, tmp_path)
    text = f"# {trouble.__name__}\n" + KERNEL.format(number=1)
    with pytest.warns(UserWarning, match=rf"compiles them again: {reason}[^\n]*\n fix: set CTPWA_CACHE"):
        module = load_generated("homeless", text)
    assert Kernel(module)(1) == 2
    assert inspect.getsource(module.f).endswith("x[0] + 1\n")


# who else can write there


def refused(reason):
    name = f"refused_{len(sys.modules)}"
    with pytest.raises(
        CtpwaError, match=rf"no place for code.*: {reason}[^\n]*\n fix: set CTPWA_CACHE to a folder that only you can write"
    ):
        load_generated(name, "X = 1\n")


def test_folders_are_made_for_the_user_alone(folder):
    before = os.umask(0)
    try:
        load_generated("private", "X = 1\n")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)] == [0o700, 0o700]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777, 0o720])
def test_a_folder_that_others_can_write_is_refused(folder, mode):
    folder.mkdir(parents=True)
    folder.chmod(mode)
    refused(f"others can write into '{folder}'")


@pytest.mark.parametrize("variable", ["CTPWA_CACHE", "XDG_CACHE_HOME"])
def test_a_folder_that_others_can_replace_is_refused(variable, tmp_path, monkeypatch):
    monkeypatch.delenv("CTPWA_CACHE", raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "open" / "cache"))
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    refused(f"others can write into '{tmp_path / 'open'}'")
    (tmp_path / "open").chmod(0o1777)  # as /tmp is
    assert load_generated("sticky", "X = 1\n").X == 1


def test_links_are_followed_and_checked(folder, tmp_path):
    real = tmp_path / "open" / "real"
    real.mkdir(parents=True, mode=0o700)
    folder.parent.mkdir(parents=True)
    folder.symlink_to("../open/real")
    assert load_generated("linked", "X = 3\n").X == 3
    assert len(files(real)) == 1
    (tmp_path / "open").chmod(0o777)
    refused(f"others can write into '{tmp_path / 'open'}'")


def test_a_ring_of_links_is_no_folder(folder):
    folder.parent.mkdir(parents=True)
    folder.symlink_to(folder)
    with pytest.warns(UserWarning, match="Too many levels of symbolic links"):
        assert load_generated("ring", "X = 4\n").X == 4


@pytest.mark.parametrize("whose", ["cache", "cache/kernels", "cache/kernels -> elsewhere"])
def test_what_belongs_to_another_user_is_refused(folder, whose, tmp_path, monkeypatch):
    name, _, target = whose.partition(" -> ")
    foreign = str(tmp_path / name)
    folder.parent.mkdir(parents=True)
    if target:
        (tmp_path / target).mkdir()
        folder.symlink_to(tmp_path / target)
    lstat = os.lstat

    def of_another(path, **rest):
        about = lstat(path, **rest)
        return SimpleNamespace(st_mode=about.st_mode, st_gid=about.st_gid, st_uid=4711) if str(path) == foreign else about

    monkeypatch.setattr(private_folder.os, "lstat", of_another)
    refused(rf"'{foreign}' belongs to another user \(number 4711\)")


@pytest.mark.parametrize(
    ("name", "members", "alone"), [("me", [], True), ("me", ["me"], True), ("me", ["me", "you"], False), ("bes", [], False)]
)
def test_parents_may_belong_to_a_group_of_one(folder, name, members, alone, monkeypatch):
    monkeypatch.setattr(private_folder.pwd, "getpwuid", lambda _: SimpleNamespace(pw_name="me", pw_gid=folder.parent.stat().st_gid))
    monkeypatch.setattr(private_folder.grp, "getgrgid", lambda _: SimpleNamespace(gr_name=name, gr_mem=members))
    folder.parent.mkdir(parents=True)
    folder.parent.chmod(0o770)
    if alone:
        assert load_generated("group", "X = 5\n").X == 5
    else:
        refused(f"others can write into '{folder.parent}'")


# planted code


class Planted:
    """Pickled, it runs code when it is loaded."""

    def __reduce__(self):
        return exec, ("import builtins; builtins.planted = True",)


@pytest.fixture
def clean():
    import builtins

    builtins.planted = False
    yield lambda: not builtins.planted
    del builtins.planted


def test_bytecode_is_never_read(folder, clean):
    text = "X = 6\n"
    module = load_generated("bytecode", text)
    path = Path(module.__file__)
    about = path.stat()
    code = marshal.dumps(compile("import builtins; builtins.planted = True; X = 'planted'", str(path), "exec"))
    times = int(about.st_mtime).to_bytes(4, "little") + about.st_size.to_bytes(4, "little")
    headers = [(0).to_bytes(4, "little") + times, (1).to_bytes(4, "little") + bytes(8), (3).to_bytes(4, "little")]
    headers[2] += importlib.util.source_hash(text.encode())
    planted = Path(importlib.util.cache_from_source(str(path)))
    planted.parent.mkdir()
    for header in headers:
        planted.write_bytes(importlib.util.MAGIC_NUMBER + header + code)
        os.utime(path, (about.st_atime, about.st_mtime))
        forget(module)
        module = load_generated("bytecode", text)
        assert module.X == 6
        assert clean()
        planted.unlink()
    forget(module)
    load_generated("bytecode", text)
    assert list(planted.parent.iterdir()) == []


KERNEL = "import numpy as np\n\n\ndef f(x, out, thread, n_threads):\n    out[thread] = x[0] + {number}\n"


class Kernel:
    """The kernel of a module, as the CPU engine calls it."""

    def __init__(self, module):
        self.module = module
        self._run = ThreadedKernel(module.f, code_path(module, "f"))

    def __call__(self, value):
        x = np.array([value])
        out = np.zeros(2, dtype=x.dtype)
        self._run(2, x, out)
        assert out[0] == out[1]
        return out[0]

    @property
    def found(self):
        """Whether machine code was on disk, for each kind of arguments."""
        return [code.kept for code in self._run.compiled.values()]


def kernel(number):
    return Kernel(load_generated("kernel", KERNEL.format(number=number)))


def test_kernels_of_the_engine_are_kept_here(cache_folder):
    engine = make("small", "cpu").engine
    engine.prepare()
    assert set(engine._kernels) == {"sums_1", "sums_2", "columns"}
    for name in engine._kernels:
        assert list((cache_folder / "kernels").glob(f"{engine._module.__name__}.{name}.*.bin"))


def machine_code(folder):
    (path,) = folder.glob("ctpwa_*.bin")
    return path


def again(one, number):
    """The same kernel in a process that starts."""
    forget(one.module)
    return kernel(number)


def test_machine_code_is_kept_for_other_processes(folder):
    one = kernel(20)
    assert one(1) == 21
    assert one.found == [False]
    one = again(one, 20)
    assert one(1) == 21
    assert one.found == [True]
    assert one(1.5) == 21.5
    assert one.found == [True, False]
    assert len(list(folder.glob("ctpwa_*.bin"))) == 2


def plant(path):
    path.write_bytes(hash_and(pickle.dumps(Planted())))


def hash_and(content):
    import hashlib

    return hashlib.sha256(content).digest() + content


def writable_by_others(path, monkeypatch):
    plant(path)
    path.chmod(0o620)


def of_another_user(path, monkeypatch):
    plant(path)
    monkeypatch.setattr(kept_files, "is_own_file", lambda about: about.st_ino != path.stat().st_ino)


def link_to_a_file(path, monkeypatch):
    plant(path)
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def pipe(path, monkeypatch):
    path.unlink()
    os.mkfifo(path)


def truncated(path, monkeypatch):
    path.write_bytes(path.read_bytes()[:-100])


def flipped(path, monkeypatch):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def empty(path, monkeypatch):
    path.write_bytes(b"")


def garbage(path, monkeypatch):
    path.write_bytes(b"garbage" * 20)


@pytest.mark.parametrize("damage", [writable_by_others, of_another_user, link_to_a_file, pipe, truncated, flipped, empty, garbage])
def test_machine_code_that_is_damaged_or_foreign_is_compiled_again(damage, folder, clean, monkeypatch):
    one = kernel(30)
    one(1)
    path = machine_code(folder)
    with monkeypatch.context() as patch:
        damage(path, patch)
        one = again(one, 30)
        assert one(1) == 31
        assert one.found == [False]
    assert clean()
    one = again(one, 30)
    assert one(1) == 31
    assert one.found == [True]


def test_what_cannot_be_mended_is_done_without_with_one_warning(folder):
    one = kernel(40)
    one(1)
    path = machine_code(folder)
    path.unlink()
    path.mkdir()
    one = again(one, 40)
    with pytest.warns(UserWarning, match="Is a directory") as found:
        assert one(1) == 41
    assert len(found) == 1
    assert path.is_dir()
    assert files(path) == []


def test_a_disk_that_is_full_breaks_nothing(folder):
    one = kernel(50)
    with pytest.warns(UserWarning, match="compiles them again: File too large"), full_disk(500):
        assert one(1) == 51
    assert files(folder) == [f"{one.module.__name__}.py"]


# Triton's folder


def test_the_folder_of_triton_is_the_one_it_uses(tmp_path, monkeypatch):
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    monkeypatch.delenv("TRITON_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert triton_folder() == tmp_path / ".triton" / "cache"
    monkeypatch.setenv("TRITON_HOME", str(tmp_path / "home"))
    assert triton_folder() == tmp_path / "home" / ".triton" / "cache"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "mine"))
    assert triton_folder() == tmp_path / "mine"
    ready_triton_folder()
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o700
    (tmp_path / "mine").chmod(0o777)
    with pytest.raises(CtpwaError, match=r"others can write into [^\n]*\n fix: set TRITON_CACHE_DIR"):
        ready_triton_folder()


def test_triton_gets_a_folder_for_the_process_if_it_has_none(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match=r"GPU kernels are not kept.*Not a directory[^\n]*\n fix: set TRITON_CACHE_DIR"):
        ready_triton_folder()
    own = triton_folder()
    assert own.is_dir()
    assert own.name.startswith("ctpwa-triton-")
    ready_triton_folder()
    own.rmdir()


# size


def test_what_was_used_longest_ago_is_removed(folder):
    folder.mkdir(parents=True)
    for age, name in enumerate(["newest", "new", "old", "oldest"]):
        for end in ("py", "f.1.bin", "g.2.bin"):
            (folder / f"{name}.{end}").write_bytes(bytes(100))
            os.utime(folder / f"{name}.{end}", (1e9 - age, 1e9 - age))
    remove_oldest(folder, 1200)
    assert len(files(folder)) == 12
    remove_oldest(folder, 1199)
    assert {name.partition(".")[0] for name in files(folder)} == {"newest", "new", "old"}
    os.utime(folder / "old.py")  # it is used again
    remove_oldest(folder, 600)
    assert {name.partition(".")[0] for name in files(folder)} == {"newest", "old"}
    remove_oldest(folder, 1)
    assert files(folder) == ["old.f.1.bin", "old.g.2.bin", "old.py"]


def test_the_folder_stays_small_by_itself(folder):
    texts = [f"X = {i}  # {'x' * 3000}\n" for i in range(6)]
    for text in texts:
        module = load_generated("many", text)
        kept_files.keep(Path(module.__file__), text.encode(), most_bytes=10_000)
        os.utime(module.__file__, (1e9 + module.X, 1e9 + module.X))
    assert len(files(folder)) == 3
    forget(load_generated("many", texts[0]))
    assert load_generated("many", texts[0]).X == 0  # the oldest is gone, and made again


def test_others_may_remove_at_the_same_time(folder, monkeypatch):
    folder.mkdir(parents=True)
    for name in ("a", "b", "c"):
        (folder / f"{name}.py").write_bytes(bytes(100))
    unlink = os.unlink

    def quicker(path):
        unlink(path)
        unlink(path)

    monkeypatch.setattr(kept_files.os, "unlink", quicker)
    remove_oldest(folder, 1)
    assert len(files(folder)) == 1


def test_prepared_kernels_are_those_that_are_used():
    """After ``prepare`` nothing is compiled any more, whatever is asked for."""
    like = make("small", "cpu")
    like.engine.prepare()
    kernels = like.engine._kernels
    before = {name: list(kernel.compiled) for name, kernel in kernels.items()}
    assert all(len(kinds) == 1 for kinds in before.values())
    x = like.start
    like.value(x)
    like.value_and_grad(x)
    like.value_grad_hessian(x)
    like.intensity(x)
    assert {name: list(kernel.compiled) for name, kernel in kernels.items()} == before
