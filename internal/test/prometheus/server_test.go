package prometheus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/test/ports"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

const limit = 60 * time.Second // for what takes a second or two

// A server is a running Prometheus with the rendered configuration.
type server struct {
	addr, dir string
	host      string // host to listen on, with a colon
	pid       int
	manifests render.Manifests
}

// start runs Prometheus as its Deployment does, with a list of pods instead of Kubernetes' discovery.
func start(t testing.TB, values string, pods []map[string]string) *server {
	t.Helper()
	return startAt(t, "127.0.0.1:", values, pods)
}

// startAt is start on a free port of a host.
func startAt(t testing.TB, host, values string, pods []map[string]string) *server {
	t.Helper()
	return run(t, host, values, func(job map[string]any) {
		delete(job, "kubernetes_sd_configs")
		job["static_configs"] = static(pods)
	})
}

// startIn is start with Kubernetes' discovery, from a stub of its API.
func startIn(t testing.TB, values, api string) *server {
	t.Helper()
	return run(t, "127.0.0.1:", values, func(job map[string]any) {
		for _, sd := range job["kubernetes_sd_configs"].([]any) {
			sd.(map[string]any)["api_server"] = api
		}
	})
}

func run(t testing.TB, host, values string, edit func(job map[string]any)) *server {
	t.Helper()
	s := &server{addr: ports.Loopback(t), host: host, dir: t.TempDir(), manifests: manifest.Render(t, values)}
	for name, text := range manifest.Data(t, s.manifests, "prometheus/configmap.yaml") {
		s.write(t, name, strings.ReplaceAll(text, "/etc/prometheus/", s.dir+"/"))
	}
	s.edit(t, func(config map[string]any) {
		for _, job := range config["scrape_configs"].([]any) {
			edit(job.(map[string]any))
		}
	})
	command := exec.Command(tools.Path(t, "prometheus"), s.arguments(t)...)
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = command.Process.Pid
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("Prometheus says:\n%s", log.String())
		}
	})
	envoy.Await(t, limit, "Prometheus is ready", func() bool {
		answer, err := http.Get("http://" + s.addr + "/-/ready")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return s
}

// static gives the pods the labels that Kubernetes' discovery would.
func static(pods []map[string]string) []any {
	var groups []any
	for _, pod := range pods {
		labels := map[string]any{}
		for name, value := range pod {
			if name != "address" {
				labels["__meta_kubernetes_"+name] = value
			}
		}
		groups = append(groups, map[string]any{"targets": []any{pod["address"]}, "labels": labels})
	}
	return groups
}

// arguments returns those of the rendered container, with the test's folders.
func (s *server) arguments(t testing.TB) []string {
	t.Helper()
	args := append(container(t, s.manifests), "--web.listen-address="+strings.Replace(s.addr, "127.0.0.1:", s.host, 1))
	for i, arg := range args {
		args[i] = strings.NewReplacer("/etc/prometheus", s.dir, "=/data", "="+s.dir+"/data", "interval=10s", "interval=1s").Replace(arg)
	}
	return args
}

func container(t testing.TB, m render.Manifests) []string {
	t.Helper()
	var deployment struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct{ Args []string }
				}
			}
		}
	}
	text, _, _ := strings.Cut(m["prometheus/deployment.yaml"], "\n---\n")
	if err := yaml.Unmarshal([]byte(text), &deployment); err != nil {
		t.Fatal(err)
	}
	return deployment.Spec.Template.Spec.Containers[0].Args
}

func (s *server) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// edit changes the configuration file.
func (s *server) edit(t testing.TB, change func(map[string]any)) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	change(config)
	if text, err = yaml.Marshal(config); err != nil {
		t.Fatal(err)
	}
	s.write(t, "prometheus.yml", string(text))
}

// result is a series in an answer of Prometheus.
type result struct {
	Metric map[string]string
	Value  [2]any
}

// queryAt evaluates a query at a time in seconds, or now if it is empty.
func (s *server) queryAt(t testing.TB, expr, at string) []result {
	t.Helper()
	asked := url.Values{"query": {expr}}
	if at != "" {
		asked.Set("time", at)
	}
	var answer struct{ Data struct{ Result []result } }
	if err := json.Unmarshal([]byte(get(t, "http://"+s.addr+"/api/v1/query?"+asked.Encode())), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Data.Result
}

// value returns the only value of an answer, or an empty string.
func (s *server) value(t testing.TB, expr string) string {
	t.Helper()
	return s.valueAt(t, expr, "")
}

func (s *server) valueAt(t testing.TB, expr, at string) string {
	t.Helper()
	if results := s.queryAt(t, expr, at); len(results) == 1 {
		return fmt.Sprint(results[0].Value[1])
	}
	return ""
}

func get(t testing.TB, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func status(t testing.TB, method, url string) int {
	t.Helper()
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}
