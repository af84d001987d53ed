"""The cache of compiled code: where it lies, that it follows the sources, and that everything computes without one."""

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import distkern
from distkern.core import jit
from distkern.core.jit import CACHES, CALLED_FROM_CORE, Sources, private_folder

PACKAGE = Path(distkern.__file__).parent
JIT = Path(jit.__file__)

ROUTINE = """
from distkern.core.jit import compiled

@compiled
def add(a, b):
    return a + b
"""
CALLER = """
from distkern.core.jit import compiled
from distkern.compiled.inner import step

@compiled
def total(n):
    count = 0
    for i in range(n):
        count += step(i)
    return count
"""
ASK = "from distkern.compiled.outer import total\nprint(total(4))"


@pytest.fixture
def run(tmp_path):
    """Run a script that compiles one small routine, and return what it prints."""
    (tmp_path / "routine").mkdir()
    (tmp_path / "routine" / "small.py").write_text(ROUTINE)

    def run(before="", **env):
        script = f"import sys\nsys.path.insert(0, {str(tmp_path / 'routine')!r})\n{before}\n"
        script += "from small import add\nprint(add(1, 2), getattr(add, 'signatures', None))"
        command = [sys.executable, "-c", script]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | env).stdout

    return run


def inner(step):
    return f"from distkern.core.jit import compiled\n\n@compiled\ndef step(i):\n    return i + {step}\n"


@pytest.fixture
def package(tmp_path):
    """A package of two routines, of which one calls the other, under the policy of distkern."""
    folder = tmp_path / "installed" / "distkern"
    (folder / "core").mkdir(parents=True)
    (folder / "compiled").mkdir()
    for one in ("__init__.py", "core/__init__.py"):
        (folder / one).write_text("")
    shutil.copy(JIT, folder / "core")
    shutil.copy(PACKAGE / "compiled" / "__init__.py", folder / "compiled")
    (folder / "compiled" / "inner.py").write_text(inner(step=0))
    (folder / "compiled" / "outer.py").write_text(CALLER)
    return folder


def ask(path, script=ASK, **env):
    """What a script says that finds the package at a path."""
    plain = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    env = plain | {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"} | env
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def caches(folder):
    """Machine code of the calling routine, by the name of its cache."""
    return {path.parents[1].name: path.read_bytes() for path in folder.rglob("outer.total*.nbc")}


# Where it lies --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_routines_compile_without_a_writable_cache(run):
    """Numba finds no folder for its cache if neither the package nor the home can be written."""
    before = "import numba.core.caching as caching; caching.CacheImpl._locator_classes = []"
    assert run(before) == "3 [(int64, int64)]\n"


def test_routines_run_uncompiled_with_the_compiler_off(run):
    assert run(NUMBA_DISABLE_JIT="1") == "3 None\n"


@pytest.mark.slow
def test_read_only_package_is_cached_in_a_private_folder(run, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    before = (
        f"import os, tempfile; tempfile.tempdir = {str(temporary)!r}\n"
        "os.access = lambda path, mode: False"  # a read-only installation, for the superuser too
    )
    for _ in range(2):
        assert run(before) == "3 [(int64, int64)]\n"
        (folder,) = temporary.iterdir()
        assert folder.name == f"distkern-numba-{os.getuid()}"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert list(folder.rglob("*.nbc"))


NOTHING_CAN_BE_WRITTEN = """
import os, sys, tempfile
os.access = lambda path, mode: False  # a read-only installation, for the superuser too
tempfile.gettempdir = lambda: {temporary}
"""
"""Neither the package nor the temporary folder, which may be missing."""

WITHOUT_HOME = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "TMPDIR"), os.devnull)


@pytest.mark.parametrize("temporary", [f"{os.devnull!r}", "open('nowhere')"], ids=["read-only", "missing"])
def test_where_nothing_can_be_written_routines_work_and_one_warning_says_why_they_are_slow(tmp_path, temporary):
    before = NOTHING_CAN_BE_WRITTEN.format(temporary=temporary)
    script = f"{before}\nimport distkern as dk\nprint(dk.Linear()([[1.0, 2.0], [3.0, 4.0]]).tolist())"
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | WITHOUT_HOME
    (tmp_path / "here").mkdir(mode=0o500)
    for words, said, warnings in (
        (script, "[[5.0, 11.0], [11.0, 25.0]]\n", 1),
        (f"{before}\nsys.argv = ['distkern', '--help']\nfrom distkern.__main__ import main\nmain()", "Usage: ", 0),
    ):
        done = subprocess.run(
            [sys.executable, "-W", "always", "-c", words],
            capture_output=True, text=True, env=environment, cwd=tmp_path / "here", check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(said)
        assert done.stderr.count("set NUMBA_CACHE_DIR") == warnings, done.stderr
    assert not list((tmp_path / "here").iterdir())


def test_folder_that_others_can_write_is_not_used(tmp_path):
    assert private_folder(tmp_path / "mine") == tmp_path / "mine"
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "file").write_text("")
    for wrong in ("open", "link", "file", "none/below"):
        assert private_folder(tmp_path / wrong) is None


# It follows the sources -----------------------------------------------------------------------------------------------


def parsed(path):
    return ast.parse(path.read_text())


def test_the_digest_covers_all_that_routines_call():
    """Numba compares the file of a routine itself; the digest has all modules of this package that such files import.

    Types are no part of machine code, and what holds no routine is not called by one.
    """
    covered = {*(PACKAGE / "compiled").glob("*.py"), *(PACKAGE / f"{name}.py" for name in CALLED_FROM_CORE)}
    trees = {path: parsed(path) for path in PACKAGE.rglob("*.py") if "compiled" in path.read_text()}
    routines = {path for path, tree in trees.items() if _has_routines(tree)}
    assert PACKAGE / "core" / "random.py" in routines
    imported = {
        PACKAGE.parent / (module.replace(".", "/") + ".py")
        for path in covered | routines
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("distkern")
        for module in (str(node.module), *(f"{node.module}.{name.name}" for name in node.names))
    }
    assert imported & routines <= covered
    holds_no_constants = {PACKAGE / "core" / f"{name}.py" for name in ("typing", "blas")}
    in_compiled = {
        PACKAGE.parent / (str(node.module).replace(".", "/") + ".py")
        for path in (PACKAGE / "compiled").glob("*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("distkern.core")
    }
    assert in_compiled <= covered | holds_no_constants


def _has_routines(tree):
    decorators = [one for node in ast.walk(tree) for one in getattr(node, "decorator_list", ())]
    return any(isinstance(one, ast.Name) and one.id == "compiled" for one in decorators)


def test_the_digest_is_of_every_source_and_of_the_compiler(package, monkeypatch):
    found = [Sources(package).digest]
    assert Sources(package).digest == found[0]
    for file in ("compiled/inner.py", "compiled/outer.py", "core/jit.py"):
        path = package / file
        path.write_text(path.read_text() + "# a change\n")
        found.append(Sources(package).digest)
    (package / "compiled" / "inner.py").rename(package / "compiled" / "other.py")
    found.append(Sources(package).digest)
    monkeypatch.setattr(jit.numba, "__version__", "0.1")
    found.append(Sources(package).digest)
    assert len(set(found)) == len(found)
    (package / "compiled" / ".#inner.py").symlink_to("nowhere")  # as an editor leaves it while a file is open
    assert Sources(package).digest == found[-1]


def test_a_source_that_changes_under_a_process_is_noticed(package):
    """Also one of the same length whose time of change was set back."""
    sources, file = Sources(package), package / "compiled" / "inner.py"
    assert sources.digest
    assert sources.unchanged()
    before = file.stat()
    file.write_text(inner(step=1))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not sources.unchanged()
    assert Sources(package).unchanged()
    shutil.rmtree(package / "compiled")
    assert not sources.unchanged()


def test_what_is_not_a_file_has_no_digest(tmp_path):
    assert (Sources(tmp_path / "package.zip").digest, Sources(tmp_path / "package.zip").unchanged()) == ("", False)


def test_old_caches_are_removed(tmp_path):
    for number in range(5):
        folder = tmp_path / f"distkern-{number:016x}"
        assert jit._used(folder) == folder
        (folder / "code.nbc").write_bytes(b"0")
        os.utime(folder, (number, number))
    jit._used(tmp_path / f"distkern-{2:016x}")  # used again, so it outlives a younger one
    (tmp_path / "distkern-of-someone-else").mkdir()
    jit._used(tmp_path / ("distkern-" + "f" * 16))
    kept = {path.name[-1] for path in tmp_path.glob("distkern-" + "?" * 16)}
    assert kept == {"f", "2", "4"}
    assert len(kept) == CACHES
    assert (tmp_path / "distkern-of-someone-else").exists()


@pytest.mark.slow
def test_a_changed_callee_changes_the_result_of_its_caller(package):
    """Numba compares the file of the caller only: numba#1833. The sum of 0 … 3, then of 1 … 4, then as before."""
    assert ask(package.parent) == ["6"]
    (before,) = caches(package)
    (package / "compiled" / "inner.py").write_text(inner(step=1))
    assert ask(package.parent) == ["10"]
    assert len(caches(package)) == 2
    (package / "compiled" / "inner.py").write_text(inner(step=0))
    code = caches(package)[before]
    assert ask(package.parent) == ["6"]
    assert caches(package)[before] == code
    assert len(caches(package)) == 2


@pytest.mark.slow
def test_a_process_that_has_the_old_sources_keeps_no_code_of_new_ones(package):
    """As where ``git pull`` changes an editable installation while a program runs."""
    change = f"import pathlib; pathlib.Path({str(package / 'compiled' / 'inner.py')!r}).write_text({inner(step=1)!r})"
    while_running = f"import distkern.compiled.inner\n{change}\n{ASK}"
    assert ask(package.parent, while_running) == ["6"]  # it goes on with what it had loaded
    assert not caches(package)
    assert ask(package.parent) == ["10"]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["NUMBA_CACHE_DIR", "read-only", "zip"])
def test_a_changed_callee_is_noticed_wherever_the_cache_lies(package, tmp_path, where):
    path, script, env, cache = package.parent, ASK, {}, tmp_path / "cache"
    cache.mkdir()
    if where == "NUMBA_CACHE_DIR":
        env = {where: str(cache)}
    elif where == "read-only":
        script = f"import os, tempfile; tempfile.tempdir = {str(cache)!r}\nos.access = lambda *_: False\n{ASK}"
    else:
        path, env = tmp_path / "packed.zip", {"XDG_CACHE_HOME": str(cache)}
    for step, expected in ((0, "6"), (1, "10")):
        (package / "compiled" / "inner.py").write_text(inner(step=step))
        if where == "zip":
            with zipfile.ZipFile(path, "w") as packed:
                for file in package.rglob("*.py"):
                    packed.write(file, file.relative_to(package.parent))
        assert ask(path, script, **env) == [expected]
    assert len(caches(cache)) == (0 if where == "zip" else 2)
    assert not caches(package)
