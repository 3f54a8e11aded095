"""The examples run under flambeau and print what they print under PyTorch."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
FLAMBEAU = [sys.executable, "-m", "flambeau", "run"]
PYTORCH = [sys.executable]


def output(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_curve(tmp_path):
    # In float32 the last bits of 300 Adam steps grow: the losses agree, their fourth digit need not.
    program = str(EXAMPLES / "curve.py")
    ours, theirs = (
        [float(line.split()[-1]) for line in output([*library, program], tmp_path)] for library in (FLAMBEAU, PYTORCH)
    )
    assert ours[0] == theirs[0]
    assert ours == pytest.approx(theirs, rel=0.05)


@pytest.mark.slow
def test_digits(tmp_path):
    program = [str(EXAMPLES / "digits.py"), "--epochs", "3"]
    *ours, summary = output([*FLAMBEAU, *program], tmp_path)
    assert (tmp_path / "digits.pt").stat().st_size > 50_000
    assert (tmp_path / "digits.png").read_bytes()[:4] == b"\x89PNG"
    assert "digits.png" in summary
    assert ours == output([*PYTORCH, *program], tmp_path)[:-1]


def test_readme_shows_the_first_program():
    lines = (EXAMPLES / "curve.py").read_text().split('"""\n')[1].split("    if step")[0]
    shown = (EXAMPLES.parent / "README.md").read_text()
    assert lines.strip() in shown
