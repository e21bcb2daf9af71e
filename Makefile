# farlink: every task by name. "make" alone prints this list.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/bin/go-toolchain/bin:$(PATH):/usr/sbin:/sbin
export CGO_ENABLED ?= 0
TAGS := -tags nomsgpack
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)

.PHONY: help
help: ## print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## a GEO satellite link between two namespaces, on this machine (ARGS=--once ends by itself)
	@scripts/need go demo
	@$(MAKE) --no-print-directory build
	@scripts/demo $(ARGS)

.PHONY: build
build: ## bin/farlink
	@scripts/need go
	@mkdir -p bin
	go build $(TAGS) -trimpath -ldflags '$(LDFLAGS)' -o bin/farlink ./appliance/cmd/farlink

.PHONY: test
test: ## every test, unit and root (network namespaces); installs what is missing
	@scripts/need go test
	@scripts/test

.PHONY: bench
bench: build ## the performance figures against their targets, as table and JSON in bench/out
	@scripts/need demo
	@mkdir -p bench/out
	bin/farlink bench --out bench/out $(ARGS)

.PHONY: generate
generate: ## BPF objects, OpenAPI document and its types, reference.toml, figures
	@scripts/need go generate
	go generate $(TAGS) ./...
	$(MAKE) --no-print-directory build
	bin/farlink openapi > docs/openapi.yaml
	UPDATE=1 go test $(TAGS) -count=1 -run '^TestTypes$$' ./appliance/api
	go test $(TAGS) -count=1 -run '^TestReference$$' ./profiles -update
	scripts/figures

.PHONY: vendor
vendor: ## the panel's libraries, again from the npm registry (needs npm; the build does not)
	ui/vendor.sh

.PHONY: check
check: ## what CI checks beside the tests: format, vet, generated files up to date, known vulnerabilities, fuzzing
	@scripts/need go generate
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet $(TAGS) ./...
	$(MAKE) --no-print-directory generate
	@git diff --exit-code --stat || { echo "generated files differ from the committed ones"; exit 1; }
	scripts/vulnerabilities
	scripts/fuzz $(or $(FUZZTIME),60s)

.PHONY: clean
clean: ## remove what the build made
	rm -rf bin bench/out
