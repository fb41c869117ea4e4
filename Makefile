# The habits of this project. Each target calls the command line; `make help` lists them.

VENV := .venv
LABEL_STUDIO := .venv-label-studio
BENCH := $(VENV)/bin/bench
PY := $(VENV)/bin/python
SUITE ?= quickstart
LANGUAGE ?= en

.DEFAULT_GOAL := help
.PHONY: help bench setup test lint format site serve screenshots board audit record benchmarks kills schemas lock \
	annotate label-studio commit-results clean-cache clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

bench: $(VENV)/ready ## run SUITE (quickstart) with the embedded model, score it, build the site
	@$(BENCH) run $(SUITE)
	@$(BENCH) board $(SUITE) --write
	@$(BENCH) site build

setup: $(VENV)/ready ## prepare .venv with everything in it

test: $(VENV)/ready ## run the tests
	@$(PY) -m pytest -n auto --maxprocesses 4 --dist loadfile

lint: $(VENV)/ready ## check format, lint, types, and that no cassette holds a secret
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy
	@$(PY) tests/recording.py

format: $(VENV)/ready ## format the code
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

site: $(VENV)/ready ## build the website into build/site
	@$(BENCH) site build

serve: $(VENV)/ready ## build the website and serve it on this machine
	@$(BENCH) site build
	@$(BENCH) site serve

board: $(VENV)/ready ## print the board of SUITE in LANGUAGE
	@$(BENCH) board $(SUITE) --language $(LANGUAGE)

audit: $(VENV)/ready ## check every file of results/ and recompute every board
	@$(BENCH) audit

screenshots: $(VENV)/ready ## take the README's pictures of the site into docs/images (needs Chromium)
	@$(PY) tests/site/screenshots.py

record: $(VENV)/ready ## record the tests' cassettes anew from the embedded model
	@$(PY) tests/record_cassettes.py

benchmarks: $(VENV)/ready ## measure speed (not part of the tests)
	@failed=; for file in tests/benchmarks/*.py; do \
		echo "$$file"; $(PY) $$file || failed="$$failed $$file"; \
	done; test -z "$$failed" || { echo "limits missed:$$failed" >&2; exit 1; }

kills: $(VENV)/ready ## stop a run at 100 random moments; nothing may be lost, broken or paid twice
	@KILLS=100 $(PY) -m pytest tests/kills

annotate: $(VENV)/annotate ## add label-studio-sdk to .venv, for `bench annotate push` and `pull`

label-studio: $(VENV)/annotate $(LABEL_STUDIO)/ready ## try the human study against a real Label Studio (1 GB, minutes)
	@DRAMATURG_LABEL_STUDIO=$(CURDIR)/$(LABEL_STUDIO)/bin/label-studio \
		$(PY) -m pytest -n 0 tests/annotate/test_annotate_real_server.py

schemas: $(VENV)/ready ## write the JSON Schemas of the records
	@$(BENCH) schemas

commit-results: $(VENV)/ready ## stage complete, valid results and commit them
	@$(BENCH) commit-results

clean-cache: ## delete the response cache
	rm -rf .cache

clean: ## delete what was built, keep results and cache
	rm -rf build

lock: $(VENV)/ready ## resolve requirements.lock anew (needs uv)
	uv pip compile pyproject.toml --all-extras --group dev --group embedded --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --upgrade -o requirements.lock
	uv pip compile --group annotate -c requirements.lock --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --upgrade -o requirements-annotate.lock

# The lock file is complete, so nothing is resolved (--no-deps): what is not in it is not installed.
# Everything comes as a wheel: a compiler is not needed. A half-made environment never counts as ready.
$(VENV)/ready: requirements.lock pyproject.toml
	@python=; for p in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
		if $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
		then python=$$p; break; fi; done; \
	if [ -z "$$python" ]; then echo "Dramaturg needs Python 3.11 or newer with its venv module." \
		"Install it (Debian: apt-get install python3 python3-venv) or name one: make PYTHON=/path/to/python3" >&2; \
		exit 1; fi; \
	echo "Preparing $(VENV) with $$($$python --version)"; \
	rm -rf $(VENV) && $$python -m venv $(VENV) && \
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
		--require-hashes -r requirements.lock && \
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . && \
	touch $@

# What push and pull of a human study need besides; versions that both locks hold are the same.
$(VENV)/annotate: requirements-annotate.lock $(VENV)/ready
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
		--require-hashes -r requirements-annotate.lock && touch $@

# Label Studio itself, for the integration test alone: it pins half of Python's packages, so it lives by itself.
$(LABEL_STUDIO)/ready: Makefile
	@echo "Preparing $(LABEL_STUDIO) with Label Studio: 1 GB, some minutes"; \
	rm -rf $(LABEL_STUDIO) && $(PY) -m venv $(LABEL_STUDIO) && \
	$(LABEL_STUDIO)/bin/python -m pip install --quiet --disable-pip-version-check label-studio==1.23.2 && touch $@
