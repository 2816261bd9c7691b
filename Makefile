# "make help" lists the targets; "make check" is the gate, the same in CI.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# No C compiler is needed, and one build cache serves the binary and the tests.
# Tests are not vetted again each time they are built: lint vets all, with more.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -vet=off

# The key services that a binary can be built with.
KMS := awskms,gcpkms,vault

STEP := scripts/step
# CMD with DATABASE_URL set: the caller's own, or a private cluster's.
WITH_DB := scripts/postgres run
# Runs the rest of the line if the file or folder exists, and says so if not.
IF = @[[ -e $(1) ]] || { echo "$@: skipped, there is no $(1)"; exit 0; };

.PHONY: help dev image image-check clients kms-build release-check test check lint fuzz bench chaos chaos-short prove-log prove-log-short \
	prove-api prove-api-short prove-webhooks webhooks-short webhook-kills prove-purchase purchases-short crash-short prove-crash routing-short prove-routing tracking-short prove-tracking dashboard-short prove-dashboard browser screenshots simulate generate build install-tools clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# It starts a Postgres of its own, and stops it again; DATABASE_URL names another.
dev: ## a running service: Postgres, a demo account, a test key, the first curl line
	@echo "Building bin/waybill (the first time this takes a minute or more) ..."
	@$(MAKE) -s build
	@bin/waybill dev $(DEV_FLAGS)

build: ## bin/waybill
	go build -ldflags "-s -w" -o bin/waybill ./cmd/waybill

image: build ## the container image as an OCI layout in image/, without Docker
	@scripts/image-root bin/waybill image/files
	@go -C tools run ./image -dockerfile ../Dockerfile -from build=../image/files -out ../image/oci

image-check: image ## the image unpacked and run, with the settings of the compose file
	RELEASE=1 $(WITH_DB) go test ./test/deploy -run TestTheImage -count=1 -v -timeout 5m

clients: build ## a first hour in Go, TypeScript and Python, and clients generated from /openapi.json
	go test ./test/clients -tags clients -count=1 -v -timeout 20m

kms-build: ## the binary with every key service
	go build -tags $(KMS) -o /dev/null ./cmd/waybill

release-check: image-check clients kms-build ## what a release is checked with beside the gate

# Tests wait for databases and timers more than they compute: three packages at
# once keep two cores busy.
test: ## every test, against a real Postgres
	@$(WITH_DB) go test -p 3 -shuffle=on -timeout 10m ./...

check: ## the gate's body: everything that must pass before a merge, cheap things first
	@$(STEP) build $(MAKE) build
	@$(STEP) lint $(MAKE) lint
	@$(STEP) test $(MAKE) test
	@$(STEP) image-check $(MAKE) image-check
	@$(STEP) prove-api-short $(MAKE) prove-api-short
	@# What runs beside others has no bounds on time: it computes while the others
	@# wait for what they kill.
	@scripts/beside fuzz prove-log-short chaos-short webhook-kills
	@$(STEP) webhooks-short $(MAKE) webhooks-short
	@$(STEP) purchases-short $(MAKE) purchases-short ROUTING='|TestRouting'
	@$(STEP) tracking-short $(MAKE) tracking-short
	@$(STEP) dashboard-short $(MAKE) dashboard-short
	@scripts/beside crash-short browser

lint: install-tools ## format, vet, static checks, generated files, modules, licences, vulnerabilities, the contract
	@unformatted=$$(find . -name '.?*' -prune -o -name '*.go' -not -name '*_templ.go' -print0 | xargs -0 .bin/gofumpt -l); \
		[[ -z $$unformatted ]] || { echo "gofumpt -w is needed on:"; echo "$$unformatted"; exit 1; }
	go vet -tags chaos,browser ./...
	.bin/staticcheck -tags chaos,browser ./...
	go vet -tags $(KMS) ./internal/seal
	.bin/staticcheck -tags $(KMS) ./internal/seal
	go test -tags $(KMS) ./internal/seal
	.bin/errcheck -tags chaos -ignoretests -exclude scripts/errcheck.txt ./...
	@scripts/generated
	go mod verify
	@scripts/licences
	@scripts/vulncheck
	@scripts/openapi
	@! command -v shellcheck >/dev/null || shellcheck .ci/run $$(grep -lI '^#!.*bash' scripts/*)

fuzz: ## every fuzz target for 2 s
	@scripts/fuzz 2s

chaos-short: ## creations while copies of the binary and Postgres are killed, the gate's size
	$(call IF,test/chaos) CHAOS=short go test ./test/chaos -tags chaos -run TestChaosShort -count=1 -v -timeout 15m

chaos: ## the same for long
	$(call IF,test/chaos) CHAOS=long go test ./test/chaos -tags chaos -count=1 -v -timeout 3h

webhook-kills: ## webhooks while copies of the binary and Postgres are killed, the gate's size
	$(call IF,test/webhooks) PROVE=short go test ./test/webhooks -tags chaos -run TestProveKills -count=1 -v -timeout 15m

webhooks-short: build ## webhooks with hanging and lying endpoints, bursts and outages, the gate's size
	$(call IF,test/webhooks) PROVE=short go test ./test/webhooks -tags chaos -run TestProve -skip TestProveKills -count=1 -parallel 3 -v -timeout 15m

prove-webhooks: build ## both at full size; writes proof/webhooks.json
	$(call IF,test/webhooks) PROVE=1 go test ./test/webhooks -tags chaos -run TestProve -count=1 -v -timeout 3h

# The gate has routing-short wait beside the others: ROUTING='|TestRouting'.
purchases-short: build ## purchases under kills, freezes, restores and lying carriers, the gate's size
	$(call IF,test/purchases) PROVE=short go test ./test/purchases -tags chaos -run 'TestProve$(ROUTING)' -count=1 -parallel 4 -v -timeout 15m

prove-purchase: build ## the same at full size; writes proof/purchase.json
	$(call IF,test/purchases) PROVE=1 go test ./test/purchases -tags chaos -run TestProve -count=1 -v -timeout 3h

simulate: ## a million purchases in a simulated world; writes proof/simulate.json
	$(call IF,internal/purchase) out=$$(mktemp); trap 'rm -f "$$out"' EXIT; \
		SIMULATE=$${SIMULATE:-1000000} go test ./internal/purchase -run Simulated -count=1 -v -timeout 30m | tee "$$out"; \
		awk '/purchases from seed/ { m = 0; s = $$8; if (split(s, part, "m") == 2) { m = part[1]; s = part[2] } \
		printf "{\n  \"n\": %d,\n  \"seed\": %s,\n  \"violations\": %d,\n  \"bound95\": %.3g,\n  \"seconds\": %.1f\n}\n", $$2, $$6, $$9, 3 / $$2, m * 60 + s }' \
		"$$out" >proof/simulate.json

crash-short: build ## the program kills itself at every step of a purchase that lasts, the gate's size
	$(call IF,test/crash) PROVE=short go test ./test/crash -tags chaos -run TestProve -count=1 -v -timeout 10m

prove-crash: build ## the same with every carrier, outcome and recovery; writes proof/crash.json
	$(call IF,test/crash) PROVE=1 go test ./test/crash -tags chaos -run TestProve -count=1 -v -timeout 3h

routing-short: build ## creations while carriers refuse, hang and die in turn, the gate's size
	$(call IF,test/purchases) PROVE=short go test ./test/purchases -tags chaos -run TestRouting -count=1 -v -timeout 10m

prove-routing: build ## the same with 5,000, and a back-test beside a real replay; writes proof/routing.json
	$(call IF,test/routing) PROVE=1 $(WITH_DB) go test ./test/routing -count=1 -v -timeout 1h
	$(call IF,test/purchases) PROVE=1 go test ./test/purchases -tags chaos -run TestRouting -count=1 -v -timeout 1h

tracking-short: build ## what carriers push, under kills, forged, and beside the bare engine, a twentieth
	$(call IF,test/tracking) PROVE=short go test ./test/tracking -tags chaos -run TestProve -count=1 -parallel 5 -v -timeout 10m

prove-tracking: build ## the same with 1,000,000 pushed events and 10,000,000 watched parcels; writes proof/tracking.json
	$(call IF,test/tracking) PROVE=1 go test ./test/tracking -tags chaos -run TestProve -count=1 -v -timeout 3h

dashboard-short: ## every page of the dashboard in an account with 50,000 shipments, within 100 ms
	$(call IF,test/dashboard) PROVE=short $(WITH_DB) go test ./test/dashboard -count=1 -v -timeout 5m

prove-dashboard: ## the same with 1,000,000 shipments; writes proof/dashboard.json
	$(call IF,test/dashboard) PROVE=1 $(WITH_DB) go test ./test/dashboard -count=1 -v -timeout 1h

screenshots: ## every page of the dashboard, light and dark, desktop and phone, into screenshots/
	$(call IF,test/browser) SCREENSHOTS=$(CURDIR)/screenshots $(WITH_DB) go test ./test/browser -tags browser -run TestScreenshots -count=1 -v -timeout 20m

browser: ## a first day in the dashboard, signing in, and accessibility, in headless Chromium
	$(call IF,test/browser) $(WITH_DB) go test ./test/browser -tags browser -count=1 -parallel 2 -v -timeout 10m

prove-log-short: ## a reader of the event log beside 32 writers, a tenth of prove-log
	$(call IF,test/log) PROVE=short go test ./test/log -run TestProve -count=1 -v -timeout 15m

prove-log: ## the same with 1,000,000 events
	$(call IF,test/log) PROVE=1 go test ./test/log -run TestProve -count=1 -v -timeout 3h

prove-api-short: build ## schemathesis over the served contract for 30 s
	$(call IF,scripts/schemathesis) $(WITH_DB) scripts/schemathesis short

prove-api: build ## schemathesis over the served contract, 100,000 requests
	$(call IF,scripts/schemathesis) $(WITH_DB) scripts/schemathesis full

bench: build ## the service beside the bare engine; writes bench/latest.json
	$(call IF,bench) $(WITH_DB) go run ./bench

generate: ## write the generated files again
	go generate ./...

install-tools: .bin/.stamp ## build the pinned tools into .bin

.bin/.stamp: tools/go.mod tools/go.sum
	@mkdir -p .bin
	go -C tools build -o ../.bin/ tool
	@touch $@

clean: ## remove what was built, and the private Postgres with its data
	@scripts/postgres destroy
	rm -rf bin .bin .venv
