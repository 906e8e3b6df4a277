GO ?= go
export CGO_ENABLED = 0

.PHONY: test lint fmt build gen checkgen

build:
	$(GO) build -o bin/kindred ./cmd/kindred

test: lint
	$(GO) test ./...

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run: make fmt'; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

fmt:
	gofmt -w .

# gen rewrites the generated assembly. Its generator is a module of its own.
gen:
	cd internal/simd/gen && $(GO) run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg simd

# checkgen fails if the assembly is not what the generator writes.
checkgen: gen
	git diff --exit-code -- internal/simd
