package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
)

// One part after another fails while sixteen clients call. The fleet keeps its
// size, only requests on a killed replica fail, and the gate, which is set to
// closed while the load is unknown, refuses new clients.
func TestOutages(t *testing.T) {
	const gate = "envoy.rate_limiter.prometheus_based."
	f := install(t, "outage", "--set", "keda.scaleDown.stabilizationWindowSeconds=120",
		"--set", gate+"enabled=true", "--set", gate+"unknownLoad=closed", "--set", "serverAdmissionThreshold=50")
	f.firstAnswer(time.Minute)
	for _, o := range []outage{
		{"prometheus-gone", 2 * time.Minute, 0, codes.ResourceExhausted, f.scalePrometheus(0), f.scalePrometheus(1)},
		{"envoy-not-scraped", 2 * time.Minute, 0, codes.ResourceExhausted, f.scrapeEnvoy(false), f.scrapeEnvoy(true)},
		{"keda-restarted", 0, 0, codes.OK, restart("keda", "deployment/keda-operator"), nothing},
		{"envoy-restarted", 0, 0, codes.OK, restart(f.Namespace, "deployment/sonic-envoy"), nothing},
		{"triton-killed", 0, 16, codes.OK, f.killServer, nothing},
		{"api-server-gone", time.Minute, 0, codes.OK, stop("kube-apiserver"), start("kube-apiserver")},
	} {
		t.Run(o.name, func(t *testing.T) { o.run(fleet{Release: f.Release, t: t}) })
	}
}

// An outage of one part.
type outage struct {
	name    string
	lasts   time.Duration
	mayFail int // requests that may fail with the part: at most one of each client
	gate    codes.Code
	begin   func(context.Context) error
	end     func(context.Context) error
}

func (o outage) run(f fleet) {
	sizes := f.WatchSizes(f.t.Context())
	run := f.clients(16, "fast", "slow")
	f.await(6*time.Minute, "a fleet that stays", func(context.Context) error {
		if s := sizes.Last(); s.Wanted < 4 || sizes.Steady() < 45*time.Second {
			return fmt.Errorf("%d wanted, %d ready, steady for %s", s.Wanted, s.Ready, sizes.Steady())
		}
		return nil
	})
	size, before := sizes.Last().Wanted, len(sizes.Course())
	f.awaitIndex(time.Minute, codes.OK)
	caller := f.dial()
	defer caller.Close()

	ended := sync.OnceValue(func() error { return o.end(context.WithoutCancel(f.t.Context())) })
	f.t.Cleanup(func() {
		must(f.t, ended())
		f.explain(context.Background())
	})
	must(f.t, o.begin(f.t.Context()))
	during, cancel := context.WithTimeout(f.t.Context(), o.lasts)
	<-during.Done() // The outage itself.
	cancel()
	indexEndsWith(f.t, caller, o.gate)
	must(f.t, ended())
	o.resumes(f, sizes)
	for _, s := range sizes.Stop()[before:] {
		if s.Wanted < size || s.Wanted > size+1 {
			f.t.Errorf("the fleet of %d changed: %s", size, cluster.Describe(sizes.Course()[before-1:]))
			break
		}
	}
	result := run.Stop()
	f.t.Logf("%s", result)
	if n := len(result.Failed()); n > o.mayFail {
		f.t.Errorf("%d requests failed, want at most %d", n, o.mayFail)
	}
}

// resumes waits until everything works as before.
func (o outage) resumes(f fleet, sizes *cluster.Sizes) {
	f.t.Helper()
	ended := sizes.Since()
	f.await(4*time.Minute, "a fleet that is read again and stays", func(ctx context.Context) error {
		// Long enough for consequences of the outage to show.
		if s := sizes.Last(); sizes.Since()-ended < 75*time.Second || sizes.Steady() < 45*time.Second {
			return fmt.Errorf("%d wanted, %d ready, steady for %s", s.Wanted, s.Ready, sizes.Steady())
		}
		return f.read(ctx)
	})
	f.awaitIndex(time.Minute, codes.OK)
}

// read checks that KEDA reads the metric, not its fallback, and that the HPA uses
// it.
func (f fleet) read(ctx context.Context) error {
	for _, c := range []struct{ kind, condition, want string }{
		{"hpa", "ScalingActive", "True"},
		{"scaledobjects.keda.sh", "Fallback", "False"},
	} {
		out, err := lab.Kubectl(ctx, "", "--namespace", f.Namespace, "get", c.kind, "-o",
			fmt.Sprintf(`jsonpath={.items[*].status.conditions[?(@.type==%q)].status}`, c.condition))
		if err != nil {
			return err
		}
		if out != c.want {
			return fmt.Errorf("%s: the condition %s is %q, want %s", c.kind, c.condition, out, c.want)
		}
	}
	return nil
}

func nothing(context.Context) error { return nil }

func restart(namespace, object string) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := lab.Kubectl(ctx, "", "--namespace", namespace, "rollout", "restart", object); err != nil {
			return err
		}
		_, err := lab.Kubectl(ctx, "", "--namespace", namespace, "rollout", "status", object, "--timeout=3m")
		return err
	}
}

func stop(process string) func(context.Context) error {
	return func(ctx context.Context) error { return lab.Dir.Stop(ctx, process) }
}

// start starts the API server again and waits until it serves.
func start(process string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := lab.Dir.Restart(ctx, process); err != nil {
			return err
		}
		return cluster.Await(ctx, time.Minute, process, func(ctx context.Context) error {
			_, err := lab.Kubectl(ctx, "", "get", "--raw", "/readyz")
			return err
		})
	}
}

func (f fleet) scalePrometheus(replicas int) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := lab.Kubectl(ctx, "", "--namespace", f.Namespace, "scale", "deployment/sonic-prometheus",
			fmt.Sprintf("--replicas=%d", replicas), "--timeout=2m")
		return err
	}
}

// scrapeEnvoy makes scrapes of Envoy fail, or succeed, by a limit of one sample.
// Prometheus reloads its configuration by itself.
func (f fleet) scrapeEnvoy(on bool) func(context.Context) error {
	const job = "job_name: sonic-envoy"
	const limit = "job_name: sonic-envoy\n    sample_limit: 1"
	return func(ctx context.Context) error {
		maps := lab.Kube.CoreV1().ConfigMaps(f.Namespace)
		m, err := maps.Get(ctx, "sonic-prometheus-config", metav1.GetOptions{})
		if err != nil {
			return err
		}
		from, to := job, limit
		if on {
			from, to = limit, job
		}
		text := strings.Replace(m.Data["prometheus.yml"], from, to, 1)
		if text == m.Data["prometheus.yml"] {
			return fmt.Errorf("prometheus.yml has no line %q", from)
		}
		m.Data["prometheus.yml"] = text
		if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); err != nil {
			return err
		}
		want := 0.0
		if on {
			want = 1
		}
		return cluster.Await(ctx, 3*time.Minute, "the changed scrape", func(ctx context.Context) error {
			got, err := f.query(ctx, `max(up{job="sonic-envoy"})`)
			if err == nil && got != want {
				err = fmt.Errorf("up is %v, want %v", got, want)
			}
			return err
		})
	}
}

// killServer kills the process of one Triton, as the kernel does when memory
// is short.
func (f fleet) killServer(ctx context.Context) error {
	id, err := lab.Kubectl(ctx, "", "--namespace", f.Namespace, "get", "pods", "-l", "app.kubernetes.io/component=triton",
		"-o", "jsonpath={.items[0].status.containerStatuses[0].containerID}")
	if err != nil {
		return err
	}
	return lab.Kill(ctx, strings.TrimPrefix(id, "containerd://"))
}
