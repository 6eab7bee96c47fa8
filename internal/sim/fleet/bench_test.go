package fleet

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRequests simulates clients that think. Budget: 1,000,000 requests a
// second and core, and no allocation for each.
func BenchmarkRequests(b *testing.B) {
	for _, replicas := range []int{4, 40} {
		b.Run(fmt.Sprintf("replicas=%d", replicas), func(b *testing.B) {
			c := Config{
				Models: []Model{{Service: Times{100 * time.Millisecond, Exponential, 0}, Instances: 1}},
				Clients: []Clients{{
					Count: 12 * replicas, Think: Times{second, Exponential, 0}, Mix: []Share{{0, 1}},
				}},
				Flush:    second,
				Replicas: replicas,
			}
			w := New(&c, 1)
			w.Run(time.Minute)
			b.ReportAllocs()
			b.ResetTimer()
			used := cpuTime(b)
			before := w.Stats()[0].Answered
			for w.Stats()[0].Answered-before < int64(b.N) {
				w.Run(w.Now() + 10*second)
			}
			b.ReportMetric(float64(w.Stats()[0].Answered-before)/(cpuTime(b)-used).Seconds(), "requests/cpu-s")
		})
	}
}

// cpuTime is what the process has used, since other work on the machine is no
// part of what a request costs.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
