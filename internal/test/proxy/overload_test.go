package proxy

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

const (
	memoryLimit  = 400e6 // bytes
	limitedEnvoy = "resources: {requests: {memory: 400M}, limits: {memory: 400M}}"
)

// Clients that do not read their answers do not fill the memory of Envoy's container. While they try, calls that were
// accepted before get their answer, and new ones are refused; after they leave, calls are accepted again.
func TestMemoryOfUnreadAnswers(t *testing.T) {
	for _, c := range []struct {
		name        string
		reader      reader
		connections int
		answer      int // bytes
		overload    bool
	}{
		{"large", reader{calls: 16}, 20, 16 << 20, true},
		{"slow", reader{calls: 1, window: 65535, grant: 1 << 10}, 200, 16 << 20, true},
		{"1000-of-200kB", reader{calls: 500}, 2, 200e3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, envoy.ProxyOptions{Values: "envoy: {" + limitedEnvoy + "}"})
			p.infer(t, codes.OK)
			p.Triton.SetReplySize(envoy.ModelInfer, c.answer)
			p.Triton.SetDelayOf(envoy.RepositoryIndex, settle)
			accepted := make(chan envoy.Reply, 1)
			go func() { accepted <- p.Client.Call(context.Background(), envoy.RepositoryIndex, nil) }()
			envoy.Await(t, settle, "a call in progress", func() bool { return p.Triton.Calls(envoy.RepositoryIndex) == 1 })
			memory := watchMemory(t, p.Pid)
			t.Run("attack", func(t *testing.T) { // its end closes the connections
				for range c.connections {
					c.reader.run(t, p.Addr(t, "listener_grpc"))
				}
				received := c.connections * c.reader.calls * c.answer
				envoy.Await(t, settle, "the answers, or a call that is refused", func() bool {
					if !c.overload {
						return p.Value(t, "envoy_cluster_upstream_cx_rx_bytes_total", "envoy_cluster_name", "triton_grpc_service") > float64(received)
					}
					r := p.Client.Call(t.Context(), envoy.ServerLive, nil)
					return r.Code == codes.Unavailable && r.Message == "envoy overloaded"
				})
				settled(t, memory)
			})
			p.Triton.Release()
			if r := <-accepted; r.Code != codes.OK {
				t.Errorf("the call that was accepted before: %v %s", r.Code, r.Message)
			}
			memory.check(t)
			p.Triton.SetReplySize(envoy.ModelInfer, 5)
			envoy.Await(t, settle, "a call that is accepted", func() bool {
				return p.Client.Call(t.Context(), envoy.ModelInfer, nil).Code == codes.OK
			})
		})
	}
}

// Held calls with large requests do not fill the memory of Envoy's container either, and each accepted call gets its answer.
func TestMemoryOfHeldRequests(t *testing.T) {
	const held, connections, each, body = 38, 40, 4, 6 << 20
	p := start(t, envoy.ProxyOptions{
		Values: fmt.Sprintf("envoy: {%s, hold: {enabled: true, maxCalls: %d}}", limitedEnvoy, held),
	})
	p.infer(t, codes.OK)
	p.Triton.Down()
	p.awaitHealthy(t, 0)
	memory := watchMemory(t, p.Pid)
	var waits sync.WaitGroup
	var answered, full atomic.Int32
	for range connections {
		client := envoy.Dial(t, p.Addr(t, "listener_grpc"))
		for range each {
			waits.Go(func() {
				switch r := client.Call(t.Context(), envoy.RepositoryIndex, make([]byte, body)); {
				case r.Code == codes.OK:
					answered.Add(1)
				case r.Message == "no replica is ready, and too many calls are waiting":
					full.Add(1)
				default:
					t.Errorf("a call that was held: %v %s", r.Code, r.Message)
				}
			})
		}
	}
	envoy.Await(t, settle, "a full hold", func() bool { return full.Load() > connections*each-2*held })
	settled(t, memory)
	p.Triton.Up(t)
	waits.Wait()
	if answered.Load() < held/2 {
		t.Errorf("%d calls were answered and %d refused, want about %d answered", answered.Load(), full.Load(), held)
	}
	memory.check(t)
}

// A memoryWatch records the peak of a process's memory that the kernel cannot reclaim.
type memoryWatch struct{ most atomic.Int64 }

var anonymous = regexp.MustCompile(`(?m)^RssAnon:\s+(\d+) kB$`)

// watchMemory reads the memory until the test ends.
func watchMemory(t *testing.T, pid int) *memoryWatch {
	var w memoryWatch
	go func() {
		for tick := time.NewTicker(20 * time.Millisecond); t.Context().Err() == nil; <-tick.C {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if err != nil {
				return // it has ended
			}
			if found := anonymous.FindSubmatch(text); found != nil {
				kib, _ := strconv.ParseInt(string(found[1]), 10, 64)
				w.most.Store(max(w.most.Load(), kib<<10))
			}
		}
	}()
	return &w
}

func (w *memoryWatch) check(t *testing.T) {
	t.Helper()
	if got := w.peak(); got > memoryLimit {
		t.Errorf("Envoy took %.0f MB, and its container may take %.0f MB", got/1e6, memoryLimit/1e6)
	}
}

// settled waits until the memory grows by less than 1 MiB in 2 s.
func settled(t *testing.T, w *memoryWatch) {
	t.Helper()
	most, since := w.peak(), time.Now()
	envoy.Await(t, settle, "memory that does not grow", func() bool {
		if now := w.peak(); now > most+1<<20 {
			most, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
}

// peak returns the peak in bytes.
func (w *memoryWatch) peak() float64 { return float64(w.most.Load()) }
