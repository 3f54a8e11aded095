"""The launcher, on a small stand-in package: what it does must not depend on what the package holds."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "flambeau"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A directory with a package `flambeau` made of the real launcher and a few toy modules."""
    root = tmp_path_factory.mktemp("site")
    package = root / "flambeau"
    package.mkdir()
    shutil.copytree(SOURCE / "_launcher", package / "_launcher", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__main__.py", "version.py", "torch_version.py"):
        shutil.copy(SOURCE / name, package / name)
    (package / "nn" / "modules").mkdir(parents=True)
    (package / "__init__.py").write_text("from . import nn\nfrom .version import __version__\nclass Tensor: pass\n")
    (package / "nn" / "__init__.py").write_text("from . import modules\nfrom .modules import Linear\n")
    (package / "nn" / "modules" / "__init__.py").write_text("class Linear: pass\n")
    (package / "nn" / "functional.py").write_text("def relu(x): return max(x, 0)\n")
    (package / "tool.py").write_text("import sys\nprint('tool', __name__, sys.argv[1:])\n")
    return root


@pytest.fixture
def launch(site, tmp_path):
    def run(program, *arguments, options=(), path=(), prefix=()):
        """Writes `program` to a file, runs it through the launcher and returns the finished process."""
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(program))
        command = [sys.executable, *options, "-m", "flambeau", "run", *(prefix or [str(script)]), *arguments]
        search = os.pathsep.join([*map(str, path), str(site)])
        environment = {**os.environ, "PYTHONPATH": search}
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60)

    return run


def lines(process) -> list[str]:
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()


def test_torch_names_and_identity(launch):
    out = lines(
        launch(
            """
            import sys, importlib
            import torch, torch.nn.functional as F
            from torch.nn import functional
            import flambeau, flambeau.nn.functional
            print(torch.nn.Linear)
            print(torch is flambeau, torch.nn is flambeau.nn, F is functional is flambeau.nn.functional)
            print(importlib.import_module("flambeau.nn.modules") is sys.modules["torch.nn.modules"])
            print(torch.__spec__.name, F.__spec__.name, F.__name__, torch.nn.__package__)
            from importlib.util import find_spec
            print(find_spec("torch").name, find_spec("torch.nn.functional").origin == F.__file__)
            print(find_spec("torch.missing"), find_spec("flambeau.missing"))
            """
        )
    )
    assert out == [
        "<class 'torch.nn.modules.Linear'>",
        "True True True",
        "True",
        "torch torch.nn.functional torch.nn.functional torch.nn",
        "torch True",
        "None None",
    ]


@pytest.mark.parametrize("name", ["torch.missing", "flambeau.missing"])
def test_missing_modules_are_missing(launch, name):
    process = launch(f"import {name}")
    assert f"ModuleNotFoundError: No module named '{name}'" in process.stderr


def test_version_is_answered_everywhere(launch):
    out = lines(
        launch(
            """
            import importlib.metadata as metadata
            print(metadata.version("torch"), metadata.distribution("torch").metadata["Name"])
            print("torch" in {d.metadata["Name"] for d in metadata.distributions()})
            print("torch" in metadata.packages_distributions().get("torch", []))
            import torch
            print(torch.__version__, isinstance(torch.__version__, str))
            """
        )
    )
    version = out[0].split()[0]
    assert version.startswith("2.13.0")
    assert out == [f"{version} torch", "True", "True", f"{version} True"]


def test_program_sees_what_python_would_give_it(launch, tmp_path):
    program = """
        import sys
        print(__name__, __file__, sys.argv, sys.path[0], sys.modules["__main__"].__file__, __spec__)
        print([entry for entry in sys.path if "startup" in entry])
        """
    out = lines(launch(program, "--epochs", "3", "-m", "x"))
    script = str(tmp_path / "program.py")
    assert out == [f"__main__ {script} {[script, '--epochs', '3', '-m', 'x']} {tmp_path} {script} None", "[]"]


def test_module_and_code_forms(launch):
    assert lines(launch("", "a", prefix=["-m", "torch.tool"])) == ["tool __main__ ['a']"]
    assert lines(launch("", "a", prefix=["-m", "flambeau.tool"])) == ["tool __main__ ['a']"]
    assert lines(launch("", "b", prefix=["-c", "import torch, sys; print(torch.__name__, sys.argv)"])) == [
        "torch ['-c', 'b']"
    ]


@pytest.mark.parametrize("options", [("-u",), ("-O", "-X", "utf8"), ("-W", "error")])
def test_interpreter_options_are_kept(launch, options):
    out = lines(launch("import sys; print(sys.orig_argv[1:-1])", options=options))
    assert out == [str(list(options))]


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_options_that_would_hide_us_are_refused(site, option):
    command = [sys.executable, option, "-c"]
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r}); import flambeau._launcher as l; sys.exit(l.main(['run', 'x']))"
    )
    process = subprocess.run([*command, code], capture_output=True, text=True)
    assert process.returncode == 2 and "hide flambeau" in process.stderr


def test_usage(site):
    environment = {**os.environ, "PYTHONPATH": str(site)}

    def run(*arguments):
        command = [sys.executable, "-m", "flambeau", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    assert run().returncode == 2 and "usage" in run("run").stderr
    assert "2.13.0" in run("--version").stdout and "usage" in run("--help").stdout


def test_traceback_and_exit_status(launch):
    process = launch("import torch\nraise ValueError('wrong')")
    assert process.returncode == 1
    assert "flambeau" not in process.stderr and "runpy" not in process.stderr
    assert process.stderr.count("File ") == 1
    assert launch("import sys; sys.exit(7)").returncode == 7
    assert launch("import os, signal; os.kill(os.getpid(), signal.SIGTERM)").returncode == -15


def test_children_inherit(launch):
    out = lines(
        launch(
            """
            import multiprocessing, subprocess, sys
            import torch

            def work(queue):
                import torch.nn.functional as F, flambeau
                queue.put((torch.Tensor.__module__, F.__name__, flambeau is torch))

            if __name__ == "__main__":
                for method in ("fork", "spawn", "forkserver"):
                    context = multiprocessing.get_context(method)
                    queue = context.Queue()
                    process = context.Process(target=work, args=(queue,))
                    process.start()
                    print(method, queue.get(timeout=30))
                    process.join()
                code = "import torch; print('child', torch.nn.Linear.__module__)"
                print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
            """
        )
    )
    assert out == [f"{m} ('torch', 'torch.nn.functional', True)" for m in ("fork", "spawn", "forkserver")] + [
        "child torch.nn.modules"
    ]


def test_launcher_inside_a_launched_program(launch):
    out = lines(
        launch(
            """
            import os, subprocess, sys
            code = "import os, torch; print(os.environ['PYTHONPATH'])"
            command = [sys.executable, "-m", "flambeau", "run", "-c", code]
            inner = subprocess.run(command, capture_output=True, text=True).stdout.strip()
            print(inner == os.environ["PYTHONPATH"], inner.count("startup"))
            """
        )
    )
    assert out == ["True 1"]


def test_a_sitecustomize_of_the_user_still_runs(launch, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys, torch\nsys.seen = (__file__, torch.__name__)\n")
    program = """
        import os, subprocess, sys
        import sitecustomize
        print(sys.seen, sitecustomize.__file__)
        if len(sys.argv) == 1:
            sys.stdout.flush()
            subprocess.run([sys.executable, __file__, "child"])
        """
    expected = str(own / "sitecustomize.py")
    assert lines(launch(program, path=[own])) == [f"{(expected, 'torch')} {expected}"] * 2


def test_a_failing_sitecustomize_is_reported_as_python_does(launch, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("1 / 0\n")
    process = launch("import torch; print(torch.__name__)", path=[own])
    assert process.stdout == "torch\n" and "ZeroDivisionError" in process.stderr


def test_versions_order_as_pytorchs_do():
    ours = pytest.importorskip("flambeau").torch_version.TorchVersion
    theirs = pytest.importorskip("torch").torch_version.TorchVersion
    others = ["2.13", "2.13.0", "2.13.0+cpu", "2.9", "2.13.1", "2.13.0a0", "2.13.0.dev20200101", "parrot", "10.0"]
    for text in ("2.13.0+cpu", "2.13.0"):
        for other in [*others, (2, 13), (2,), (3,), [2, 13, 1], (2, "13")]:
            one, two = ours(text), theirs(text)
            assert (one == other, one < other, one <= other, one > other, one >= other) == (
                two == other,
                two < other,
                two <= other,
                two > other,
                two >= other,
            ), other
