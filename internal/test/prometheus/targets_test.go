package prometheus

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// target is a target of Prometheus.
type target struct {
	Labels         map[string]string
	ScrapeURL      string
	ScrapeInterval string
}

// targets returns the targets of the jobs, once Prometheus has discovered pods.
func (s *server) targets(t testing.TB) []target {
	t.Helper()
	var answer struct {
		Data struct{ ActiveTargets []target }
	}
	if err := json.Unmarshal([]byte(get(t, "http://"+s.addr+"/api/v1/targets?state=active")), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Data.ActiveTargets
}

// cluster is a stub of Kubernetes' API with the pods of one namespace. It allows only what the Role allows.
type cluster struct {
	t    testing.TB
	pods []corev1.Pod
	role rbacv1.Role
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, verb := r.URL.Query(), "list"
	if asked.Get("watch") != "" {
		verb = "watch"
	}
	may := slices.ContainsFunc(c.role.Rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Resources, "pods") && slices.Contains(rule.Verbs, verb)
	})
	if !may || r.URL.Path != "/api/v1/namespaces/"+c.role.Namespace+"/pods" {
		c.t.Errorf("Prometheus asks Kubernetes for %s, to %s, which the Role does not allow", r.URL.Path, verb)
		http.Error(w, "forbidden", http.StatusForbidden)
		return
	}
	selector, err := labels.Parse(asked.Get("labelSelector"))
	if err != nil {
		c.t.Errorf("the selector %q: %v", asked.Get("labelSelector"), err)
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case asked.Get("sendInitialEvents") != "": // as Kubernetes before 1.32 answers, so that the client lists instead
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
	case verb == "watch":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		list := corev1.PodList{}
		list.Kind, list.APIVersion, list.ResourceVersion = "PodList", "v1", "1"
		for _, pod := range c.pods {
			if selector.Matches(labels.Set(pod.Labels)) {
				list.Items = append(list.Items, pod)
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	}
}

// podsOf returns a pod of each Deployment, named after its release and component, such as sonic/triton.
func podsOf(t testing.TB, m render.Manifests, phase corev1.PodPhase) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	for _, d := range manifest.OfKind[appsv1.Deployment](t, m, "Deployment") {
		pod := corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
		of := func(label string) string { return pod.Labels["app.kubernetes.io/"+label] }
		pod.Name, pod.Namespace = of("instance")+"."+of("component")+"."+strings.ToLower(string(phase)), d.Namespace
		pod.Status.Phase, pod.Status.PodIP = phase, fmt.Sprintf("127.9.%d.%d", len(pods), len(phase))
		pods = append(pods, pod)
	}
	return pods
}

// Prometheus discovers the running pods of its release, with the rights of its Role.
func TestTargets(t *testing.T) {
	const everything = `
tempo: {enabled: true}
grafana: {enabled: true}
metricsCollector: {enabled: true, host: 0.0.0.0}
opentelemetry-collector: {enabled: true}
prometheus: {enabled: true, server: {global: {scrape_interval: 7s, evaluation_interval: 11s}, otherReleases: %s}}
serverLoadRateInterval: 30s
`
	of := func(release string) []string {
		return []string{
			"sonic-envoy " + release + ".envoy.running:9901/stats/prometheus " + release,
			"sonic-triton " + release + ".triton.running:8002/metrics " + release,
		}
	}
	own := append(of("sonic"),
		"opentelemetry-collector sonic.opentelemetry-collector.running:8888/metrics sonic", "tempo sonic.tempo.running:3100/metrics sonic")
	for _, c := range []struct {
		name, others string
		want         []string
	}{
		{"own-release", "[]", own},
		{"another-release", "[sonic-b]", append(of("sonic-b"), own...)},
		{"every-release", `["*"]`, slices.Concat(of("sonic-b"), of("sonic-c"), own)},
	} {
		t.Run(c.name, func(t *testing.T) {
			values := fmt.Sprintf(everything, c.others)
			m := manifest.Render(t, values)
			api := &cluster{t: t, role: manifest.OfKind[rbacv1.Role](t, m, "Role")[0]}
			for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded} {
				api.pods = append(api.pods, podsOf(t, m, phase)...)
			}
			for _, release := range []string{"sonic-b", "sonic-c"} {
				o := manifest.Options
				o.Release = release
				other, err := render.Chart(manifest.Chart(t), nil, o)
				if err != nil {
					t.Fatal(err)
				}
				api.pods = append(api.pods, podsOf(t, other, corev1.PodRunning)...)
			}
			stub := httptest.NewServer(api)
			t.Cleanup(stub.CloseClientConnections)
			s := startIn(t, values, stub.URL)
			slices.Sort(c.want)
			envoy.Await(t, limit, "the pods are found", func() bool { return len(s.targets(t)) >= len(c.want) })
			var got []string
			for _, found := range s.targets(t) {
				l := found.Labels
				_, at, _ := strings.Cut(strings.TrimPrefix(found.ScrapeURL, "http://"), ":")
				got = append(got, fmt.Sprintf("%s %s:%s %s", l["job"], l["pod"], at, l["release"]))
				if l["namespace"] != "cms" || l["app"] != "supersonic" || found.ScrapeInterval != "7s" {
					t.Errorf("%s is scraped every %s, with labels %v", found.ScrapeURL, found.ScrapeInterval, l)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			if rules := get(t, "http://"+s.addr+"/api/v1/rules"); !strings.Contains(rules, `"interval":11,`) {
				t.Errorf("the rules are not evaluated every 11 s: %.300s", rules)
			}
		})
	}
}
