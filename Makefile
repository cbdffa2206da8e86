# Each target sets up everything it needs; the second run starts in seconds.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo example docs performance test coverage lint clean

demo: $(READY)
	$(BIN)/ctpwa demo

EVENTS ?= 20000
EXAMPLES := $(notdir $(patsubst %/model.yml,%,$(wildcard examples/*/model.yml)))
example: $(READY)
	@test -f "examples/$(NAME)/model.yml" || { echo "say which example: make example NAME=..., one of $(EXAMPLES)"; exit 1; }
	test -f examples/$(NAME)/toy.root || \
		$(BIN)/ctpwa generate examples/$(NAME)/model.yml -n $(EVENTS) --seed 1 -o examples/$(NAME)/toy.root
	$(BIN)/ctpwa fit examples/$(NAME)/model.yml --force

test: $(READY) lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

coverage: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov=ctpwa --cov-report=term:skip-covered

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

performance: $(READY)
	$(BIN)/python benchmarks/paper.py --out paper-output
	$(BIN)/python benchmarks/paper.py --docs paper-output/results.json

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks tools
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/mypy

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) demo-output paper-output site .coverage .coverage.*
