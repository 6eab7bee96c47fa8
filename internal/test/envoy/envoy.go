// Package envoy runs the real Envoy in tests, between a stub of Prometheus, a stub of Triton and a gRPC client.
//
// Everything listens on free ports of loopback, is ready when its constructor returns, and stops at the end of the test.
package envoy

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/test/ports"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

const (
	readyTimeout = 30 * time.Second
	exitTimeout  = 10 * time.Second
	logTail      = 8 << 10 // bytes of Envoy's log that a failed test prints
)

// Options of an Envoy.
type Options struct {
	Bootstrap string            // Envoy's configuration, in YAML
	Merged    string            // YAML that Envoy merges into it; may be empty
	Endpoints map[string]string // host:port by cluster, replacing the cluster's endpoints
	Workers   int               // worker threads; 0 means 2
	Args      []string          // further arguments
	Env       []string          // further environment variables, KEY=VALUE

	Everywhere bool // listen on the addresses that the bootstrap names, not on loopback alone
}

// Envoy is a running Envoy.
type Envoy struct {
	Admin     string // host:port
	Pid       int
	listeners map[string]string // host:port by name
	log       string            // file
}

// Start runs Envoy with a bootstrap whose admin and TCP listeners are moved to free ports of loopback, and waits until
// it serves. The test fails, with Envoy's log, if Envoy does not accept the bootstrap.
func Start(t testing.TB, o Options) *Envoy {
	t.Helper()
	dir := t.TempDir()
	admin := ports.Loopback(t)
	endpoints := maps.Clone(o.Endpoints)
	bootstrap, err := rebind([]byte(o.Bootstrap), admin, endpoints, o.Everywhere)
	if err != nil {
		t.Fatal(err)
	}
	if o.Merged != "" {
		merged, err := rebind([]byte(o.Merged), admin, endpoints, o.Everywhere)
		if err != nil {
			t.Fatal(err)
		}
		o.Args = append(slices.Clone(o.Args), "--config-yaml", string(merged))
	}
	for name := range endpoints {
		t.Fatalf("bootstrap: no cluster %q", name)
	}
	file := filepath.Join(dir, "bootstrap.yaml")
	if err := os.WriteFile(file, bootstrap, 0o600); err != nil {
		t.Fatal(err)
	}
	e := &Envoy{Admin: admin, log: filepath.Join(dir, "envoy.log")}
	exited := e.run(t, file, o)
	t.Cleanup(func() { e.stop(t, exited) })
	e.awaitReady(t, exited)
	return e
}

func (e *Envoy) run(t testing.TB, file string, o Options) <-chan error {
	t.Helper()
	log, err := os.Create(e.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	workers := o.Workers
	if workers == 0 {
		workers = 2
	}
	args := []string{
		"-c", file, "--concurrency", strconv.Itoa(workers), "--disable-hot-restart", "-l", "warning",
		"--service-cluster", "test", "--service-node", "test",
	} // without a node id, Envoy can't watch secrets
	cmd := exec.Command(tools.Path(t, "envoy"), append(args, o.Args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), o.Env...)
	// If the test is killed, so is its Envoy.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e.Pid = cmd.Process.Pid
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait(); close(exited) }()
	return exited
}

func (e *Envoy) stop(t testing.TB, exited <-chan error) {
	if t.Failed() {
		t.Logf("envoy's log:\n%s", e.Log())
	}
	select {
	case <-exited: // its number may belong to another process by now
		return
	default:
	}
	_ = syscall.Kill(e.Pid, syscall.SIGTERM)
	select {
	case <-exited:
	case <-time.After(exitTimeout):
		_ = syscall.Kill(e.Pid, syscall.SIGKILL)
		<-exited
	}
}

func (e *Envoy) awaitReady(t testing.TB, exited <-chan error) {
	t.Helper()
	deadline := time.Now().Add(readyTimeout)
	for {
		select {
		case err := <-exited:
			t.Fatalf("envoy ended: %v\n%s", err, e.Log())
		case <-time.After(10 * time.Millisecond):
		}
		if _, err := e.get("/ready"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("envoy: not ready after %s\n%s", readyTimeout, e.Log())
		}
	}
	listeners, err := e.readListeners()
	if err != nil {
		t.Fatal(err)
	}
	e.listeners = listeners
}

func (e *Envoy) readListeners() (map[string]string, error) {
	text, err := e.get("/listeners?format=json")
	if err != nil {
		return nil, err
	}
	var status struct {
		ListenerStatuses []struct {
			Name         string `json:"name"`
			LocalAddress struct {
				SocketAddress struct {
					PortValue int `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		return nil, fmt.Errorf("envoy's listeners: %w", err)
	}
	listeners := map[string]string{}
	for _, l := range status.ListenerStatuses {
		if port := l.LocalAddress.SocketAddress.PortValue; port != 0 {
			listeners[l.Name] = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		}
	}
	return listeners, nil
}

// Addr returns the host:port of a listener.
func (e *Envoy) Addr(t testing.TB, listener string) string {
	t.Helper()
	addr, ok := e.listeners[listener]
	if !ok {
		t.Fatalf("envoy has no listener %q, only %v", listener, e.listeners)
	}
	return addr
}

// Log returns the end of Envoy's log.
func (e *Envoy) Log() string {
	text, err := os.ReadFile(e.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-logTail):])
}

func (e *Envoy) get(path string) (string, error) {
	response, err := http.Get("http://" + e.Admin + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", path, response.Status, strings.TrimSpace(string(text)))
	}
	return string(text), nil
}

// Get returns the answer of Envoy's admin interface for a path. The test fails unless its status is 200.
func (e *Envoy) Get(t testing.TB, path string) string {
	t.Helper()
	text, err := e.get(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Await checks the condition every few milliseconds. If it does not hold within the limit, the test fails with a message
// about what was awaited.
func Await(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, limit)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
