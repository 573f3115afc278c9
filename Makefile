# The two commands that matter are make demo and make test. Each sets up what
# it needs by itself: Debian packages, a Python environment, a build.
.DEFAULT_GOAL := help
.PHONY: help demo test check build setup models plan-memory conformance explain-share support-matrix random-graphs soak bench bench-import bench-models bench-page peers fuzz coverage clean verify faults

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: setup ## real models on real pictures, with a report to open in a browser
	@scripts/demo

test: ## everything that must hold: checks, C tests, sanitizers, Python tests
	@scripts/test

check: setup ## format, layers, names, budgets, clang-tidy
	@scripts/check

build: setup ## the library and the command, in build/release
	@cmake --preset release >/dev/null && cmake --build --preset release

models: build ## every downloaded model against ONNX Runtime
	@scripts/models

random-graphs: build ## 2000 random graphs (RANDOM_GRAPHS) against ONNX Runtime
	@scripts/random_graphs

plan-memory: build ## what hone plan says beside what a run takes, for each model on 1 and 2 threads
	@.venv/bin/python -W ignore tests/models/plan_memory.py

soak: build ## 16 sessions of one engine on 16 threads for a minute (SOAK_SECONDS): right, and no larger
	@build/release/tests/src_runtime_soak_test --seconds $${SOAK_SECONDS:-60}

bench: build peers ## hone beside every peer: three networks, and the models of ci and more (docs/benchmarking.md)
	@scripts/bench

peers: ## what hone is compared with, in build/peers (PEERS="onnxruntime openvino": only these)
	@scripts/peers

bench-models: build ## ResNet-50, MobileNetV2 and BERT-base beside ONNX Runtime, on the CPU and OpenCL
	@.venv/bin/python bench/models.py --opencl --save

bench-page: ## build/bench.html from the figures in bench/results
	@python3 bench/page.py

bench-symbolic: build ## what engines for a range of sizes cost beside engines for the exact size
	@.venv/bin/python bench/symbolic.py --save

bench-import: build ## time and memory from a 438 MB file to a verified graph
	@scripts/bench_import

verify: build ## all of the conformance program on cpu and opencl, with reports (VERIFY_DEVICES)
	@scripts/verify

conformance: build ## the onnx backend tests and the models on ref, cpu and opencl: an hour on two cores
	@scripts/conformance

explain-share: build ## the share of each model's time that hone explain accounts for; goes on where it ended
	@for d in cpu opencl; do HONE_LIBRARY=$$PWD/build/release/libhone.so .venv/bin/python -W ignore tests/models/explain_share.py --device $$d --missing; done

support-matrix: ## docs/support.md from the results that make conformance keeps
	@scripts/support_matrix.py

faults: build ## compiling and tuning, killed at 100 random moments (HONE_KILLS)
	@HONE_KILLS=$${HONE_KILLS:-100} HONE_BUILD_DIR=$$PWD/build/release .venv/bin/python -m pytest -k kill tests/test_compile_faults.py

fuzz: setup ## each fuzzer for FUZZ_SECONDS (60), findings kept in build/fuzz/findings
	@scripts/fuzz

coverage: setup ## which lines the C tests run
	@scripts/coverage.py

setup: ## Debian packages and the Python environment .venv; quick when all is there
	@scripts/setup

clean: ## all that was built; .venv stays
	rm -rf build
