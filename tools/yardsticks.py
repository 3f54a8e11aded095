"""Where the project stands, in one table: conformance, cases, programs, cost of a call, start-up, size.

    make yardsticks                          # sets up both environments
    make yardsticks ARGS="--only speed,size"

The referees live outside the repository, in --shared: each is run as its own README says, and its full results are kept
in --out. `--python` has flambeau and PyTorch, `--python-without-torch` only flambeau, since a program must not find the
other one by accident.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = "S1,S2,S4,S5,S8,A1,A2,A3"
DTYPES = "float32,float64,int64,bool,complex64"
SIZE = """
import importlib.metadata, pathlib
names = {"flambeau", "scipy-openblas32"}
files = (pathlib.Path(f.locate()) for name in names for f in importlib.metadata.files(name))
print(sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc"))
"""


class Row(NamedTuple):
    what: str
    value: str
    note: str = ""


class Unavailable(Exception):
    """A referee could not be run; the message says why."""


def run(options: argparse.Namespace, name: str, command: list[str]) -> str:
    """Runs a referee, keeping what it prints in a log. Its exit status only says whether everything passed."""
    log = options.out / f"{name}.log"
    print(f"  {name}: {' '.join(command)}", file=sys.stderr, flush=True)
    with log.open("w") as file:
        subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, cwd=options.out, check=False)
    return log.read_text()


def load(path: Path, log: str):
    if not path.exists():
        lines = log.strip().splitlines() or ["printed nothing"]
        raise Unavailable(lines[-1][:80])
    return json.loads(path.read_text())


def fresh(path: Path) -> Path:
    path.unlink(missing_ok=True)
    return path


def counts(statuses: Counter[str]) -> str:
    return ", ".join(f"{number} {status}" for status, number in statuses.most_common())


def conformance(options: argparse.Namespace) -> list[Row]:
    result = fresh(options.out / "conformance.json")
    tool = options.shared / "conformance" / "opinfo.py"
    command = [options.python, str(tool), "--lib", "flambeau", "--dtypes", DTYPES, "--limit-samples", "10"]
    command += ["--json", str(result), "--ops", options.ops]
    log = run(options, "conformance", command)
    statuses = Counter(load(result, log)["totals"]["status"])
    passed, total = statuses.pop("PASS", 0), statuses.total()
    return [Row("ops that pass PyTorch's own samples", f"{passed} of {passed + total}", counts(statuses))]


def cases(options: argparse.Namespace) -> list[Row]:
    result = fresh(options.out / "cases.json")
    command = [options.python, str(options.shared / "cases" / "run.py"), "--lib", "flambeau", "--json", str(result)]
    log = run(options, "cases", [*command, "--python", options.python])
    statuses = Counter(row["status"] for row in load(result, log))
    passed = statuses.pop("PASS", 0)
    return [Row("behaviours users reported elsewhere", f"{passed} of {passed + statuses.total()}", counts(statuses))]


def programs(options: argparse.Namespace) -> list[Row]:
    result = fresh(options.out / "programs.json")
    command = [options.python, str(options.shared / "programs" / "run.py"), "--lib", "flambeau"]
    command += ["--python", options.python_without_torch, "--ids", options.programs, "--json", str(result)]
    log = run(options, "programs", command)
    rows = load(result, log)
    passed = sum(row["status"].startswith("PASS") for row in rows)
    others = [f"{row['id']} {row['status']}" for row in rows if row["status"] != "PASS"]
    return [Row("public programs, unmodified", f"{passed} of {len(rows)}", ", ".join(others))]


def speed(options: argparse.Namespace) -> list[Row]:
    result = fresh(options.out / "bench.json")
    tool = options.shared / "bench" / "run.py"
    command = [options.python, str(tool), "--a", "flambeau", "--b", "torch", "--only", "startup,overhead"]
    log = run(options, "bench", [*command, "--out", str(result.with_suffix(""))])
    measured = load(result, log)
    rows = [speed_row(row) for row in measured if row["name"] != "startup/import: installed size"]
    ratios = [row["ratio"][1] for row in measured if row["name"].startswith("overhead") and row["status"] == "ok"]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        rows.append(Row("overhead, geometric mean", f"{mean:.2f} of PyTorch's", f"{len(ratios)} workloads"))
    return rows


def speed_row(row: dict) -> Row:
    if "ratio" not in row:
        return Row(row["name"], row["status"], str(row["errors"])[:80])
    low, ratio, high = row["ratio"]
    note = f"{ratio:.2f} ({low:.2f} to {high:.2f}) of PyTorch's {row['b']:,.4g} {row['unit']}"
    return Row(
        row["name"], f"{row['a']:,.4g} {row['unit']}", note if row["status"] == "ok" else f"{row['status']}: {note}"
    )


def size(options: argparse.Namespace) -> list[Row]:
    done = subprocess.run([options.python_without_torch, "-c", SIZE], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(done.stderr.strip().splitlines()[-1])
    return [Row("installed size without NumPy", f"{int(done.stdout) / 1e6:.1f} MB", "flambeau and scipy-openblas32")]


REFEREES: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
    "conformance": conformance,
    "cases": cases,
    "programs": programs,
    "speed": speed,
    "size": size,
}


def table(rows: list[Row]) -> str:
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"{row.what:{first}}   {row.value:>{second}}   {row.note}".rstrip() for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="the folder of the referees")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with flambeau and PyTorch")
    parser.add_argument("--python-without-torch", default=sys.executable, help="one with flambeau only")
    parser.add_argument("--only", default=",".join(REFEREES), help="comma-separated, of: %(default)s")
    parser.add_argument("--ops", default="", help="conformance: a regular expression searched in the names of ops")
    parser.add_argument("--programs", default=PROGRAMS, help="programs: which (default %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "yardsticks", help="where the full results go")
    options = parser.parse_args()
    options.shared, options.out = options.shared.resolve(), options.out.resolve()
    if not options.shared.is_dir():
        parser.error(f"there is no folder {options.shared}; say where the referees are with --shared")
    options.out.mkdir(parents=True, exist_ok=True)
    # Not resolved: an environment's interpreter is a link, and only as that link does it find its packages.
    options.python, options.python_without_torch = (
        str(Path(python).absolute()) for python in (options.python, options.python_without_torch)
    )
    rows: list[Row] = []
    for name in options.only.split(","):
        if name not in REFEREES:
            parser.error(f"no referee is called {name!r}; there are {', '.join(REFEREES)}")
        try:
            rows += REFEREES[name](options)
        except Unavailable as reason:
            rows.append(Row(name, "unavailable", str(reason)))
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
