GO ?= go
export CGO_ENABLED = 0

.PHONY: help modules build demo browser wholes xla mpi npm vet test check ci long directions levels fuzz soak stress promises race lint cross peer bench bench-page bench-check gen assembly checkgen arm64 recording fmt release release-check release-test api wheels bombs python notebooks site gallery

help:
	@echo 'make demo   train two embeddings of MNIST, print the table, write reports/mnist/report.html'
	@echo 'make test   vet and all tests, except running every documented command and opening every page'
	@echo 'make check  staticcheck, generated assembly, types on other systems; CI runs make test check python'
	@echo 'make ci     everything: these, every instruction set, fuzzing, the race detector, pages, documents'
	@echo 'make stress  tests with goroutines, sockets and processes, 20 times each under load: rates of failure'
	@echo 'make long   tests that take minutes: an experiment of each kind, every write of a run'
	@echo 'make directions  every experiment in its fast size'
	@echo 'make soak   random networks, indexes, losses and files against references for SOAK=1h; SEED=N repeats a failure'
	@echo "make bombs  hostile image files on commands and a server: memory, work and delays; BOMBS='-only ^iloc' for some"
	@echo 'make promises  how often the promises of decide, discover and clean are broken on random classes, with an interval'
	@echo 'make race   the tests of packages with goroutines under the race detector (needs a C compiler)'
	@echo 'make peer   set up PyTorch, its compiler, faiss and ONNX Runtime to be timed beside, as far as it can'
	@echo "make bench  time kindred beside them, or CASES='case ...' of it"
	@echo 'make bench-page  the same, and write the figures into docs/bench.md and README'
	@echo 'make bench-check BASE=main  fail if the Go benchmarks have become slower than at a git ref'
	@echo 'make gen    regenerate assembly and generated docs'
	@echo 'make recording  film the three commands of README, on 2,000 photos of clothes or on PHOTOS=DIR PHOTO=FILE'
	@echo 'make site   the documentation as pages for a browser, in dist/site'
	@echo 'make gallery PHOTOS=DIR  take the pictures of docs/gallery.md from photos in a folder for each class'
	@echo 'make fmt    gofmt'
	@echo 'make wheels  wheels for Python that hold the binary, in dist/wheels'
	@echo 'make python  the tests of the package for Python, with numpy, pandas and scikit-learn from Debian'
	@echo 'make notebooks  run the notebooks for Python, and write them with their results into dist/notebooks'
	@echo 'make release VERSION=v1.2.3  archives for six systems, packages, an image and their descriptions, into dist/'
	@echo 'make release-check  build the release for this machine twice, and try it in an empty Debian (as root)'
	@echo 'make api BASE=v1.2.3  changes of the public packages since then'

# What libraries offer to leave out: gRPC's page of traces, whose templates keep every method of
# every type in the program, and formats of figures that kindred does not write. The Dockerfile
# and tools/release build with the same.
TAGS = grpcnotrace,minimal

# Go names each module that it fetches, but neither says how many there are nor what comes after.
modules:
	@GOPROXY=off $(GO) list -deps ./cmd/kindred >/dev/null 2>&1 || \
		echo 'fetching Go modules (150 MB) and compiling them, once: minutes'

build: modules
	$(GO) build -trimpath -tags $(TAGS) -o bin/kindred ./cmd/kindred

demo: build
	bin/kindred reproduce mnist --seeds 1 --out reports/mnist

# What internal/test/browser opens the pages in, from Debian, with letters to write them
# in. Where it cannot be installed that test is skipped, and says so.
BROWSER_PACKAGES = chromium fonts-dejavu-core

browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update >/dev/null && \
			DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(BROWSER_PACKAGES) >/dev/null; } || \
		echo 'no chromium: the pages are not opened in a browser'

# Vet runs by itself, once. go test would run a part of it again over everything that a
# test imports, the standard library too, and once more for each way of building (tags,
# the race detector, another processor), which takes as long as compiling it.
# Most of its memory lives as long as it runs: collecting garbage less often saves a quarter.
VET = GOGC=400 $(GO) vet
# What compiling and most tests make is garbage soon: collecting it less often saves a tenth.
TEST = GOGC=300 $(GO) test -vet=off

vet: modules
	$(VET) ./...

# The engine for accelerators is a module of its own. Its tests compute in plain Go.
xla:
	cd xla && $(VET) ./... && $(TEST) -timeout 15m ./...

# Training shared among processes is a module of its own, as it loads an MPI library. Both
# libraries come from Debian; where they cannot be installed the tests with processes are
# skipped, and say so. Those with goroutines in place of processes are in train and run.
mpi:
	@{ command -v mpirun.openmpi && command -v mpirun.mpich; } >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update >/dev/null && \
			DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends openmpi-bin mpich procps >/dev/null; } || \
		echo 'no MPI: training shared among processes is not tested'
	cd mpi && $(VET) ./... && $(TEST) -short -timeout 15m ./...

# Every kernel has three levels (AVX-512, AVX2, plain Go); what stands on them is
# tested at each level that this machine has.
KERNEL_USERS = ./internal/kernel/simd/... ./internal/kernel/bf16 ./internal/kernel/qgemm ./internal/kernel/pix ./data/imaging ./data/imaging/prepare ./internal/kernel/scan ./internal/network/conv ./internal/network/attention ./nn ./matrix ./internal/compute/pair ./loss ./objective

# What drives the whole program through every documented command, and a browser through
# every page: no part of make test, as it takes as long as half of all else.
WHOLES = ./internal/test/readme ./internal/test/browser

test: vet
	KINDRED_HEIC="$$(.ci/heic)" $(TEST) -timeout 25m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(WHOLES))")

# What is quick and needs nothing but Go and its modules: .ci/run is make test check python.
check: lint cross checkgen

# All that there is, for a larger change before it is handed in. The jobs of
# .github/workflows/ci.yml are its parts. Steps that need what is not there (a C compiler,
# Chromium, an emulator, npm) are skipped, and say so.
ci: test check python npm browser wholes xla mpi release-test levels arm64 fuzz race long

wholes:
	KINDRED_AXE="$$(.ci/npm axe axe-core@4.14.1)" $(TEST) -timeout 25m $(WHOLES)

# Two judges come from npm: PostgreSQL with pgvector as WebAssembly, and ONNX Runtime.
ONNXRUNTIME = .ci/npm onnxruntime onnxruntime-node@1.30.0

npm:
	KINDRED_PGLITE="$$(.ci/npm pglite @electric-sql/pglite@0.5.14 @electric-sql/pglite-pgvector@0.0.15 \
		@electric-sql/pglite-socket@0.2.17)" $(TEST) -timeout 15m -run "Store|Push" ./internal/database/pgvector ./cmd/kindred
	KINDRED_ONNXRUNTIME="$$($(ONNXRUNTIME))" $(TEST) -timeout 15m -run 'Runtime|Soak' ./internal/network/onnxnet

# Without assembly the kernels run the same plain Go as at the lowest level, and so what
# stands on them is only built. make levels NOASM='$(KERNEL_USERS)' tests that too.
NOASM = ./internal/kernel/...

levels:
	$(TEST) -count=1 -short -exec '$(CURDIR)/.ci/levels' $(KERNEL_USERS)
	$(TEST) -short -tags noasm $(NOASM)
	$(GO) build -tags noasm $(KERNEL_USERS)

# What takes minutes. Of the experiments it runs one of each kind in its fast size, where the
# data sets are at hand; make directions runs most of them, a quarter of an hour of a
# processor, and make directions KINDRED_LONG=all those too that take minutes each. A run is
# stopped at every change of the file system, in place of a third of them. The golden curve
# of the accelerator's graphs has all ten steps, which plain Go computes in a minute.
long:
	KINDRED_LONG=1 $(TEST) -count=1 -timeout 25m -run TestDirections ./internal/app/experiments/paper
	KINDRED_LONG=1 $(TEST) -count=1 -run 'AtEveryWrite$$' ./run
	KINDRED_LONG=1 KINDRED_HEIC="$$(.ci/heic)" $(TEST) -count=1 -timeout 1h -run '^TestMutations' $(MUTATED)
	cd xla && KINDRED_LONG=1 $(TEST) -count=1 -run TestGoldenCurve .

# Packages that read texts from outside, each of which is changed 10,000 times; make test takes 300.
MUTATED = $$(find . -name mutations_test.go -exec dirname {} + | sort -u)

directions: KINDRED_LONG = most
directions:
	KINDRED_LONG=$(KINDRED_LONG) $(TEST) -count=1 -timeout 2h -run TestDirections ./internal/app/experiments/paper

fuzz:
	KINDRED_HEIC="$$(.ci/heic)" .ci/fuzz

# Random comparisons, one seed after another: networks with onnxruntime, where npm has
# it, and with plain loops; an index with a map; losses with their definitions;
# damaged files with what readers may do. Each takes a quarter of the time, and is run in
# its folder, so that go test shows how far it is. A failure tells how it is repeated:
# make soak SOAKS=./index SEED=N. No part of CI.
SOAK = 1h
SEED =
SOAKS = ./internal/network/onnxnet ./index ./objective ./internal/test/soak

soak:
	@KINDRED_ONNXRUNTIME="$$($(ONNXRUNTIME))"; export KINDRED_ONNXRUNTIME; \
	failed=0; for pkg in $(SOAKS); do \
		(cd $$pkg && KINDRED_SOAK=$(SOAK) KINDRED_SEED=$(SEED) $(GO) test -count=1 -timeout 0 -run '^TestSoak$$') || failed=1; \
	done; exit $$failed

# Packages whose tests have goroutines, sockets or processes, RUNS times each in hard
# conditions that take turns: make stress RUNS=5 CONDITIONS=freeze,load STRESSED=./serve.
# docs/design/testing.md has the conditions, and what has been found so.
STRESSED = ./index ./serve/... ./internal/jobs/... ./internal/app/remote/... ./internal/collection/mirror/... ./internal/base/... ./store/... \
	./data/... ./train ./run/... ./internal/sweep ./internal/compute/projection ./internal/app/cli/shards ./internal/app/cli/inspect ./internal/test/systems ./cmd/kindred
RUNS = 20
CONDITIONS =

# An hour on a machine that does nothing else meanwhile, as it measures delays. No part of CI.
BOMBS =

bombs: build
	KINDRED_DECODERS="$$(.ci/heic)" $(GO) run ./internal/test/bombs/trial -kindred bin/kindred $(BOMBS)

# Hours at full scale. make promises PROMISES='-only clean -scale 0.1' tries a part.
promises:
	$(GO) run ./internal/app/experiments/simulation $(PROMISES)

stress:
	$(GO) run ./internal/test/stress -runs $(RUNS) -conditions "$(CONDITIONS)" $(STRESSED)

# Packages with goroutines of their own, or whose work par spreads over the cores.
# Those that compute much run what uses all cores once, as the race detector makes
# them ten times slower. It needs cgo, and makes allocations of its own.
RACE_ALL = ./internal/base/par ./internal/base/budget ./internal/compute/pair ./objective ./train ./data ./data/internal/... ./data/split ./data/sample ./internal/app/cli/inspect ./internal/compute/cluster \
	./internal/app/experiments/theory/field ./index ./internal/jobs ./internal/jobs/queue ./internal/jobs/natsserver ./serve/... ./internal/app/remote/... ./internal/collection/mirror/watch
RACE_SOME = ./cmd/kindred ./internal/network/conv ./internal/network/attention ./matrix ./nn ./train ./run ./internal/sweep ./internal/compute/projection ./eval ./internal/app/experiments/theory/isometry ./internal/app/experiments/theory/noise
RACE_TESTS = SameBits|Moments|BatchSizes|Stop|Interrupted|Learns|Features|TestSweep$$
CC ?= gcc

race:
	@if command -v $(firstword $(CC)) >/dev/null; then \
		export CGO_ENABLED=1; \
		$(TEST) -race -short -timeout 10m -skip 'Alloc|Memory' $(RACE_ALL) && \
		$(TEST) -race -short -timeout 10m -run '$(RACE_TESTS)' -skip 'Alloc|Memory' $(RACE_SOME); \
	else echo 'no C compiler ($(CC)), which the race detector needs: skipped'; fi

# Other systems: the types of all packages and tests. What that cannot see, assembly and
# functions without a body, depends on the processor alone, and make arm64 runs it. To
# compile everything for a system takes several times as long; make release does that for
# all six, and make cross COMPILED=./... for these.
SYSTEMS = linux/arm64 darwin/arm64 windows/amd64
COMPILED =

cross:
	$(GO) run ./internal/test/systems $(SYSTEMS)
	@[ -z "$(COMPILED)" ] || for system in $(SYSTEMS); do \
		echo "$$system: $(COMPILED)"; \
		GOOS=$${system%/*} GOARCH=$${system#*/} $(GO) build $(COMPILED) || exit 1; \
	done

# The kernels for arm64 run in an emulator of that processor, from Debian: as a processor
# that has the oldest instructions alone, and, where kernels are chosen by what a processor
# has, with all instructions that it knows. Debian's
# binutils are what the generator's test reads the instructions with. Where they cannot
# be installed both are skipped.
ARM_PACKAGES = qemu-user binutils-aarch64-linux-gnu
ARM_KERNELS = ./internal/kernel/simd ./internal/kernel/scan ./internal/kernel/dot16 ./internal/kernel/dot8 ./internal/kernel/pix ./internal/kernel/bf16 ./internal/kernel/qgemm
ARM_CHOSEN = ./internal/kernel/dot8 ./internal/kernel/qgemm

arm64:
	GOARCH=arm64 $(VET) ./internal/kernel/...
	@dpkg -s $(ARM_PACKAGES) >/dev/null 2>&1 || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update >/dev/null && \
			DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(ARM_PACKAGES) >/dev/null; } || true
	@if command -v qemu-aarch64 >/dev/null; then \
		GOARCH=arm64 $(TEST) -count=1 -short -exec 'qemu-aarch64 -cpu cortex-a53' $(ARM_KERNELS) && \
		GOARCH=arm64 $(TEST) -count=1 -short -exec 'qemu-aarch64 -cpu max' $(ARM_CHOSEN); \
	else echo 'no qemu-aarch64: the kernels for arm64 are not run'; fi

# The modules that stand on this one are compiled too, so that a renamed field cannot break them unseen.
lint: vet
	cd xla && $(VET) ./...
	cd mpi && $(VET) ./...
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run: make fmt'; exit 1; }
	$(GO) tool staticcheck ./...

# peer sets up what kindred is timed beside, as far as it can, and says what it left out:
# make peer PEERS=DIR, in place of the user's cache. As root it unpacks 2 GB of Debian.
PEERS := $(KINDRED_PEERS)
export KINDRED_PEERS := $(PEERS)

peer:
	@bench/setup

# make bench CASES='resnet50-224-infer-b16 ms-n512-d128' times these only.
CASES =
TIMED = peers=$$(bench/setup) && bin/kindred bench $(CASES) $${peers:+$$(printf ' --peer %s' $$peers)}

bench: build
	$(TIMED)

# bench-page takes the figures of this machine for docs/bench.md and README, on a
# machine that does nothing else meanwhile:
#   make bench-page RECORD=docs/bench/amd-epyc-zen5.json PROCESSOR='AMD EPYC (Zen 5)'
# With CASES the record keeps what it has of other cases.
RECORD = docs/bench/this-machine.json
PROCESSOR =
bench-page: build
	$(TIMED) --record $(RECORD) $(if $(PROCESSOR),--processor "$(PROCESSOR)")
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

site:
	$(GO) run ./docs/site -out dist/site

# gallery takes the pictures of docs/gallery.md again, on photos in a folder for each class and
# with chromium: make gallery PHOTOS=DIR, and GALLERY='network.freeze=body data.size=128' for settings
# of the training.
GALLERY =

gallery: build browser
	$(GO) run ./docs/gallery -photos "$(PHOTOS)" -settings "$(GALLERY)"

fmt:
	gofmt -w .

# What a release holds, in dist, from the commit that is checked out; docs/release.md lists
# it. What makes the packages is a module of its own. make release SYSTEMS_RELEASED=linux/amd64
# makes it for one system.
SYSTEMS_RELEASED =

release:
	cd tools/release && $(GO) run . -version "$(VERSION)" -repo ../.. -out "$(CURDIR)/dist" \
		-systems "$(SYSTEMS_RELEASED)"

# The release for this machine, made twice, installed in an empty Debian and tried there;
# as root, who may make such a folder. No part of CI.
release-check:
	.ci/release-check

# What makes a release, without building kindred.
release-test:
	cd tools/release && $(VET) ./... && $(TEST) -short ./...

# What has changed for programs that import kindred since a tag: make api BASE=v0.1.0. It
# fails if they would have to change.
BASE ?=

api:
	@.ci/api $(BASE)

# The wheels for Python hold the binaries of make release, where dist has such, else the one
# that KINDRED_BIN names, else this machine's own.
PYTHON = /usr/bin/python3
RELEASED = $(wildcard dist/kindred-*.tar.gz dist/kindred-*.zip)

wheels: $(if $(RELEASED)$(KINDRED_BIN),,build)
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) \
		$(PYTHON) python/build_wheels.py --out dist/wheels $(or $(RELEASED),$(KINDRED_BIN),bin/kindred)

# What the tests of the package for Python need, from Debian. PYTHON=FILE takes another
# Python, which must have numpy and pytest; what else is missing is skipped.
PYTHON_PACKAGES = python3-numpy python3-pandas python3-sklearn python3-pil python3-pytest python3-pip python3-venv \
	python3-nbclient python3-nbformat python3-ipykernel

python: $(if $(KINDRED_BIN),,build)
	@[ "$(PYTHON)" != /usr/bin/python3 ] || dpkg -s $(PYTHON_PACKAGES) >/dev/null 2>&1 || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && timeout 60 apt-get update >/dev/null && \
			DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(PYTHON_PACKAGES) >/dev/null; } || true
	@if $(PYTHON) -c 'import pytest' 2>/dev/null; then \
		KINDRED_BIN="$${KINDRED_BIN:-bin/kindred}" $(PYTHON) -B -m pytest -q -rs python; \
	else echo 'no pytest for $(PYTHON): the package for Python is not tested'; fi

# The notebooks with what came out of them, in dist/notebooks, for somebody to look at. make
# python runs them too, and keeps nothing.
notebooks: $(if $(KINDRED_BIN),,build)
	KINDRED_BIN="$${KINDRED_BIN:-bin/kindred}" $(PYTHON) -B python/run_notebooks.py --out dist/notebooks

# gen rewrites the assembly and the generated pages. The generators of assembly
# are a module of their own.
GENERATED = simd dot8 dot16 pix scan bf16 qgemm fft
ROOT = .

gen: assembly
	$(GO) run ./docs/gen

assembly:
	@for pkg in $(GENERATED); do \
		echo "internal/kernel/$$pkg"; \
		(cd $(ROOT)/internal/kernel/gen && $(GO) run ./$$pkg -out ../$$pkg/kernels_amd64.s -stubs ../$$pkg/kernels_amd64.go -pkg $$pkg) || exit 1; \
	done

# The pages are compared by a test of docs/gen. The generators have tests of their own:
# GNU's assembler reads what they wrote for arm64, if it is there.
checkgen:
	.ci/checkgen $(GENERATED)
