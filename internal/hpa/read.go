package hpa

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	autoscaling "k8s.io/api/autoscaling/v2"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// KEDA's defaults for keys that are left out.
const (
	defaultMax             = 100
	defaultPollingInterval = 30
	defaultCooldown        = 300
)

// Read finds the one ScaledObject in a stream of manifests. It refuses a trigger that is not a query to Prometheus, and
// any key that changes the result and is not modeled here.
func Read(manifests []byte) (Spec, error) {
	var found []scaledObject
	stream := kubeyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	for {
		doc, err := stream.Read()
		if err == io.EOF {
			break
		} else if err != nil {
			return Spec{}, err
		}
		var head struct{ Kind string }
		if err := yaml.Unmarshal(doc, &head); err != nil {
			return Spec{}, err
		}
		if head.Kind != "ScaledObject" {
			continue
		}
		var so scaledObject
		if err := yaml.UnmarshalStrict(doc, &so); err != nil {
			return Spec{}, fmt.Errorf("ScaledObject: %w", err)
		}
		found = append(found, so)
	}
	if len(found) != 1 {
		return Spec{}, fmt.Errorf("must hold one ScaledObject, got %d", len(found))
	}
	spec, err := found[0].read()
	if err != nil {
		return Spec{}, fmt.Errorf("ScaledObject: %w", err)
	}
	return spec, nil
}

// scaledObject has every key of a ScaledObject that is modeled, or that does not change the result.
type scaledObject struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       struct {
		ScaleTargetRef        json.RawMessage `json:"scaleTargetRef"`
		PollingInterval       *int32          `json:"pollingInterval"`
		CooldownPeriod        *int32          `json:"cooldownPeriod"`
		InitialCooldownPeriod int32           `json:"initialCooldownPeriod"`
		IdleReplicaCount      *int32          `json:"idleReplicaCount"`
		MinReplicaCount       *int32          `json:"minReplicaCount"`
		MaxReplicaCount       *int32          `json:"maxReplicaCount"`
		Fallback              *Fallback       `json:"fallback"`
		Triggers              []trigger       `json:"triggers"`
		Advanced              struct {
			RestoreToOriginalReplicaCount bool `json:"restoreToOriginalReplicaCount"`
			HorizontalPodAutoscalerConfig struct {
				Name     string                                       `json:"name"`
				Behavior *autoscaling.HorizontalPodAutoscalerBehavior `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
	} `json:"spec"`
}

// metadata has any key. Some annotations change what KEDA does.
type metadata struct {
	annotations map[string]string
}

func (m *metadata) UnmarshalJSON(text []byte) error {
	var read struct {
		Annotations map[string]string `json:"annotations"`
	}
	err := json.Unmarshal(text, &read)
	m.annotations = read.Annotations
	return err
}

// check refuses what pauses KEDA, or makes it treat an idle fleet as active.
func (m metadata) check() error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(m.annotations)) {
		name, keda := strings.CutPrefix(key, "autoscaling.keda.sh/")
		if keda && (strings.HasPrefix(name, "paused") || name == "force-activation") && m.annotations[key] != "false" {
			errs = append(errs, fmt.Errorf("metadata.annotations.%s: must be left out, got %q", key, m.annotations[key]))
		}
	}
	return errors.Join(errs...)
}

type trigger struct {
	Type              string                       `json:"type"`
	Name              string                       `json:"name"`
	MetricType        autoscaling.MetricTargetType `json:"metricType"`
	Metadata          map[string]any               `json:"metadata"` // of strings: the API server refuses anything else
	AuthenticationRef json.RawMessage              `json:"authenticationRef"`
}

func (so scaledObject) read() (Spec, error) {
	s := so.Spec
	spec := Spec{
		Min:             value(s.MinReplicaCount, 0),
		Max:             value(s.MaxReplicaCount, defaultMax),
		Idle:            s.IdleReplicaCount,
		PollingInterval: seconds(value(s.PollingInterval, defaultPollingInterval)),
		Cooldown:        seconds(value(s.CooldownPeriod, defaultCooldown)),
		InitialCooldown: seconds(s.InitialCooldownPeriod),
		Fallback:        s.Fallback,
		Behavior:        s.Advanced.HorizontalPodAutoscalerConfig.Behavior,
	}
	errs := []error{so.Metadata.check()}
	if s.IdleReplicaCount != nil && s.MinReplicaCount == nil {
		errs = append(errs, errors.New("spec.minReplicaCount: must be set beside idleReplicaCount"))
	}
	for i, t := range s.Triggers {
		read, err := t.read(fmt.Sprintf("spec.triggers[%d]", i))
		spec.Triggers = append(spec.Triggers, read)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return Spec{}, err
	}
	if err := check(spec); err != nil {
		return Spec{}, err
	}
	return spec, nil
}

func (t trigger) read(key string) (Trigger, error) {
	var errs []error
	if t.Type != "prometheus" {
		errs = append(errs, fmt.Errorf("%s.type: must be prometheus, got %s", key, t.Type))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Metadata)) {
		if v := t.Metadata[name]; !isString(v) {
			errs = append(errs, fmt.Errorf("%s.metadata.%s: must be a string, got %v", key, name, v))
		}
	}
	if len(errs) > 0 {
		return Trigger{}, errors.Join(errs...)
	}
	number := func(name string) float64 {
		if _, ok := t.Metadata[name]; !ok && name != "threshold" {
			return 0
		}
		text, _ := t.Metadata[name].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s.metadata.%s: must be a number, got %q", key, name, text))
		}
		return v
	}
	read := Trigger{
		Name:             t.Name,
		Threshold:        number("threshold"),
		Activation:       number("activationThreshold"),
		MetricType:       t.MetricType,
		IgnoreNullValues: true,
	}
	if text, ok := t.Metadata["ignoreNullValues"].(string); ok {
		v, err := strconv.ParseBool(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s.metadata.ignoreNullValues: must be true or false, got %q", key, text))
		}
		read.IgnoreNullValues = v
	}
	return read, errors.Join(errs...)
}

func isString(v any) bool {
	_, ok := v.(string)
	return ok
}

func value(p *int32, other int32) int32 {
	if p == nil {
		return other
	}
	return *p
}
