# "make help" lists the targets. "make check" must pass before a merge; CI runs
# the same.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# No C compiler is needed, and one build cache serves the binary and the tests.
# Tests are not vetted each time they are built: lint vets all packages.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -vet=off

# The key services that a binary can be built with.
export KMS := awskms,gcpkms,vault

STEP := scripts/step
# Runs a command with DATABASE_URL set: the caller's own, or a private cluster's.
WITH_DB := scripts/postgres run

.PHONY: help dev build test check lint browser screenshots prove bench image release release-check sdks carrier generate install-tools clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# It starts a private Postgres and stops it again, unless DATABASE_URL is set.
dev: ## a running service: Postgres, a demo account, a test key, the first curl line
	@echo "Building bin/waybill (the first time this takes a minute or more) ..."
	@$(MAKE) -s build
	@bin/waybill dev $(DEV_FLAGS)

build: ## bin/waybill
	go build -ldflags "-s -w" -o bin/waybill ./cmd/waybill

# Tests wait for databases and timers more than they compute: three packages at
# once keep two cores busy.
test: ## every test, against a real Postgres
	@$(WITH_DB) go test -p 3 -shuffle=on -timeout 10m ./...

# Steps that run in parallel have no time limits: one computes while another
# waits for processes that it kills. Steps that measure times run alone.
check: ## everything that must pass before a merge, quick steps first
	@$(STEP) build $(MAKE) build
	@$(STEP) lint $(MAKE) lint
	@$(STEP) test $(MAKE) test
	@$(STEP) image scripts/release-check image
	@$(STEP) api scripts/prove api short
	@scripts/beside fuzz log chaos webhook-kills tracking
	@$(STEP) webhooks scripts/prove webhooks short
	@scripts/beside purchases routing
	@$(STEP) dashboard scripts/prove dashboard short
	@scripts/beside crash browser

lint: install-tools ## format, vet, static checks, generated files, modules, licences, vulnerabilities, the contract
	@unformatted=$$(find . -name '.?*' -prune -o -name '*.go' -not -name '*_templ.go' -print0 | xargs -0 .bin/gofumpt -l); \
		[[ -z $$unformatted ]] || { echo "gofumpt -w is needed on:"; echo "$$unformatted"; exit 1; }
	go vet -tags chaos,browser ./...
	.bin/staticcheck -tags chaos,browser ./...
	go vet -tags $(KMS) ./kms
	.bin/staticcheck -tags $(KMS) ./kms
	go test -tags $(KMS) ./kms
	.bin/errcheck -tags chaos -ignoretests -exclude scripts/errcheck.txt ./...
	@scripts/generated
	go mod verify
	@scripts/licences
	@scripts/vulncheck
	@scripts/openapi
	.bin/actionlint
	@! command -v shellcheck >/dev/null || shellcheck .ci/run $$(grep -lI '^#!.*bash' scripts/*)

browser: ## dashboard tests in headless Chromium: first steps, signing in, accessibility
	$(WITH_DB) go test ./test/browser -tags browser -count=1 -parallel 2 -v -timeout 10m

screenshots: ## every page of the dashboard, light and dark, desktop and phone, into screenshots/
	SCREENSHOTS=$(CURDIR)/screenshots $(WITH_DB) go test ./test/browser -tags browser -run TestScreenshots -count=1 -v -timeout 20m

prove: ## list the proofs; WHAT=purchases SIZE=short|full runs one
	@scripts/prove $(WHAT) $(SIZE)

bench: build ## benchmark the service against bare Postgres; writes bench/latest.json
	$(WITH_DB) go run ./bench

image: build ## the container image as an OCI layout in image/, without Docker
	@scripts/image-root bin/waybill image/files
	@go -C tools run ./image -dockerfile ../Dockerfile -from build=../image/files -out ../image/oci

# Tools that nothing else needs have a module of their own, tools/release. The key
# comes from the environment: RELEASE_KEY and RELEASE_KEY_PASSWORD.
release: ## archives, packages, image, SBOM, checksums and signature into dist/; VERSION=v1.2.3 unless tagged
	@go -C tools/release run . -source ../.. -out ../../dist $(if $(VERSION),-version $(VERSION))

release-check: ## release checks in addition to make check: files of a release, the image, clients, key services, an upgrade
	@scripts/release-check

sdks: ## build the packages of the TypeScript and Python libraries into dist/; needs node, npm and python3
	@scripts/sdks

carrier: ## write the skeleton of a carrier's driver: NAME=acme TITLE="Acme Parcel"
	@go -C tools run ./carrier -name "$(NAME)" -title "$(TITLE)" -into ..

generate: ## regenerate the generated files
	go generate ./...

install-tools: .bin/.stamp ## build the pinned tools into .bin

.bin/.stamp: tools/go.mod tools/go.sum
	@mkdir -p .bin
	go -C tools build -o ../.bin/ tool
	@touch $@

clean: ## remove what was built, and the private Postgres with its data
	@scripts/postgres destroy
	rm -rf bin .bin .venv dist image
