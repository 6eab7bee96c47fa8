package hpa_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscaling "k8s.io/api/autoscaling/v2"

	"github.com/fastmachinelearning/supersonic/internal/hpa"
)

// The chart's own manifest is read completely.
func TestReadsTheChartsScaledObject(t *testing.T) {
	text, err := os.ReadFile("../../golden/scale-from-zero/keda/scaledobject.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := hpa.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	behavior := got.Behavior
	got.Behavior = nil
	want := hpa.Spec{
		Min: 0, Max: got.Max,
		PollingInterval: 10 * time.Second, Cooldown: got.Cooldown, InitialCooldown: got.Cooldown,
		Triggers: []hpa.Trigger{
			{Name: "load", Threshold: 2, MetricType: autoscaling.AverageValueMetricType},
			{Name: "wake-up", Threshold: 1e6, MetricType: autoscaling.AverageValueMetricType},
		},
		Fallback: &hpa.Fallback{FailureThreshold: 3, Replicas: 1, Behavior: "currentReplicasIfHigher"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got.Cooldown < 10*time.Minute {
		t.Errorf("cool-down is %v, below the window for shrinking", got.Cooldown)
	}
	if up := behavior.ScaleUp.Policies[0].Value; up != got.Max {
		t.Errorf("growth is %d replicas at once, want %d", up, got.Max)
	}
	if down := *behavior.ScaleDown.StabilizationWindowSeconds; down != 600 {
		t.Errorf("window for shrinking is %ds, want 600s", down)
	}
}

func TestReadsEveryGolden(t *testing.T) {
	files, err := filepath.Glob("../../golden/*/keda/scaledobject.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := hpa.Read(text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// Every invalid key is named, and no key that changes the result is ignored.
func TestReadRefuses(t *testing.T) {
	const triggers = `triggers: [{type: prometheus, metadata: {threshold: "2"}}]`
	const behavior = "{" + triggers + `, advanced: {horizontalPodAutoscalerConfig: {behavior: `
	for name, c := range map[string]struct{ spec, want string }{
		"an idle size that is the least size": {
			`{idleReplicaCount: 1, minReplicaCount: 1, ` + triggers + `}`, "idleReplicaCount: must be below minReplicaCount, 1, got 1",
		},
		"an idle size beside no least size": {
			`{idleReplicaCount: 0, ` + triggers + `}`, "minReplicaCount: must be set beside idleReplicaCount",
		},
		"a least size above the most": {
			`{minReplicaCount: 3, maxReplicaCount: 2, ` + triggers + `}`, "minReplicaCount: must be at most maxReplicaCount, 2, got 3",
		},
		"a threshold that rounds to 0": {
			`{triggers: [{type: prometheus, metadata: {threshold: "0.0004"}}]}`, "threshold: must be at least 0.001, got 0.0004",
		},
		"a negative threshold":    {`{triggers: [{type: prometheus, metadata: {threshold: "-1"}}]}`, "threshold: must be at least 0.001"},
		"no threshold":            {`{triggers: [{type: prometheus}]}`, `threshold: must be a number, got ""`},
		"metadata not of strings": {`{triggers: [{type: prometheus, metadata: {threshold: 2}}]}`, "metadata.threshold: must be a string, got 2"},
		"another trigger":         {`{triggers: [{type: cpu, metadata: {threshold: "2"}}]}`, "type: must be prometheus, got cpu"},
		"no trigger":              {`{}`, "triggers: must be at least one, got none"},
		"Utilization": {
			`{triggers: [{type: prometheus, metricType: Utilization, metadata: {threshold: "2"}}]}`, "metricType: must be",
		},
		"a key that changes sizes": {`{` + triggers + `, advanced: {scalingModifiers: {formula: load}}}`, "scalingModifiers"},
		"an unknown fallback": {
			`{` + triggers + `, fallback: {behavior: scalingModifiers}}`, "fallback.behavior: must be static, currentReplicas,",
		},
		"a window over an hour": {behavior + `{scaleUp: {stabilizationWindowSeconds: 3601}}}}}`, "stabilizationWindowSeconds: must be 0 to 3600"},
		"an empty policy list":  {behavior + `{scaleDown: {policies: []}}}}}`, "scaleDown.policies: must be at least one, got none"},
		"a policy of no size": {
			behavior + `{scaleUp: {policies: [{type: Pods, value: 0, periodSeconds: 15}]}}}}}`, "policies[0].value: must be at least 1, got 0",
		},
		"a negative tolerance": {behavior + `{scaleUp: {tolerance: "-1"}}}}}`, "scaleUp.tolerance: must be at least 0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hpa.Read([]byte("kind: ScaledObject\nspec: " + c.spec))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// An explicit minimum of 0 is accepted beside an idle size of 0, although it has no effect.
func TestReadIdleZero(t *testing.T) {
	_, err := hpa.Read([]byte(`{kind: ScaledObject, spec: {idleReplicaCount: 0, minReplicaCount: 0,
		triggers: [{type: prometheus, metadata: {threshold: "2"}}]}}`))
	if err != nil {
		t.Error(err)
	}
}

// A ScaledObject that is paused is refused.
func TestReadPaused(t *testing.T) {
	const spec = "\nkind: ScaledObject\nspec: {triggers: [{type: prometheus, metadata: {threshold: \"2\"}}]}"
	for annotation, refused := range map[string]bool{
		`autoscaling.keda.sh/paused: "true"`:           true,
		`autoscaling.keda.sh/paused: "false"`:          false,
		`autoscaling.keda.sh/paused-replicas: "4"`:     true,
		`autoscaling.keda.sh/paused-scale-in: "true"`:  true,
		`autoscaling.keda.sh/force-activation: "true"`: true,
		`example.org/paused: "true"`:                   false,
	} {
		_, err := hpa.Read([]byte("metadata: {name: a, annotations: {" + annotation + "}}" + spec))
		if refused != (err != nil) {
			t.Errorf("%s: got %v", annotation, err)
		}
	}
}

func TestReadWantsOneScaledObject(t *testing.T) {
	const one = "kind: ScaledObject\nspec: {triggers: [{type: prometheus, metadata: {threshold: \"2\"}}]}\n"
	for text, want := range map[string]string{
		"kind: Deployment\n":    "must hold one ScaledObject, got 0",
		one + "---\n" + one:     "must hold one ScaledObject, got 2",
		"---\n" + one + "---\n": "",
	} {
		_, err := hpa.Read([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
