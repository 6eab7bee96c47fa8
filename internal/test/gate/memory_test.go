package gate_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/gate"
)

// BenchmarkMemory makes a million guarded calls, half of which are refused, while the load is read every 50 ms. After the
// first 100,000, Envoy's memory grows by at most 4 MiB, both allocated and resident.
func BenchmarkMemory(b *testing.B) {
	const warmUp, calls, budget = 100_000, 1_000_000, 4.0 // MiB
	for b.Loop() {
		g := gate.New(b, gate.Defaults().Limiter("ramp", 2).Limiter("cacheSeconds", 0.05))
		g.Prometheus.Set(envoy.Sample("4"))
		g.Run(b)
		g.AwaitAnswers(b, 1)
		var clients []*envoy.Client
		for range 8 {
			clients = append(clients, envoy.Dial(b, g.Listener(b)))
		}
		atStart := readMemory(b, g)
		callAll(b, clients, warmUp)
		warm := readMemory(b, g)
		callAll(b, clients, calls-warmUp)
		after := readMemory(b, g)
		b.ReportMetric(warm.allocated-atStart.allocated, "MiB-allocated-at-first")
		b.ReportMetric(warm.resident-atStart.resident, "MiB-resident-at-first")
		b.ReportMetric(after.allocated-warm.allocated, "MiB-allocated-then")
		b.ReportMetric(after.resident-warm.resident, "MiB-resident-then")
		b.ReportMetric(after.resident, "MiB-resident")
		if after.allocated-warm.allocated > budget || after.resident-warm.resident > budget {
			b.Errorf("memory went from %+v to %+v MiB, want at most %v more", warm, after, budget)
		}
		if refused := g.Outcomes(b)["refused"]; refused < calls*0.45 || refused > calls*0.55 {
			b.Errorf("%v of %d calls refused, want a half", refused, calls)
		}
	}
}

// memory is the memory of an Envoy, in MiB.
type memory struct{ allocated, resident float64 }

func readMemory(b *testing.B, g *gate.Gate) memory {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", g.Pid))
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	if err != nil {
		b.Fatal(err)
	}
	const mebi = 1 << 20
	return memory{g.Value(b, "envoy_server_memory_allocated") / mebi, pages * float64(os.Getpagesize()) / mebi}
}

// callAll distributes calls over the clients, four at a time for each.
func callAll(b *testing.B, clients []*envoy.Client, calls int) {
	b.Helper()
	const each = 4
	var wait sync.WaitGroup
	for i := range len(clients) * each {
		wait.Go(func() {
			for range calls / len(clients) / each {
				clients[i%len(clients)].Call(b.Context(), envoy.RepositoryIndex, nil)
			}
		})
	}
	wait.Wait()
}
