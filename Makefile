# The two that do everything on a fresh machine: `make demo` and `make test`.
# Needs cargo (Rust 1.90 or newer) and a C compiler; nothing else is installed or written
# outside target/.

CARGO ?= cargo

.DEFAULT_GOAL := help
.PHONY: help demo test check fix bench header models cargo-here

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

demo: cargo-here ## three writers, one killed, one frozen: whose bytes count (first build: some minutes)
	$(CARGO) run --release --bin tenure -- demo

test: check ## everything CI runs: the checks, then every test, doc test and C program
	$(CARGO) test --all-targets
	$(CARGO) test --doc

check: cargo-here ## format, lints, house rules, documentation; never writes to the tree
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	$(CARGO) test --quiet --test tidy
	# With --examples the features are those of the tests, so that no dependency is built twice.
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --no-deps --lib --examples

fix: cargo-here ## format, and let the compiler mend what it can
	$(CARGO) clippy --fix --allow-dirty --allow-staged --all-targets
	$(CARGO) fmt

bench: cargo-here ## the costs that the documentation quotes
	$(CARGO) bench

header: cargo-here ## write include/tenure.h anew from src/ffi
	TENURE_BLESS=1 $(CARGO) test --test c_abi header

models: cargo-here ## the protocol's models with the large configurations (about an hour)
	TENURE_MODEL=full $(CARGO) test --test model

cargo-here:
	@command -v $(CARGO) >/dev/null 2>&1 || { \
	    echo "tenure needs Rust 1.90 or newer, and '$(CARGO)' was not found." >&2; \
	    echo "Install it from https://rustup.rs and run the same command again." >&2; \
	    exit 1; }
