GO ?= go
export CGO_ENABLED = 0

.PHONY: help build demo test lint cross bench gen assembly checkgen fmt

help:
	@echo 'make demo   train two embeddings of MNIST, print the table, write reports/mnist/report.html'
	@echo 'make test   everything CI runs: lint, cross builds, tests at every instruction set, fuzzing'
	@echo 'make bench  time kindred beside PyTorch and faiss (Debian: python3-torch python3-torchvision python3-faiss)'
	@echo 'make gen    regenerate assembly and generated docs'
	@echo 'make fmt    gofmt'

build:
	$(GO) build -trimpath -o bin/kindred ./cmd/kindred

demo: build
	bin/kindred reproduce mnist --seeds 1 --out reports/mnist

# Every kernel has three levels (AVX-512, AVX2, plain Go); what stands on them is
# tested at each level that this machine has.
KERNEL_USERS = ./internal/simd/... ./internal/pix ./data/imaging ./internal/scan ./internal/conv ./mat ./pair ./mine ./loss ./objective

test: lint cross checkgen
	$(GO) test -timeout 25m ./...
	KINDRED_ISA=avx2 $(GO) test -count=1 -short $(KERNEL_USERS)
	KINDRED_ISA=go $(GO) test -count=1 -short $(KERNEL_USERS)
	$(GO) test -short -tags noasm $(KERNEL_USERS)
	.ci/fuzz

# It must also build where there is no assembly for it.
cross:
	GOOS=linux GOARCH=arm64 $(GO) build ./...
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=windows GOARCH=amd64 $(GO) build ./...

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run: make fmt'; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

bench: build
	bin/kindred bench --peer bench/peer.py

fmt:
	gofmt -w .

# gen rewrites the assembly and the generated pages. A generator of assembly is a
# module of its own.
GENERATED = simd dot16 pix scan
ROOT = .

gen: assembly
	$(GO) run ./docs/gen

assembly:
	@for pkg in $(GENERATED); do \
		echo "internal/$$pkg"; \
		(cd $(ROOT)/internal/$$pkg/gen && $(GO) run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg $$pkg) || exit 1; \
	done

# The pages are compared by docs/gen's test.
checkgen:
	.ci/checkgen $(GENERATED)
