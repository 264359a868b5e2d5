# `make demo` shows predtrace at work, `make quick` is the loop while you write,
# `make test` runs everything that must pass.
# They set up what they need: an environment in .venv, TPC-H data in data/.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DATA   := data/tpch-0.1
STORE  := lineage
SEEDS  ?= 0:1000
FUZZ   ?= fuzz.jsonl
ONLY   ?=
DURATIONS ?= 10
# Two files at a time, those that take longest first (tests/conftest.py sees to that).
PYTEST  = $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --durations $(DURATIONS)
JAVA   := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)

.DEFAULT_GOAL := help
.PHONY: help demo quick test check fuzz functions env data docs listener check-python check-java clean

help:
	@echo "make demo   run TPC-H Q4 through predtrace and trace one of its rows"
	@echo "make quick  format, types, layers and the tests that need no JVM and are not slow"
	@echo "make test   format, types, layers and all tests; make test DURATIONS=50 shows the slowest"
	@echo "make fuzz   random SQL against a tracer of the text: make fuzz SEEDS=0:10000"
	@echo "make functions  every function and cast on edge values against Spark"
	@echo "make docs   write tables in docs/ anew from the registries"
	@echo "make listener  build the jar of predtrace.attach from its Java sources (needs a JDK)"
	@echo "make clean  remove the environment, generated data and demo jobs"

demo: check-java env data
	@echo "== run TPC-H Q4 on Spark, and keep what its lineage needs"
	@$(BIN)/predtrace run tpch/queries/q04.sql --tables $(DATA) --store $(STORE)
	@echo
	@echo "== which rows led to the row '1-URGENT'?"
	@$(BIN)/predtrace lineage latest --store $(STORE) --where "o_orderpriority = '1-URGENT'" --limit 5

quick: check
	$(PYTEST) -m "not spark and not slow"

test: check-java check
	$(PYTEST)

check: env
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: check-java env
	$(BIN)/python -m tests.sqltruth --seeds $(SEEDS) --results $(FUZZ)

functions: check-java env
	$(BIN)/python -m tests.functions functions.jsonl $(ONLY)

env: check-python $(READY)

$(READY): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

data: env
	@$(BIN)/python -m tpch generate --sf 0.1

docs: check-java env
	$(BIN)/python -m predtrace.report.builtins
	$(BIN)/python -m predtrace.report.coverage docs/coverage.md
	$(BIN)/python -m predtrace.arrays.capture.page docs/arrays-capture.md

listener: env
	$(BIN)/python -m predtrace.frontends.spark.listener.build

check-python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or newer is needed: install it (Debian, Ubuntu: apt-get install python3 python3-venv) or name one: make PYTHON=/path/to/python3" >&2; exit 1; }

check-java:
	@version=$$("$(JAVA)" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p'); \
	[ "$${version:-0}" -ge 17 ] || { \
	  echo "Java 17 or newer is needed: install it (Debian, Ubuntu: apt-get install openjdk-17-jdk-headless; macOS: brew install openjdk@17) or set JAVA_HOME" >&2; exit 1; }

clean:
	rm -rf $(VENV) data $(STORE)
