SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
TOOL    := $(GO) tool -modfile=internal/tools/go.mod
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
REAL    := bin/real

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-14s %s\n", $$1, $$2}'

build: ## build bin/xdsbench
	$(GO) build -ldflags "-s -w -X main.version=$(VERSION)" -o bin/xdsbench ./cmd/xdsbench

run: build ## run the quickstart on the embedded control plane
	bin/xdsbench run

test: ## all tests, with the race detector (go vet is one of the linters)
	$(GO) test -race -vet=off -shuffle=on -p 3 -parallel 4 -timeout 20m ./...

test-profiles: ## each shipped profile for 10 s, with 50 proxies, on the embedded control plane
	$(GO) test -tags shipped -count=1 -timeout 15m -parallel 3 -run TestEveryShippedProfile ./cmd/xdsbench

real-bin: ## build istiod, kube-apiserver, kubectl, etcd and Contour into bin/real
	internal/realstack/build.sh $(CURDIR)/$(REAL)

test-istiod: build real-bin ## tests against a real istiod and Contour, on fakekube and on a real kube-apiserver
	XDSBENCH_REAL_BIN=$(CURDIR)/$(REAL) XDSBENCH_BIN=$(CURDIR)/bin/xdsbench \
		$(GO) test -tags realstack -count=1 -v -timeout 40m -run 'Real' ./...

lint: ## golangci-lint on this module
	$(TOOL) golangci-lint run ./...
	$(TOOL) golangci-lint run --build-tags realstack ./...

fmt: ## format the code
	$(TOOL) golangci-lint fmt ./...

tidy-check: ## go.mod and go.sum hold what the code needs and no more
	$(GO) mod tidy -diff

fuzz-smoke: ## each fuzz target for a few seconds
	@for pkg in $$($(GO) list ./...); do \
		for f in $$(cd $$($(GO) list -f '{{.Dir}}' $$pkg) && grep -ohE '^func Fuzz[A-Za-z0-9_]+' *_test.go 2>/dev/null | sed 's/func //'); do \
			echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime 5s $$pkg; \
		done; \
	done

bench: ## benchmarks, each beside its floor
	@mkdir -p bin
	$(GO) test -run '^$$' -bench . -benchmem ./... | tee bin/bench.txt
	@echo; echo "beside their floors:"
	@awk '/^Benchmark/ { for (i = 3; i < NF; i++) if ($$(i+1) ~ /^x-/) printf "%-50s %6.2f %s\n", $$1, $$i, $$(i+1) }' bin/bench.txt

bench-fleet: build ## fleets of 1,000 to 20,000 proxies, into docs/performance.md
	$(GO) run ./internal/cmd/benchfleet

cover: ## test coverage by function
	$(GO) test -coverprofile=cover.out ./...
	$(GO) tool cover -func=cover.out

check: lint tidy-check test ## what a change must pass before it is pushed

ci: ## what CI runs
	.ci/run

.PHONY: help build run test test-profiles real-bin test-istiod lint fmt tidy-check fuzz-smoke bench bench-fleet cover check ci
