"""The SIMD types and scalar functions of the core: test programs, compiled for each instruction set of this machine."""

from __future__ import annotations

import pathlib
import platform
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=gnu++20", "-O1", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", f"-I{ROOT / 'csrc'}"]
ISAS = {"baseline": [], "avx2": ["-march=x86-64-v3"], "avx512": ["-march=x86-64-v4", "-mprefer-vector-width=512"]}
NEEDED = {
    "baseline": set(),
    "avx2": {"avx2", "fma", "f16c", "bmi2"},
    "avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"},
}


def cpu_flags() -> set[str]:
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    return next((set(line.split()) for line in text.splitlines() if line.startswith("flags")), set())


@pytest.mark.parametrize("isa", ["baseline", pytest.param("avx2", marks=pytest.mark.slow), "avx512"])
@pytest.mark.parametrize("program", ["math_accuracy", "special_functions", "simd_types"])
def test_program(program: str, isa: str, tmp_path: pathlib.Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None or (isa != "baseline" and platform.machine() != "x86_64"):
        pytest.skip("needs g++ and the architecture")
    if not NEEDED[isa] <= cpu_flags():
        pytest.skip(f"this machine has no {isa}")
    binary = tmp_path / program
    source = ROOT / "tests" / "cpp" / f"{program}.cpp"
    cached = ["ccache"] if shutil.which("ccache") else []
    objects = [*cached, compiler, *FLAGS, *ISAS[isa], f"-DFL_ISA={isa}", "-c", str(source), "-o", f"{binary}.o"]
    subprocess.run(objects, check=True)
    subprocess.run([compiler, f"{binary}.o", "-o", str(binary)], check=True)
    result = subprocess.run([str(binary)], capture_output=True, text=True, timeout=60, check=False)
    failed = [line for line in result.stdout.splitlines() if line.startswith("FAIL")]
    assert result.returncode == 0, "\n".join(failed) or result.stderr
