package proxy

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	engine "github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// observer scrapes Envoy's stats listener as Prometheus does, and evaluates the rendered queries.
type observer struct {
	proxy   *proxy
	storage *teststorage.TestStorage
	engine  *engine.Engine
	queries map[string]string
	dropped string // a metric that is dropped
}

func observe(t testing.TB, p *proxy) *observer {
	t.Helper()
	so, err := p.Manifests.ScaledObject()
	if err != nil {
		t.Fatal(err)
	}
	gate, err := p.Manifests.GateQuery()
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{proxy: p, storage: teststorage.New(t), engine: promqltest.NewTestEngine(t, false, time.Minute, 1_000_000)}
	o.queries = map[string]string{"occupancy-ratio": gate}
	for name, trigger := range map[string]int{"needed-replicas": 0, "wake-up": 1} {
		o.queries[name] = so.Spec.Triggers[trigger].Metadata["query"]
	}
	return o
}

// scrape reads Envoy's metrics once, or marks all series as stale.
func (o *observer) scrape(t testing.TB, stale bool) {
	t.Helper()
	at := time.Now().UnixMilli() // the start of the scrape, as in Prometheus
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(o.text(t)))
	if err != nil {
		t.Fatal(err)
	}
	appender := o.storage.Appender(t.Context())
	for name, family := range families {
		if strings.HasPrefix(name, "envoy_cluster_") && name != o.dropped {
			appendFamily(t, appender, family, at, stale)
		}
	}
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
}

func (o *observer) text(t testing.TB) string {
	t.Helper()
	status, text := request(t, o.proxy.Addr(t, "stats"), "GET", "/stats/prometheus")
	if status != 200 {
		t.Fatalf("/stats/prometheus: %d", status)
	}
	return text
}

func appendFamily(t testing.TB, appender storage.Appender, family *dto.MetricFamily, at int64, stale bool) {
	t.Helper()
	add := func(name string, m *dto.Metric, v float64) {
		if stale {
			v = math.Float64frombits(value.StaleNaN)
		}
		b := labels.NewBuilder(labels.FromStrings("__name__", name, "namespace", "cms", "release", "sonic", "pod", "envoy-0"))
		for _, l := range m.GetLabel() {
			b.Set(l.GetName(), l.GetValue())
		}
		if _, err := appender.Append(0, b.Labels(), at, v); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range family.GetMetric() {
		switch family.GetType() {
		case dto.MetricType_HISTOGRAM:
			add(family.GetName()+"_sum", m, m.GetHistogram().GetSampleSum())
			add(family.GetName()+"_count", m, float64(m.GetHistogram().GetSampleCount()))
		default:
			add(family.GetName(), m, m.GetCounter().GetValue()+m.GetGauge().GetValue())
		}
	}
}

// watch scrapes at intervals until the condition holds, or until the time limit.
func (o *observer) watch(t testing.TB, limit time.Duration, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(limit); ; {
		o.scrape(t, false)
		if holds != nil && holds() {
			return
		}
		if time.Now().After(deadline) {
			if holds != nil {
				t.Errorf("not seen within %s", limit)
			}
			return
		}
		<-ticker.C
	}
}

// ask returns the only value of a query's answer, or false if the answer is empty.
func (o *observer) ask(t testing.TB, name string) (float64, bool) {
	t.Helper()
	query, err := o.engine.NewInstantQuery(t.Context(), o.storage, nil, o.queries[name], time.Now())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer query.Close()
	vector, err := query.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(vector) == 0 {
		return 0, false
	}
	if v := vector[0].F; len(vector) > 1 || !vector[0].Metric.IsEmpty() || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		t.Errorf("%s: %v, want one series without labels, finite and not negative", name, vector)
	}
	return vector[0].F, true
}

// want checks that the answer of every query is in a range.
func (o *observer) want(t testing.TB, moment string, ranges map[string][2]float64) {
	t.Helper()
	for name, r := range ranges {
		got, known := o.ask(t, name)
		if !known || got < r[0] || got > r[1] {
			t.Errorf("%s: %s is %v (known: %v), want %v to %v", moment, name, got, known, r[0], r[1])
		}
	}
}

const observed = `
serverLoadRateInterval: 8s
prometheus: {enabled: true, rules: {gateReadsRecord: false}, server: {global: {scrape_interval: 1s, evaluation_interval: 1s}}}
keda: {enabled: true, minReplicaCount: 0}
envoy: {rate_limiter: {prometheus_based: {enabled: true}}}
`

// The two queries and the wake-up, as rendered, on the counters of a real Envoy: before, during and after load, at zero
// replicas, and after Envoy has ended.
func TestQueriesOnCounters(t *testing.T) {
	// Envoy flushes its counters every second, so the error is up to one in eight.
	const clients, window = 8, 8 * time.Second
	none := [2]float64{0, 0}
	p, names := fleet(t, observed)
	o := observe(t, p)
	o.watch(t, window, nil)
	o.want(t, "at zero replicas before any call", map[string][2]float64{"needed-replicas": none, "occupancy-ratio": none, "wake-up": none})

	for range 10 {
		p.Client.Call(t.Context(), envoy.ModelInfer, nil)
	}
	o.watch(t, settle, func() bool { woken, _ := o.ask(t, "wake-up"); return woken > 0 })
	o.want(t, "calls found no replica", map[string][2]float64{"needed-replicas": none, "wake-up": {0.1, 10}})

	names.Answer(dns.RcodeSuccess, "127.0.0.1")
	p.awaitHealthy(t, 1)
	p.Triton.SetDelay(200 * time.Millisecond) // long compared with the time between two calls of a client
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan codes.Code, clients)
	for range clients {
		client := envoy.Dial(t, p.Addr(t, "listener_grpc"))
		go func() {
			last := codes.OK
			for ctx.Err() == nil {
				last = client.Call(t.Context(), envoy.ModelInfer, nil).Code
			}
			ended <- last
		}()
	}
	o.watch(t, 2*window, nil)
	// Nothing is known of Triton here, so a replica counts as serving one request: both queries read the 8 in flight,
	// as far as Envoy's bins of durations tell.
	full := [2]float64{clients * 0.85, clients * 1.15}
	o.want(t, "under load", map[string][2]float64{"needed-replicas": full, "occupancy-ratio": full, "wake-up": none})
	withoutTime(t, p)

	cancel()
	for range clients {
		if code := <-ended; code != codes.OK {
			t.Errorf("a call under load: %v", code)
		}
	}
	o.watch(t, window+2*time.Second, nil)
	o.want(t, "after the load", map[string][2]float64{"needed-replicas": none, "occupancy-ratio": none, "wake-up": none})

	o.scrape(t, true)
	for name := range o.queries {
		if got, known := o.ask(t, name); known {
			t.Errorf("Envoy is gone: %s is %v, want nothing", name, got)
		}
	}
}

// withoutTime checks the queries on an Envoy under load whose request time does not reach Prometheus.
func withoutTime(t *testing.T, p *proxy) {
	t.Helper()
	o := observe(t, p)
	o.dropped = "envoy_cluster_upstream_rq_time"
	o.watch(t, settle, func() bool { _, known := o.ask(t, "needed-replicas"); return !known })
	for _, name := range []string{"needed-replicas", "occupancy-ratio"} {
		if got, known := o.ask(t, name); known {
			t.Errorf("the request time is dropped: %s is %v, want nothing", name, got)
		}
	}
	o.want(t, "the request time is dropped", map[string][2]float64{"wake-up": {0, 0}})
}

// The membership gauge exists from the start, before it ever changes.
func TestMembershipFromStart(t *testing.T) {
	p, _ := fleet(t, "")
	o := &observer{proxy: p}
	for _, series := range []string{
		`envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service"} 0`,
		`envoy_cluster_upstream_cx_none_healthy{envoy_cluster_name="triton_grpc_service"} 0`,
	} {
		if !strings.Contains(o.text(t), series) {
			t.Errorf("not exported at zero replicas: %s", series)
		}
	}
}
