package gate_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/gate"
)

// askEachTime is an edit that makes every call wait for its own query.
func askEachTime(text string) string {
	return strings.Replace(text, "local function judge(handle)", "local function judge(handle) ask(handle, handle:timestamp())", 1)
}

// BenchmarkGuardedCall alternates between calls to an Envoy without the gate and with it, with a Prometheus that takes
// 1 ms or 20 ms. The p50 with the gate must be at most 1.1 times that without. Gates that query for each call are timed
// afterwards, because they would delay the other calls.
func BenchmarkGuardedCall(b *testing.B) {
	kinds := []struct {
		name  string
		delay time.Duration
		gate  bool
		edits []gate.Edit
	}{
		{name: "none"},
		{name: "gate-1ms", delay: time.Millisecond, gate: true},
		{name: "gate-20ms", delay: 20 * time.Millisecond, gate: true},
		{name: "query-each-1ms", delay: time.Millisecond, gate: true, edits: []gate.Edit{askEachTime}},
		{name: "query-each-20ms", delay: 20 * time.Millisecond, gate: true, edits: []gate.Edit{askEachTime}},
	}
	took := map[string][]time.Duration{}
	var gates []*gate.Gate
	for _, k := range kinds {
		g := gate.New(b, gate.Defaults().Limiter("enabled", k.gate))
		answer := envoy.Sample("1")
		answer.Delay = k.delay
		g.Prometheus.Set(answer)
		g.Run(b, k.edits...)
		if k.gate {
			g.AwaitAnswers(b, 1)
		}
		gates = append(gates, g)
	}
	call := func(i int) {
		r := gates[i].Index(b.Context())
		if r.Code != codes.OK {
			b.Fatalf("%s: %v %q", kinds[i].name, r.Code, r.Message)
		}
		took[kinds[i].name] = append(took[kinds[i].name], r.Took)
	}
	for b.Loop() {
		call(0)
		call(1)
		call(2)
	}
	for range min(b.N, 300) {
		call(3)
		call(4)
	}
	for i, k := range kinds {
		if queries := len(gates[i].Prometheus.Queries()); len(k.edits) > 0 && queries < len(took[k.name]) {
			b.Errorf("%s: %d queries for %d calls, so it is no baseline", k.name, queries, len(took[k.name]))
		}
		b.ReportMetric(quantile(took[k.name], 0.5).Seconds()*1e3, k.name+"-p50-ms")
		b.ReportMetric(quantile(took[k.name], 0.99).Seconds()*1e3, k.name+"-p99-ms")
	}
	for _, name := range []string{"gate-1ms", "gate-20ms"} {
		ratio := float64(quantile(took[name], 0.5)) / float64(quantile(took["none"], 0.5))
		b.ReportMetric(ratio, name+"-p50-ratio")
		const noise = 0.05 // between runs, on a machine that does other work
		if len(took[name]) > 100 && ratio > 1.1+noise {
			b.Errorf("%s: p50 is %.2f times that without a gate, want at most 1.1", name, ratio)
		}
	}
}

func quantile(took []time.Duration, q float64) time.Duration {
	slices.Sort(took)
	return took[int(q*float64(len(took)-1))]
}

// BenchmarkQueries makes guarded calls at two rates. At both, there is at most one query per cacheSeconds (1 s).
func BenchmarkQueries(b *testing.B) {
	for _, rate := range []int{10, 2000} {
		b.Run(fmt.Sprintf("%d-calls-a-second", rate), func(b *testing.B) {
			g := gate.Start(b, gate.Defaults())
			for b.Loop() {
				const lasts = 5 * time.Second
				before := len(g.Prometheus.Queries())
				calls := callAtRate(b, g, rate, lasts)
				queries := len(g.Prometheus.Queries()) - before
				b.ReportMetric(float64(calls)/lasts.Seconds(), "calls/s")
				b.ReportMetric(float64(queries)/lasts.Seconds(), "queries/s")
				if queries > int(lasts/time.Second)+1 {
					b.Errorf("%d queries in %s, want one a second", queries, lasts)
				}
			}
		})
	}
}

// callAtRate spreads calls evenly over ten clients and the time, and returns how many there were.
func callAtRate(b *testing.B, g *gate.Gate, rate int, lasts time.Duration) int {
	b.Helper()
	var wait sync.WaitGroup
	calls, start := 0, time.Now()
	clients := make([]*envoy.Client, 10)
	for i := range clients {
		clients[i] = envoy.Dial(b, g.Listener(b))
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for now := range tick.C {
		for ; calls < int(now.Sub(start).Seconds()*float64(rate)); calls++ {
			client := clients[calls%len(clients)]
			wait.Go(func() {
				if r := client.Call(b.Context(), envoy.RepositoryIndex, nil); r.Code != codes.OK {
					b.Errorf("%v %q", r.Code, r.Message)
				}
			})
		}
		if now.Sub(start) >= lasts {
			break
		}
	}
	wait.Wait()
	return calls
}

// BenchmarkHold holds 1,000 calls. They cost at most 0.25 core while they wait, and continue within 2 s of a replica's
// start, with the chart's default health checks and polls.
func BenchmarkHold(b *testing.B) {
	var worstCores, longest float64
	for b.Loop() {
		g := noReplica(b, gate.Defaults().With("envoy.healthCheck.interval", "1s").
			With("envoy.hold.maxCalls", 1000).With("envoy.http2.streamWindowBytes", 1<<20))
		done := callMany(context.Background(), b, g, 1000)
		awaitHeld(b, g, 990)
		const watched = 5 * time.Second
		before := cpuTime(b, g.Pid)
		time.Sleep(watched)
		cores := (cpuTime(b, g.Pid) - before).Seconds() / watched.Seconds()
		ready := time.Now()
		g.Triton.Up(b)
		replies := <-done
		released := time.Since(ready)
		worstCores, longest = max(worstCores, cores), max(longest, released.Seconds())
		if counted := count(replies); counted[codes.OK] != 1000 {
			b.Errorf("ended with %v, want all OK", counted)
		}
		if cores > 0.25 || released > 2*time.Second {
			b.Errorf("%.2f cores while they wait, released after %s; want at most 0.25, and 2 s", cores, released)
		}
	}
	b.ReportMetric(worstCores, "cores")
	b.ReportMetric(longest, "release-s")
}

// cpuTime returns the CPU time of a process.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
