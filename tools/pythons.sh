#!/usr/bin/env bash
# Installs the package under every CPython of the declared range that is on PATH or in pyenv, and runs a program on it.
set -euo pipefail
cd "$(dirname "$0")/.."
for minor in 10 11 12 13 14; do
  python=
  for candidate in "python3.$minor" "$HOME"/.pyenv/versions/3."$minor".*/bin/python; do
    if "$candidate" -c 'import venv' 2>/dev/null; then python=$candidate; fi
  done
  if [ -z "$python" ]; then
    echo "CPython 3.$minor: not on this machine"
    continue
  fi
  environment=$PWD/build/pythons/3.$minor
  "$python" -m venv --clear "$environment"
  "$environment/bin/python" -m pip --disable-pip-version-check -q install .
  "$environment/bin/python" -V
  (cd "$environment" && bin/python -m flambeau run "$OLDPWD/examples/curve.py")
done
