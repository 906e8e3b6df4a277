GO ?= go
export CGO_ENABLED = 0

.PHONY: help build demo browser xla test ci levels fuzz soak race lint cross peer bench bench-page bench-check gen assembly checkgen arm64 recording fmt release wheels python

help:
	@echo 'make demo   train two embeddings of MNIST, print the table, write reports/mnist/report.html'
	@echo 'make test   vet and all tests but those that run every documented command and open every page'
	@echo 'make ci     those, staticcheck, six systems, every instruction set, fuzzing, the race detector: what CI runs'
	@echo 'make soak   random networks, indexes, losses and files against references for SOAK=1h; SEED=N repeats a failure'
	@echo 'make race   the tests of packages with goroutines under the race detector (needs a C compiler)'
	@echo 'make bench  time kindred beside PyTorch and faiss, which it installs if need be (Debian)'
	@echo 'make bench-page  the same, and write the figures into docs/bench.md and README'
	@echo 'make bench-check BASE=main  fail if the Go benchmarks have become slower than at a git ref'
	@echo 'make gen    regenerate assembly and generated docs'
	@echo 'make recording  film the three commands of README, on 2,000 photos of clothes or on PHOTOS=DIR PHOTO=FILE'
	@echo 'make fmt    gofmt'
	@echo 'make wheels  wheels for Python that hold the binary, in dist/wheels'
	@echo 'make python  the tests of the package for Python, with numpy, pandas and scikit-learn from Debian'
	@echo 'make release VERSION=v1.2.3  binaries for six systems, manual pages, completions, checksums into dist/'

build:
	$(GO) build -trimpath -o bin/kindred ./cmd/kindred

demo: build
	bin/kindred reproduce mnist --seeds 1 --out reports/mnist

# What internal/browser opens the pages in, from Debian, with letters to write them
# in. Where it cannot be installed that test is skipped, and says so.
BROWSER_PACKAGES = chromium fonts-dejavu-core

browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update >/dev/null && \
			DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(BROWSER_PACKAGES) >/dev/null; } || \
		echo 'no chromium: the pages are not opened in a browser'

# The engine for accelerators is a module of its own. Its tests compute in plain Go.
xla:
	cd xla && $(GO) vet ./... && $(GO) test -timeout 15m ./...

# Every kernel has three levels (AVX-512, AVX2, plain Go); what stands on them is
# tested at each level that this machine has.
KERNEL_USERS = ./internal/kernel/simd/... ./internal/kernel/bf16 ./internal/kernel/pix ./data/imaging ./internal/kernel/scan ./nn/internal/conv ./nn/internal/attention ./mat ./internal/pair ./mine ./loss ./objective

# What drives the whole program through every documented command, and a browser through
# every page: CI's, as it takes as long as half of all else.
WHOLES = ./internal/readme ./internal/browser

test:
	$(GO) vet ./...
	$(GO) test -timeout 25m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(WHOLES))")

ci: test lint cross arm64 checkgen browser xla levels fuzz race
	$(GO) test -timeout 25m $(WHOLES)

levels:
	KINDRED_ISA=avx2 $(GO) test -count=1 -short $(KERNEL_USERS)
	KINDRED_ISA=go $(GO) test -count=1 -short $(KERNEL_USERS)
	$(GO) test -short -tags noasm $(KERNEL_USERS)

fuzz:
	.ci/fuzz

# Random comparisons, one seed after another: networks with onnxruntime, which node
# installs, and with plain loops; an index with a map; losses with their definitions;
# damaged files with what readers may do. Each takes a quarter of the time. A failure
# tells how it is repeated: make soak SOAKS=./index SEED=N. No part of CI.
SOAK = 1h
SEED =
SOAKS = ./nn/onnxnet ./index ./objective ./internal/soak

soak:
	@failed=0; for pkg in $(SOAKS); do \
		KINDRED_SOAK=$(SOAK) KINDRED_SEED=$(SEED) $(GO) test -count=1 -timeout 0 -run '^TestSoak$$' $$pkg || failed=1; \
	done; exit $$failed

# Packages with goroutines of their own, or whose work par spreads over the cores.
# Those that compute much run what uses all cores once, as the race detector makes
# them ten times slower. It needs cgo, and makes allocations of its own.
RACE_ALL = ./internal/par ./internal/budget ./internal/pair ./mine ./objective ./nn/optim ./data ./internal/inspect ./eval/cluster ./eval/diagnose \
	./internal/repro/theory/field ./index ./jobs ./internal/queue ./internal/embedded ./serve
RACE_SOME = ./cmd/kindred ./nn/internal/conv ./nn/internal/attention ./mat ./nn ./train ./run ./sweep ./projection ./eval/rank ./internal/repro/theory/isometry ./internal/repro/theory/noise
RACE_TESTS = SameBits|Moments|BatchSizes|Stop|Interrupted|Learns|Features|TestSweep$$
CC ?= gcc

race:
	@if command -v $(firstword $(CC)) >/dev/null; then \
		export CGO_ENABLED=1; \
		$(GO) test -race -short -timeout 10m -skip 'Alloc|Memory' $(RACE_ALL) && \
		$(GO) test -race -short -timeout 10m -run '$(RACE_TESTS)' -skip 'Alloc|Memory' $(RACE_SOME); \
	else echo 'no C compiler ($(CC)), which the race detector needs: skipped'; fi

# It must also build where there is no assembly for it.
cross:
	GOOS=linux GOARCH=arm64 $(GO) build ./...
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=windows GOARCH=amd64 $(GO) build ./...

# The kernels for arm64 run in an emulator of that processor, from Debian: with all
# instructions that it knows, and as a processor that has the oldest alone. Debian's
# binutils are what the generator's test reads the instructions with. Where they cannot
# be installed both are skipped.
ARM_PACKAGES = qemu-user binutils-aarch64-linux-gnu
ARM_KERNELS = ./internal/kernel/simd ./internal/kernel/scan ./internal/kernel/dot16 ./internal/kernel/dot8 ./internal/kernel/pix ./internal/kernel/bf16

arm64:
	GOARCH=arm64 $(GO) vet ./internal/kernel/...
	@dpkg -s $(ARM_PACKAGES) >/dev/null 2>&1 || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update >/dev/null && \
			DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(ARM_PACKAGES) >/dev/null; } || true
	@if command -v qemu-aarch64 >/dev/null; then \
		for cpu in max cortex-a53; do \
			GOARCH=arm64 $(GO) test -count=1 -short -exec "qemu-aarch64 -cpu $$cpu" $(ARM_KERNELS) || exit 1; \
		done; \
	else echo 'no qemu-aarch64: the kernels for arm64 are not run'; fi

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run: make fmt'; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# What bench/peer.py needs, from Debian. Without OpenBLAS PyTorch takes the
# reference BLAS, ten times slower.
PEER_PACKAGES = python3-torch python3-torchvision python3-faiss libopenblas0-pthread

peer:
	@dpkg -s $(PEER_PACKAGES) >/dev/null 2>&1 || { \
		install='apt-get update && apt-get install -y --no-install-recommends $(PEER_PACKAGES)'; \
		if [ "$$(id -u)" = 0 ]; then DEBIAN_FRONTEND=noninteractive sh -c "$$install"; \
		else echo "the peer needs, as root: $$install"; exit 1; fi; }

bench: build peer
	bin/kindred bench --peer bench/peer.py

# bench-page takes the figures of this machine for docs/bench.md and README, on a
# machine that does nothing else meanwhile:
#   make bench-page RECORD=docs/bench/amd-epyc-zen5.json PROCESSOR='AMD EPYC (Zen 5)'
RECORD = docs/bench/this-machine.json
bench-page: build peer
	bin/kindred bench --peer bench/peer.py --record $(RECORD) --processor "$(PROCESSOR)"
	$(GO) run ./docs/gen

# bench-check compares with another commit, in turns; .ci/bench-check lists what can
# be set. It takes minutes of a machine that does nothing else, and is no part of CI.
bench-check:
	@.ci/bench-check $(BASE)

# recording runs what README tells to type, and writes what it looked like. Take it on
# a machine that does nothing else: its times are in it.
RECORDING_PACKAGES = dataset-fashion-mnist
PHOTOS =
PHOTO =
recording: build
	@[ -n "$(PHOTOS)" ] || dpkg -s $(RECORDING_PACKAGES) >/dev/null 2>&1 || \
		DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(RECORDING_PACKAGES) >/dev/null
	$(GO) run ./docs/recording -photos "$(PHOTOS)" -photo "$(PHOTO)"

fmt:
	gofmt -w .

release:
	.ci/release $(VERSION)

# The wheels for Python hold the binaries of make release, where dist has such, else the one
# that KINDRED_BIN names, else this machine's own.
PYTHON = /usr/bin/python3
RELEASED = $(wildcard dist/kindred-*.tar.gz dist/kindred-*.zip)

wheels: $(if $(RELEASED)$(KINDRED_BIN),,build)
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) \
		$(PYTHON) python/build_wheels.py --out dist/wheels $(or $(RELEASED),$(KINDRED_BIN),bin/kindred)

# What the tests of the package for Python need, from Debian. PYTHON=FILE takes another
# Python, which must have numpy and pytest; what else is missing is skipped.
PYTHON_PACKAGES = python3-numpy python3-pandas python3-sklearn python3-pil python3-pytest python3-pip python3-venv

python: $(if $(KINDRED_BIN),,build)
	@[ "$(PYTHON)" != /usr/bin/python3 ] || dpkg -s $(PYTHON_PACKAGES) >/dev/null 2>&1 || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update >/dev/null && \
			DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(PYTHON_PACKAGES) >/dev/null; } || true
	@if $(PYTHON) -c 'import pytest' 2>/dev/null; then \
		KINDRED_BIN="$${KINDRED_BIN:-bin/kindred}" $(PYTHON) -B -m pytest -q -rs python; \
	else echo 'no pytest for $(PYTHON): the package for Python is not tested'; fi

# gen rewrites the assembly and the generated pages. The generators of assembly
# are a module of their own.
GENERATED = simd dot8 dot16 pix scan bf16
ROOT = .

gen: assembly
	$(GO) run ./docs/gen

assembly:
	@for pkg in $(GENERATED); do \
		echo "internal/kernel/$$pkg"; \
		(cd $(ROOT)/internal/kernel/gen && $(GO) run ./$$pkg -out ../$$pkg/kernels_amd64.s -stubs ../$$pkg/kernels_amd64.go -pkg $$pkg) || exit 1; \
	done

# The pages are compared by docs/gen's test. The generators have tests of their own:
# GNU's assembler reads what they wrote for arm64, if it is there.
checkgen:
	.ci/checkgen $(GENERATED)
	cd internal/kernel/gen && $(GO) test ./...
