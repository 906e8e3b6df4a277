GO ?= go
export CGO_ENABLED = 0

.PHONY: test lint fmt build

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
