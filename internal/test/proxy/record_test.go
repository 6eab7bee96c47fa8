package proxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/ports"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

var record = flag.Bool("record", false, "take four minutes, and write "+recording)

// recording has the metrics of a real Envoy and two real Tritons under load, as a
// load command of promqltest.
const recording = "testdata/recorded.test"

const (
	recordInterval = 5 * time.Second
	recordScrapes  = 50
)

// scenes are the parts of the recording, each from a given scrape on: clients that call without a pause, replicas in DNS,
// and the load that the gate reads. Nothing scales the fleet.
var scenes = []struct {
	scrape, clients, servers int
	load                     string
}{{0, 3, 1, "1"}, {12, 12, 1, "3.4"}, {27, 12, 2, "1.7"}, {39, 3, 2, "1"}}

// TestRecording runs the real parts and checks that they export the metrics in the recording, with which the dashboards
// are tested. With -record it writes the recording.
func TestRecording(t *testing.T) {
	interval, scrapes := time.Second, 3
	if *record {
		interval, scrapes = recordInterval, recordScrapes
	}
	names, triton := startNameServer(t), ports.Free(t)
	p := &proxy{envoy.NewProxy(t, withTritonPort(triton)+
		"prometheus: {enabled: true}\nenvoy: {rate_limiter: {prometheus_based: {enabled: true}}}")}
	servers := []string{"127.0.0.1", "127.0.0.2"}
	var metrics []string
	for _, host := range servers {
		_, url := runTriton(t, net.JoinHostPort(host, triton))
		metrics = append(metrics, url)
	}
	names.Answer(dns.RcodeSuccess, servers[0])
	p.Run(t, envoy.ProxyOptions{Resolver: names.addr})
	p.awaitHealthy(t, 1)
	crowd := &crowd{client: p.Client}
	defer crowd.become(t.Context(), 0)
	r := &recorder{values: map[string][]string{}}
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	known := 0
	for n := range scrapes {
		for _, scene := range scenes {
			if scene.scrape == n {
				known = scene.servers
				names.Answer(dns.RcodeSuccess, servers[:known]...)
				p.Prometheus.Set(envoy.Sample(scene.load))
				crowd.become(t.Context(), scene.clients)
			}
		}
		<-ticks.C
		for i := range known {
			r.scrape(t, metrics[i], fmt.Sprintf("triton-%d", i))
		}
		r.scrape(t, p.statsURL(t), "envoy-0")
		r.scrapes++
	}
	if *record {
		if err := os.WriteFile(recording, r.text(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(recordedNames(t), r.names()); diff != "" {
		t.Errorf("series (-recorded +exported):\n%s", diff)
	}
}

// A crowd is a changing number of clients.
type crowd struct {
	client  *envoy.Client
	stop    []context.CancelFunc
	running sync.WaitGroup
}

// become changes the number of clients; at 0 it waits until all have left.
func (c *crowd) become(ctx context.Context, clients int) {
	for len(c.stop) < clients {
		each, stop := context.WithCancel(ctx)
		n := len(c.stop)
		c.stop = append(c.stop, stop)
		c.running.Go(func() { callBothModels(each, c.client, n) })
	}
	for len(c.stop) > clients {
		last := len(c.stop) - 1
		c.stop[last]()
		c.stop = c.stop[:last]
	}
	if clients == 0 {
		c.running.Wait()
	}
}

func (p *proxy) statsURL(t *testing.T) string {
	return "http://" + p.Addr(t, "stats") + "/stats/prometheus"
}

// runTriton runs a replica at an address of loopback, until the end of the test at the latest.
func runTriton(t *testing.T, grpcAddr string, args ...string) (server *exec.Cmd, metricsURL string) {
	t.Helper()
	models := t.TempDir() // the Python back end writes into the folder
	if err := os.CopyFS(models, os.DirFS("testdata/models")); err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(grpcAddr)
	if err != nil {
		t.Fatal(err)
	}
	httpPort, metricsPort := ports.Free(t), ports.Free(t)
	server = exec.Command(tools.Path(t, "tritonserver"), "--model-repository="+models, "--allow-gpu-metrics=false",
		"--grpc-address="+host, "--grpc-port="+port, "--http-address="+host, "--http-port="+httpPort,
		"--metrics-address="+host, "--metrics-port="+metricsPort, "--exit-timeout-secs=2")
	server.Args = append(server.Args, args...)
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if server.ProcessState == nil {
			_ = server.Process.Signal(os.Interrupt)
			_ = server.Wait()
		}
		if t.Failed() {
			t.Logf("Triton says:\n%s", log.String())
		}
	})
	envoy.Await(t, 2*time.Minute, "Triton is ready", func() bool {
		answer, err := http.Get("http://" + net.JoinHostPort(host, httpPort) + "/v2/health/ready")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return server, "http://" + net.JoinHostPort(host, metricsPort) + "/metrics"
}

// callBothModels alternates between two models, with an index call and a failure now and then.
func callBothModels(ctx context.Context, c *envoy.Client, client int) {
	for n := 0; ctx.Err() == nil; n++ {
		switch {
		case n%25 == 0:
			c.Call(ctx, envoy.RepositoryIndex, nil)
		case n%40 == 7:
			c.Call(ctx, envoy.ModelInfer, inferRequest("half", -1))
		case client%2 == 0:
			c.Call(ctx, envoy.ModelInfer, inferRequest("double", 1))
		default:
			c.Call(ctx, envoy.ModelInfer, inferRequest("half", 1))
		}
	}
}

// inferRequest encodes Triton's ModelInferRequest for one number.
func inferRequest(model string, value float32) []byte {
	var tensor []byte
	tensor = text(tensor, 1, "IN")
	tensor = text(tensor, 2, "FP32")
	tensor = protowire.AppendTag(tensor, 3, protowire.BytesType)
	tensor = protowire.AppendBytes(tensor, []byte{1, 1}) // shape
	raw := binary.LittleEndian.AppendUint32(nil, math.Float32bits(value))
	request := text(nil, 1, model)
	request = text(request, 5, string(tensor))
	return text(request, 7, string(raw))
}

func text(to []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), value)
}
