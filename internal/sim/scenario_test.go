package sim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/sim"
)

func TestShippedScenariosAreRead(t *testing.T) {
	names := sim.Names()
	if len(names) == 0 {
		t.Fatal("no scenario is shipped")
	}
	for _, name := range names {
		s, err := sim.Load(name)
		if err != nil {
			t.Error(err)
		} else if s.Name != name {
			t.Errorf("%s.yaml is called %s", name, s.Name)
		}
	}
}

// An inconsistent scenario is refused, and every error is listed by its key.
func TestContradictionsAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.yaml")
	text := `
about: wrong in many ways
duration: 1s
wanted: {inflation: 0.5}
models:
  - {name: a, service: 10ms, distribution: normal}
  - {name: a, service: 0ms}
  - {name: e, steps: [a, f]}
clients:
  - {name: nobody}
  - {name: both, count: 3, rate: 5}
  - {name: stranger, count: 1, models: [{model: z, weight: 0}]}
incidents:
  - {at: 1m, what: flood}
policies:
  - {name: p, replicas: 3, values: {keda: {}}}
  - {name: p}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sim.Load(file)
	if err == nil {
		t.Fatal("not refused")
	}
	for _, want := range []string{
		"x.yaml: duration: must be from 1m to 744h, got 1s",
		"x.yaml: wanted.inflation: must be above 1, got 0.5",
		`x.yaml: models[0].distribution: must be constant, exponential or lognormal, got "normal"`,
		"x.yaml: models[1].name: must be unique, got a again",
		"x.yaml: models[1].service: must be above 0, got 0s",
		"x.yaml: models[2].steps[1]: must be a model that is not an ensemble, got f",
		"x.yaml: clients[0]: must have a count, or one of rate, every and trace, got neither",
		"x.yaml: clients[1].count: must be unset beside rate, every or trace, got 3",
		"x.yaml: clients[2].models[0].model: must be one of the models, got z",
		"x.yaml: clients[2].models[0].weight: must be above 0, got 0",
		`x.yaml: incidents[0].what: must be envoy-restarts, triton-stalls or prometheus-restarts, got "flood"`,
		"x.yaml: policies[0]: must set replicas or values, got both",
		"x.yaml: policies[1].name: must be unique, got p again",
	} {
		if !strings.Contains(err.Error()+"\n", want+"\n") {
			t.Errorf("does not say %s\nbut:\n%v", want, err)
		}
	}
}
