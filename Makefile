# Every target sets up what it needs: environments in .venv*, builds in build/. Nothing is taken from the system but
# g++, make and a Python with its headers.

PYTHON ?= python3
# Instruction sets of the developer's build: the best of this machine alone compiles in a third of the time.
ISAS ?= $(shell grep -q avx512vl /proc/cpuinfo 2>/dev/null && echo avx512 || echo baseline)
JOBS ?= 2
ONEDNN = onednn-cpu-gomp==2023.2.0 onednn-devel-cpu-gomp==2023.2.0
TORCH = torch==2.13.0
SHARED ?= ../shared
PIP = -m pip --disable-pip-version-check -q

TOOLS = .venv/.tools
USER = .venv-user/.installed
TEST = .venv-test/.installed
LINT = .venv-lint/.tools
SOURCES = pyproject.toml CMakeLists.txt $(shell find cmake csrc flambeau -type f \
	\( -name '*.py' -o -name '*.cpp' -o -name '*.h' -o -name '*.cmake' -o -name '*.pyi' -o -name py.typed \) 2>/dev/null)

.PHONY: demo test dev lint lint-style lint-format lint-types lint-cpp lint-described describe format yardsticks sanitize pythons clean help

help:
	@echo "make demo        train the handwritten digits and draw the curves (out/digits.png)"
	@echo "make test        install into an environment of its own and run the tests (PyTorch is the oracle)"
	@echo "make dev         build in place; then use .venv/bin/python with PYTHONPATH=."
	@echo "make lint        ruff, mypy, clang-format        make format  apply the formatters"
	@echo "make describe    write the type stubs and docs/ops.md from the op table"
	@echo "make yardsticks  one table of where the project stands against the referees in SHARED=$(SHARED)"
	@echo "make pythons     install and try it under every CPython on this machine"
	@echo "make sanitize    run the tests of the core under the address and undefined-behaviour sanitizers"

# A user's environment: the package as installed, and what the demo draws with. No PyTorch.
demo: $(USER)
	@mkdir -p out
	cd out && ../.venv-user/bin/python -m flambeau run ../examples/digits.py

$(USER): $(SOURCES)
	test -x .venv-user/bin/python || $(PYTHON) -m venv .venv-user
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) .venv-user/bin/python $(PIP) install ".[plot,progress]" scikit-learn
	@touch $@

# From the tests folder, so that what is tested is the installed package and not the source tree.
test: $(TEST)
	cd tests && ../.venv-test/bin/python -m pytest $(ARGS)

$(TEST): $(SOURCES) .venv-test/.oracle
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) .venv-test/bin/python $(PIP) install ".[test]"
	@touch $@

.venv-test/.oracle:
	$(PYTHON) -m venv .venv-test
	.venv-test/bin/python $(PIP) install $(TORCH)
	@touch $@

dev: $(TOOLS)
	@test -f build/dev/build.ninja || env PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/cmake -S . -B build/dev -G Ninja \
		-DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python -DFLAMBEAU_INPLACE=ON \
		-DFLAMBEAU_ISAS="$(ISAS)"
	@.venv/bin/ninja -C build/dev -j $(JOBS)

$(TOOLS):
	$(PYTHON) -m venv .venv
	.venv/bin/python $(PIP) install cmake ninja $(ONEDNN) scipy-openblas32 numpy pytest
	@touch $@

lint: lint-style lint-format lint-types lint-cpp lint-described

lint-style: $(LINT)
	.venv-lint/bin/ruff check .

lint-format: $(LINT)
	.venv-lint/bin/ruff format --check .

lint-types: $(LINT)
	.venv-lint/bin/mypy

lint-cpp: $(LINT)
	find csrc -name '*.cpp' -o -name '*.h' | xargs .venv-lint/bin/clang-format --dry-run -Werror

# Stubs and the index of ops follow from the op table of the installed package, which the tests need too.
lint-described: $(TEST)
	.venv-test/bin/python tools/describe.py --check

describe: dev
	env PYTHONPATH=. .venv/bin/python tools/describe.py

format: $(LINT)
	.venv-lint/bin/ruff check --fix .
	.venv-lint/bin/ruff format .
	find csrc -name '*.cpp' -o -name '*.h' | xargs .venv-lint/bin/clang-format -i

$(LINT):
	$(PYTHON) -m venv .venv-lint
	.venv-lint/bin/python $(PIP) install ruff==0.15.0 mypy==1.19.0 clang-format==14.0.6
	@touch $@

yardsticks: $(TEST) $(USER)
	.venv-test/bin/python tools/yardsticks.py --shared $(SHARED) --python .venv-test/bin/python \
		--python-without-torch .venv-user/bin/python $(ARGS)

# The sanitized extension and a copy of the package, under build/sanitize/root.
sanitize: $(TOOLS) .venv-test/.oracle $(TEST)
	env PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/cmake -S . -B build/sanitize -G Ninja -DCMAKE_BUILD_TYPE=Release \
		-DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python -DFLAMBEAU_ISAS="$(ISAS)" -DFLAMBEAU_SANITIZE=address,undefined
	.venv/bin/ninja -C build/sanitize -j $(JOBS)
	rm -rf build/sanitize/root && .venv/bin/cmake --install build/sanitize --prefix build/sanitize/root
	cp -r flambeau/. build/sanitize/root/flambeau/ -n
	cd tests && LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 PYTHONMALLOC=malloc \
		PYTHONPATH=$(CURDIR)/build/sanitize/root ../.venv-test/bin/python -m pytest -m "not slow" $(ARGS)

pythons:
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) tools/pythons.sh

clean:
	rm -rf build out .venv .venv-user .venv-test .venv-lint flambeau/lib flambeau/*.so
