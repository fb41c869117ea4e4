# The habits of this project. Each target calls the command line; `make help` lists them.

VENV := .venv
LABEL_STUDIO := .venv-label-studio
BENCH := $(VENV)/bin/bench
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
SUITE ?= quickstart
PROBES := card-probes-quick
LANGUAGE ?= en

# `make bench` builds the site only if one of these has changed since the last time, or if a file was added or deleted.
SITE_SOURCES := results prompts site bench models.toml mkdocs.yml $(VENV)/ready
SITE_BUILT := build/site-built

# Locks are complete, so nothing is resolved: a package that is not locked is not installed. Everything is a wheel, so
# no compiler is needed. uv uses the index that PIP_INDEX_URL names, if it is set.
INSTALL := --no-deps --only-binary :all: --require-hashes
UV_INSTALL := $(UV) pip install --quiet --python $(PY)
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
# Python compiles each module only once, even if the caller's environment says not to keep the result: it doubles the
# speed of every command.
unexport PYTHONDONTWRITEBYTECODE
FEATURES := topics cluster parquet annotate search

.DEFAULT_GOAL := help
.PHONY: help bench setup dev $(FEATURES) test lint format site search-index serve screenshots board audit record \
	benchmarks kills schemas lock label-studio commit-results models clean-cache clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

bench: $(VENV)/ready ## run card probes and SUITE (quickstart) with the embedded model, score them, build the site
	@$(BENCH) run $(PROBES)
	@$(BENCH) board $(PROBES) --write
	@$(BENCH) run $(SUITE)
	@$(BENCH) board $(SUITE) --write
	@if [ -e build/site/index.html ] && [ -e $(SITE_BUILT) ] && [ -z "$$(find $(SITE_SOURCES) \
		-name __pycache__ -prune -o ! \( -type d -path 'bench*' \) -newer $(SITE_BUILT) -print -quit)" ]; \
		then echo "The site is up to date. Open $(CURDIR)/build/site/index.html, or run \`make serve\`."; \
		else mkdir -p build && touch $(SITE_BUILT).new && $(BENCH) site build && mv $(SITE_BUILT).new $(SITE_BUILT); fi

setup: $(VENV)/ready ## prepare .venv with what `make bench` needs

dev: $(VENV)/with-dev ## add what tests and checks need to .venv

topics: $(VENV)/with-topics ## add what `bench topics` needs to .venv
cluster: $(VENV)/with-cluster ## add Dask to .venv, for `--cluster`
parquet: $(VENV)/with-parquet ## add pyarrow and DuckDB to .venv, for Parquet and SQL
annotate: $(VENV)/with-annotate ## add label-studio-sdk to .venv, for `bench annotate push` and `pull`
search: $(VENV)/with-search ## add Pagefind to .venv, for full-text search of the website's conversations

test: $(VENV)/with-dev ## run the tests
	@$(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder

lint: $(VENV)/with-dev ## check format, lint, types, and that no cassette holds a secret
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy
	@$(PY) tests/recording.py

format: $(VENV)/with-dev ## format the code
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

site: $(VENV)/ready ## build the website into build/site
	@$(BENCH) site build

search-index: $(VENV)/with-search ## build the website, and index its conversations for full-text search
	@$(BENCH) site build
	@$(BENCH) site index

serve: $(VENV)/ready ## build the website and serve it on this machine
	@$(BENCH) site build
	@$(BENCH) site serve

board: $(VENV)/ready ## print the board of SUITE in LANGUAGE
	@$(BENCH) board $(SUITE) --language $(LANGUAGE)

audit: $(VENV)/ready ## check every file of results/ and recompute every board
	@$(BENCH) audit

screenshots: $(VENV)/with-dev ## take the README's pictures of the site into docs/images (needs Chromium)
	@$(PY) tests/site/screenshots.py

record: $(VENV)/with-dev ## record new cassettes for the tests from the embedded model
	@$(PY) tests/record_cassettes.py

benchmarks: $(VENV)/with-dev ## run long tests in full, and measure speed (not part of the tests)
	@failed=; DRAMATURG_LONG_TESTS=1 $(PY) -m pytest -n auto -m long || failed=" long tests"; \
	for file in tests/benchmarks/*.py; do \
		echo "$$file"; $(PY) $$file || failed="$$failed $$file"; \
	done; test -z "$$failed" || { echo "limits missed:$$failed" >&2; exit 1; }

kills: $(VENV)/with-dev ## stop a run at 100 random moments; nothing may be lost, broken or paid twice
	@KILLS=100 $(PY) -m pytest tests/kills

label-studio: $(VENV)/with-dev $(VENV)/with-annotate $(LABEL_STUDIO)/ready ## test against a real Label Studio (1 GB, minutes)
	@DRAMATURG_LABEL_STUDIO=$(CURDIR)/$(LABEL_STUDIO)/bin/label-studio \
		$(PY) -m pytest -n 0 tests/annotate/test_annotate_real_server.py

schemas: $(VENV)/ready ## write the JSON Schemas of the records
	@$(BENCH) schemas

commit-results: $(VENV)/ready ## stage complete, valid results and commit them
	@$(BENCH) commit-results

models: $(VENV)/ready ## fetch two local models of 0.5 and 1.5 billion parameters into models/ (1.6 GB)
	@$(PY) models/fetch.py

clean-cache: ## delete the response cache
	rm -rf .cache

clean: ## delete what was built, keep results and cache
	rm -rf build

COMPILE := $(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
lock: $(VENV)/ready ## update all locks to the newest versions
	@mkdir -p build
	$(COMPILE) pyproject.toml --group build --group embedded --group dev -o build/all.lock
	$(COMPILE) -c build/all.lock pyproject.toml --group build --group embedded -o requirements.lock
	for group in dev $(FEATURES) uv; do \
		$(COMPILE) -c build/all.lock --group $$group -o requirements-$$group.lock || exit 1; done
	echo label-studio==1.23.2 | $(COMPILE) - -o tests/annotate/label-studio.lock

# A half-made environment never counts as ready. Once uv is there, pip is not needed any more. The test suites inside
# pandas, scipy and numpy take 40 MB.
$(VENV)/ready: requirements.lock requirements-uv.lock pyproject.toml
	@python=; for p in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
		if $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
		then python=$$p; break; fi; done; \
	if [ -z "$$python" ]; then echo "Dramaturg needs Python 3.11 or newer with its venv module." \
		"Install it (Debian: apt-get install python3 python3-venv) or name one: make PYTHON=/path/to/python3" >&2; \
		exit 1; fi; \
	echo "Preparing $(VENV) with $$($$python --version)"; \
	rm -rf $(VENV) && $$python -m venv $(VENV) && \
	$(PY) -m pip install --quiet --disable-pip-version-check $(INSTALL) -r requirements-uv.lock && \
	$(UV_INSTALL) $(INSTALL) -r requirements.lock && \
	$(UV_INSTALL) --no-deps --no-build-isolation --editable . && \
	$(UV) pip uninstall --quiet --python $(PY) pip setuptools && \
	find $(VENV)/lib -type d -name tests -prune -exec rm -r {} + && touch $@

$(VENV)/with-%: requirements-%.lock $(VENV)/ready
	@echo "Adding $* to $(VENV)"; $(UV_INSTALL) $(INSTALL) -r $< && touch $@

# Label Studio itself, for one test. It pins many packages, so it has its own environment.
$(LABEL_STUDIO)/ready: tests/annotate/label-studio.lock
	@echo "Preparing $(LABEL_STUDIO) with Label Studio: 1 GB, some minutes"; \
	rm -rf $(LABEL_STUDIO) && $(PY) -m venv $(LABEL_STUDIO) && \
	$(LABEL_STUDIO)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $< && \
	touch $@
