# Each target is one command or one script; CI runs `make ci e2e`.
FUZZTIME ?= 30s
BENCH    ?= .
ROUNDS   ?= 10
# The package with a goroutine of ours and the tests of it that also run under the race detector.
RACE     ?= ./internal/render ./internal/test/chart -run 'Golden|Fault|Schema'

# Set, so that a test fails where a real part is missing, in place of being skipped.
export SUPERSONIC_TOOLS ?= $(CURDIR)/.tools

tool     = go tool -modfile=scripts/tools.mod
lab      = cd scripts/lab && go build -o ../../bin/lab . && ../../bin/lab
goldens  = $(sort $(dir $(shell grep -rl --include='*_test.go' supersonic/internal/test/golden internal)))

.DEFAULT_GOAL = help
.PHONY: help build tools generate golden test bench soak fuzz lint verify ci lab lab-down e2e e2e-all ab

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/supersonic
	go build -o bin/supersonic ./cmd/supersonic

tools: ## install the real parts that tests run, into .tools or $SUPERSONIC_TOOLS
	scripts/tools/install.sh

generate: ## write the generated files
	for dir in scripts/gen*/; do go run "./$$dir" || exit; done

golden: ## rewrite the golden files, and show what changed
	go test $(addprefix ./,$(goldens)) -update
	git diff --stat

test: ## run every test with what `make tools` installs
	$(tool) gotestsum --post-run-command 'scripts/count.sh --no-skips' -- -timeout 20m ./...
	$(tool) gotestsum --post-run-command 'scripts/count.sh --no-skips' -- -timeout 20m -race $(RACE)
	cd scripts/lab && go tool -modfile=../tools.mod gotestsum --post-run-command ../count.sh -- ./...

bench: ## run the benchmarks that match BENCH
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 60m ./...

soak: ## roll Envoy and scale Triton down ROUNDS times under load
	go test -count=1 -v -timeout 60m -run 'FailsNoCall$$' ./internal/test/proxy -rolls $(ROUNDS) -scale-downs $(ROUNDS)

fuzz: ## run each fuzz target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

lint: ## check style, dead code, scripts and the Lua filter
	scripts/lint.sh

verify: ## check that the generated files are current
	scripts/verify-generated.sh

ci: tools lint verify test ## install the tools and check everything that needs no cluster

lab: ## start the lab, a real Kubernetes node (docs/lab.md)
	$(lab) up

lab-down: ## end the lab
	$(lab) down

e2e: ## run the main scenarios in the lab
	scripts/e2e.sh -test.timeout=25m -test.run '^Test(Install|Step|ServerTakesEveryValuesFile)$$'

e2e-all: ## run every scenario in the lab
	scripts/e2e.sh -test.timeout=2h

ab: lab ## compare ways to size the fleet, about an hour; AB=all for every load
	$(lab) ab
