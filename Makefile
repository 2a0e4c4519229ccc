# Thin names for the plain commands that README gives.
# Works in the environment that is active; without one it makes .venv and works there.
ENV := $(or $(VIRTUAL_ENV),$(CONDA_PREFIX),.venv)
BIN := $(ENV)/bin/
INSTALLED := $(ENV)/.attention-core-installed

# Jupyter Book and its parts read and print UTF-8, whatever the locale says.
export PYTHONUTF8 := 1

.PHONY: book test check chapters digits serve

book: $(INSTALLED)  ## build the book, strictly, into _build/html
	$(BIN)jupyter-book build . -W -n --keep-going

test: $(INSTALLED)  ## run every check: package, chapters, prose, style, site
	$(BIN)python -m pytest -n 2

check: book test digits  ## what CI runs

chapters: $(INSTALLED)  ## re-run all chapters, or one: make chapters ONE=chapters/01_dot_products.ipynb
	$(BIN)python tools/run_chapters.py $(ONE)
	$(BIN)python tools/front_page.py

# Chapters that train for long claim thresholds, not digits: once on the simplest processor
# here, and once on the machine's own by `make test`.
LONG := 10_translation 11_why_attention 12_bug_museum
digits: $(INSTALLED)  ## chapters print the same digits on every processor and thread count
	@for isa in default avx2 avx512; do for threads in 1 2; do \
	  echo "ATEN_CPU_CAPABILITY=$$isa OMP_NUM_THREADS=$$threads"; \
	  if [ $$isa$$threads != default1 ]; then skip="$(LONG:%=--ignore=chapters/%.ipynb)"; else skip=; fi; \
	  ATEN_CPU_CAPABILITY=$$isa OMP_NUM_THREADS=$$threads \
	    $(BIN)python -m pytest -n $$((3 - $$threads)) -q chapters $$skip || exit 1; \
	done; done

serve: book  ## read the built book at localhost:8000
	$(BIN)python -m http.server --bind 127.0.0.1 --directory _build/html 8000

$(INSTALLED): requirements.txt constraints.txt pyproject.toml | $(BIN)python
	$(BIN)python -m pip install --quiet -r requirements.txt
	touch $@

.venv/bin/python:
	python3 -m venv .venv
