# Each target is one command or one script; CI runs `make ci e2e`, several targets at once.
FUZZTIME ?= 30s
BENCH    ?= .
ROUNDS   ?= 10
# The tests that also run under the race detector: those of the package that starts goroutines.
RACE     ?= ./internal/render ./internal/test/chart -run 'Goldens|SchemaErrors'

# Set, so that a test fails instead of being skipped if a real part is missing.
export SUPERSONIC_TOOLS ?= $(CURDIR)/.tools

# The same for tests, tools and linters, so that they share compiled packages.
export CGO_ENABLED = 0

# Set by CI: a command that runs the others.
step =

tool     = go tool -modfile=scripts/tools.mod
lab      = cd scripts/lab && go build -o ../../bin/lab . && ../../bin/lab
# The packages whose tests wait for real parts, and would fail on a busy machine; the one that takes longest first.
parts    = $(addprefix ./internal/test/,proxy prometheus gate models envoy)
# Of the others, those whose tests take longest, which go first, so that no core waits for them at the end.
longest  = ./internal/sim ./internal/test/chart ./internal/cli
goldens  = $(sort $(dir $(shell grep -rl --include='*_test.go' supersonic/internal/test/golden internal)))

signed   = $(if $(KEYRING),-keyring $(KEYRING)) $(if $(KEY),-key "$(KEY)") $(if $(PASSPHRASE),-passphrase-file $(PASSPHRASE))

.DEFAULT_GOAL = help
.PHONY: help build release site tools generate golden test test-unit test-parts test-race test-lab agree bench soak fuzz lint verify ci
.PHONY: lab lab-build lab-down e2e e2e-all ab

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/supersonic
	go build -o bin/supersonic ./cmd/supersonic

release: ## write a release into dist, signed with KEYRING=FILE KEY=NAME PASSPHRASE=FILE
	rm -rf dist
	go build -C scripts/release -o ../../bin/release .
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} bin/release $(signed)

site: ## build the pages as a site, in dist/site
	scripts/tools/install.sh mkdocs-material
	rm -rf dist/site
	scripts/site/build.sh dist/site

tools: ## install the real parts that tests run, into .tools or $SUPERSONIC_TOOLS
	$(step) scripts/tools/install.sh

generate: ## write the generated files
	for dir in scripts/gen*/; do go run "./$$dir" || exit; done
	go -C scripts/lab mod tidy # its requirements follow those of the main module

golden: ## rewrite the golden files, and show what changed
	go test $(addprefix ./,$(goldens)) -run 'Golden|Picture' -update
	git diff --stat

test: test-unit test-parts test-race test-lab ## run every test with what `make tools` installs

# Without vet, which make lint runs.
gotestsum = gotestsum --post-run-command '$(CURDIR)/scripts/count.sh $(1)' -- -vet=off -timeout 20m

test-unit:
	$(step) $(tool) $(call gotestsum,--no-skips) $$(go list $(longest) ./... | grep -vxF "$$(go list $(parts))")

test-parts:
	$(step) $(tool) $(call gotestsum,--no-skips) $(parts)

test-race: export CGO_ENABLED = 1
test-race:
	$(step) $(tool) $(call gotestsum,--no-skips) -race $(RACE)

test-lab:
	$(step) go -C scripts/lab tool -modfile=../tools.mod $(call gotestsum) ./...

agree: ## compare internal/hpa with the code of Kubernetes and KEDA over long random histories, about half an hour
	cd scripts/lab && go test ./upstream -v -histories 100000 -timeout 60m
	cd scripts/keda && go test -mod=mod . -v -histories 2000 -timeout 60m

bench: ## run the benchmarks that match BENCH
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 60m ./...

soak: ## roll Envoy and scale Triton down ROUNDS times under load
	go test -count=1 -v -timeout 60m -run 'FailsNoCall$$' ./internal/test/proxy -rolls $(ROUNDS) -scale-downs $(ROUNDS)

fuzz: ## run each fuzz target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

lint: ## check style, dead code, scripts and the Lua filter
	$(step) scripts/lint.sh

verify: ## check that the generated files are current
	$(step) scripts/verify-generated.sh

ci: tools lint verify test ## install the tools and check everything that needs no cluster

# The tools first, also in `make --jobs ci`: the others compile much of the same.
ifneq (,$(filter ci,$(MAKECMDGOALS)))
lint verify test-unit test-parts test-race test-lab: | tools
endif

lab: ## start the lab, a real Kubernetes node (docs/lab.md)
	$(lab) up

lab-build:
	$(step) scripts/e2e.sh --build

lab-down: ## stop the lab
	$(lab) down

e2e: lab-build ## run the main scenarios in the lab
	$(step) scripts/e2e.sh -test.timeout=25m -test.run '^Test(Install|Step|DryRun)$$'

e2e-all: lab-build ## run every scenario in the lab
	scripts/e2e.sh -test.timeout=2h

ab: lab ## compare ways to size the fleet in the lab, about five hours; continues where it stopped
	$(lab) ab
