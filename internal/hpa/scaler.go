package hpa

import (
	"math"
	"strconv"
	"time"
)

// Scaler has the state of a ScaledObject and of its HPA. [New] makes one.
type Scaler struct {
	spec     Spec
	min      int32 // of the HPA
	targets  []int64
	up, down rules

	// As KEDA keeps it.
	failures   []int32
	worked     bool
	lastActive time.Duration
	seen       []reading // of the HPA's last sync
	hpaActive  bool      // the HPA's condition ScalingActive

	// As the HPA keeps it.
	started         bool
	recommendations []recommendation
	ups, downs      []event
}

// New makes a scaler for a new ScaledObject. It refuses what KEDA or Kubernetes refuses.
func New(spec Spec) (*Scaler, error) {
	if err := check(spec); err != nil {
		return nil, err
	}
	s := &Scaler{
		spec:     spec,
		min:      max(spec.Min, 1),
		failures: make([]int32, len(spec.Triggers)),
		seen:     make([]reading, len(spec.Triggers)),
	}
	for _, t := range spec.Triggers {
		s.targets = append(s.targets, milli(t.Threshold))
	}
	s.up, s.down = bothRules(spec.Behavior)
	return s, nil
}

// milli is a value as KEDA passes it to the HPA: rounded to thousandths, at least 0.
func milli(v float64) int64 {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], v, 'f', 3, 64)
	point := len(text) - 4
	n, err := strconv.ParseInt(string(append(text[:point], text[point+1:]...)), 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}
