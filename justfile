# The steps of a working day. `.ci/run` runs them all; here they run one at a time.

# what there is
default:
    @just --list

# the main job: a leaderboard of image generators from published results
quickstart:
    uv run salon quickstart

# the whole test suite
test *ARGS:
    uv run --all-packages pytest {{ARGS}}

# learning, kills and coverage at length (a few minutes; CI runs them too)
slow:
    uv run --all-packages --group docs pytest -m "(slow or browser) and not study"

# studies that take many minutes: coverage of intervals, long crash tests
study:
    uv run --all-packages pytest -m study -n 0
    uv run --all-packages python tests/coverage_table.py

# random changes of the code that no test sees: just mutants store --count 60
mutants *ARGS:
    uv run --all-packages --with pytest-cov python .ci/mutants.py {{ARGS}}

# lint and formats
lint:
    uv run --only-group lint ruff check .
    uv run --only-group lint ruff format --check .
    cd rust && cargo fmt --check && cargo clippy --all-targets -- -D warnings

# put the formats right
format:
    uv run --only-group lint ruff check --fix .
    uv run --only-group lint ruff format .
    cd rust && cargo fmt

# types, strict
types:
    uv run --all-packages --all-extras --group lint mypy

# the Rust core's own tests
rust:
    cd rust && cargo test

# speed, with peers in the same run
benchmark *ARGS:
    uv run --all-packages --group benchmark pytest benchmarks -o python_files='bench_*.py' -m '' -n 0 {{ARGS}}

# wheels and sdists, each installed in an empty environment
packages:
    bash .ci/packages

# the site of docs/, in site/; open site/index.html
site:
    uv run --all-packages --group docs python -m zensical build --strict

# the screenshots of the site and the README (needs a Chromium)
screenshots:
    uv run --all-packages python docs/screenshots.py

# write tests/commands.txt, tests/public_surface.txt and the notebooks again after a decision
pin:
    uv run --all-packages python tests/test_commands.py
    uv run --all-packages python tests/test_public_surface.py
    uv run --all-packages python tests/test_notebooks.py

# everything CI runs
ci:
    bash .ci/run
