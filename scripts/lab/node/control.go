package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// call sends a request to process 1 of the node.
func (d Dir) call(ctx context.Context, method, name string, body any, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://lab/"+name, bytes.NewReader(data))
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", d.Run("init.sock"))
		},
	}}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s: %s", name, strings.TrimSpace(string(text)))
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// Processes are the node's own, by name.
func (d Dir) Processes(ctx context.Context) (map[string]*process, error) {
	var all map[string]*process
	return all, d.call(ctx, http.MethodGet, "", nil, &all)
}

// start starts a binary with arguments under a name, unless it is running.
func (d Dir) start(ctx context.Context, name string, args ...string) error {
	return d.call(ctx, http.MethodPut, name, args, nil)
}

// Stop ends one of the node's own processes and returns when it is gone.
func (d Dir) Stop(ctx context.Context, name string) error {
	return d.call(ctx, http.MethodDelete, name, nil, nil)
}

// Restart starts a process again that Stop has ended, with the same arguments.
func (d Dir) Restart(ctx context.Context, name string) error {
	all, err := d.Processes(ctx)
	if err != nil {
		return err
	}
	p := all[name]
	if p == nil {
		return fmt.Errorf("%s: the node runs no such process", name)
	}
	return d.start(ctx, name, p.Args...)
}

// Running reports whether the node is running.
func (d Dir) Running() bool {
	s, err := readState(d)
	return err == nil && s.alive()
}

// Command is a command inside the network of the node.
func (d Dir) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	s, err := readState(d)
	if err != nil || !s.alive() {
		return &exec.Cmd{Err: fmt.Errorf("the lab is not up (%s)", d)}
	}
	enter := []string{"-t", strconv.Itoa(s.Pid), "--net", "--", name}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
	cmd.Env = append(os.Environ(), d.env()...)
	cmd.Env = append(cmd.Env,
		"KUBECONFIG="+d.Kubeconfig(), "LAB="+string(d), "KUBECACHEDIR="+d.Run("cache", "kubectl"),
		"HELM_CACHE_HOME="+d.Run("cache", "helm"), "HELM_CONFIG_HOME="+d.Run("cache", "helm"), "HELM_DATA_HOME="+d.Run("cache", "helm"),
		"PATH="+d.Bin("")+":"+d.Host()+"/usr/bin:"+d.Host()+"/bin:"+os.Getenv("PATH"))
	return cmd
}

// await calls f until it returns nil. After the limit it returns the last error.
func await(ctx context.Context, limit time.Duration, what string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %s: %w", what, limit, err)
		case <-tick.C:
		}
	}
}
