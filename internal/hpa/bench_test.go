package hpa_test

import (
	"os"
	"testing"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/hpa"
)

// BenchmarkSync is one sync of the HPA for the fleet of values-scale-from-zero.yaml, with full windows.
func BenchmarkSync(b *testing.B) {
	s, answers := rendered(b)
	now, size := time.Duration(0), int32(3)
	for b.Loop() {
		now += hpa.SyncPeriod
		answers[0].Value = float64(5 + now/hpa.SyncPeriod%7)
		size = s.Sync(now, answers, hpa.Fleet{Spec: size, Status: size, Ready: size}).Replicas
	}
}

// BenchmarkPoll is one poll of KEDA for the same fleet.
func BenchmarkPoll(b *testing.B) {
	s, answers := rendered(b)
	now, size := time.Duration(0), int32(3)
	for b.Loop() {
		now += time.Second
		size = s.Poll(now, answers, hpa.Fleet{Spec: size, Status: size, Ready: size})
	}
}

func rendered(tb testing.TB) (*hpa.Scaler, []hpa.Answer) {
	tb.Helper()
	text, err := os.ReadFile("../../golden/scale-from-zero/keda/scaledobject.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	spec, err := hpa.Read(text)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := hpa.New(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return s, make([]hpa.Answer, len(spec.Triggers))
}
