package sim

import (
	"errors"
	"fmt"
	"time"

	apps "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/hpa"
)

// Release and Namespace of the simulated chart, which its queries select by.
const (
	Release   = "sim"
	Namespace = "sim"
)

// Settings are what the simulation reads from a rendered chart.
type Settings struct {
	Scaler  hpa.Spec
	Queries []string      // of the triggers
	Scrape  time.Duration // between two scrapes of a target
	Flush   time.Duration // between two flushes of Envoy's histograms
	Sleep   time.Duration // minimum time that a deleted pod continues to serve
	Grace   time.Duration // maximum
}

// Templates that [ReadSettings] reads, by their paths in the chart.
const (
	scaledObjectFile = "keda/scaledobject.yaml"
	prometheusFile   = "prometheus/configmap.yaml"
	envoyFile        = "envoy/configmap.yaml"
	tritonFile       = "triton/deployment.yaml"
)

// ReadSettings reads the manifests of a chart, by template. They must include KEDA,
// Envoy and the embedded Prometheus.
func ReadSettings(manifests map[string]string) (Settings, error) {
	var s Settings
	var errs []error
	read := func(file string, part func(text []byte) error) {
		if err := part([]byte(manifests[file])); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
	}
	read(scaledObjectFile, s.scaledObject)
	read(prometheusFile, func(text []byte) (err error) {
		s.Scrape, err = within(text, "prometheus.yml", "global", "scrape_interval")
		return err
	})
	read(envoyFile, func(text []byte) (err error) {
		s.Flush, err = within(text, "envoy.yaml", "stats_flush_interval")
		return err
	})
	read(tritonFile, s.drain)
	return s, errors.Join(errs...)
}

func (s *Settings) scaledObject(text []byte) (err error) {
	if s.Scaler, err = hpa.Read(text); err != nil {
		return err
	}
	var object struct {
		Spec struct {
			Triggers []struct {
				Metadata struct {
					Query string `json:"query"`
				} `json:"metadata"`
			} `json:"triggers"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		return err
	}
	for _, t := range object.Spec.Triggers {
		s.Queries = append(s.Queries, t.Metadata.Query)
	}
	return nil
}

// within reads a duration from a YAML file in a ConfigMap, by its path.
func within(manifest []byte, file string, keys ...string) (time.Duration, error) {
	var object struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(manifest, &object); err != nil {
		return 0, err
	}
	var node any = map[string]any{}
	if err := yaml.Unmarshal([]byte(object.Data[file]), &node); err != nil {
		return 0, err
	}
	for _, key := range keys {
		m, ok := node.(map[string]any)
		if !ok {
			break
		}
		node = m[key]
	}
	text, ok := node.(string)
	if !ok {
		return 0, fmt.Errorf("%s: must set %v", file, keys)
	}
	return time.ParseDuration(text)
}

// drain reads how long a deleted pod runs.
func (s *Settings) drain(text []byte) error {
	var d apps.Deployment
	if err := yaml.Unmarshal(text, &d); err != nil {
		return err
	}
	pod := d.Spec.Template.Spec
	if pod.TerminationGracePeriodSeconds != nil {
		s.Grace = time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
	}
	for _, c := range pod.Containers {
		if c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep != nil {
			s.Sleep = max(s.Sleep, time.Duration(c.Lifecycle.PreStop.Sleep.Seconds)*time.Second)
		}
	}
	return nil
}
