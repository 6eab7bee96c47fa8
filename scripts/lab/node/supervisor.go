package node

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process is one of the node's processes, as process 1 knows it.
type process struct {
	Args []string // the binary and its arguments
	Pid  int      // inside the node; 0 once it has ended
	Exit string   // how it ended
}

// A supervisor starts and stops the node's processes on request, and reaps them and
// all orphans.
type supervisor struct {
	dir Dir
	mu  sync.Mutex
	all map[string]*process
	// ended is closed and replaced whenever a process has ended.
	ended chan struct{}
}

// supervise serves requests at run/init.sock until it is told to stop.
func supervise(d Dir) error {
	s := &supervisor{dir: d, all: map[string]*process{}, ended: make(chan struct{})}
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	listener, err := net.Listen("unix", d.Run("init.sock"))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", s.status)
	mux.HandleFunc("PUT /{name}", s.start)
	mux.HandleFunc("DELETE /{name}", s.stop)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	for {
		select {
		case <-children:
			s.reap()
		case err := <-failed:
			return err
		case <-stop:
			return nil // The kernel ends every other process with process 1.
		}
	}
}

// reap takes the exit status of every child that has ended.
func (s *supervisor) reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		if err != nil || pid <= 0 {
			break
		}
		for _, p := range s.all {
			if p.Pid != pid {
				continue
			}
			p.Pid = 0
			p.Exit = fmt.Sprintf("exit status %d", ws.ExitStatus())
			if ws.Signaled() {
				p.Exit = "signal: " + ws.Signal().String()
			}
		}
	}
	close(s.ended)
	s.ended = make(chan struct{})
}

func (s *supervisor) status(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := json.NewEncoder(w).Encode(s.all); err != nil {
		fmt.Fprintln(os.Stderr, "status:", err)
	}
}

// start starts the arguments in the body under a name, unless it is running.
func (s *supervisor) start(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	var args []string
	if err := json.NewDecoder(r.Body).Decode(&args); err != nil || len(args) == 0 {
		http.Error(w, "no arguments", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.all[name]; p != nil && p.Pid != 0 {
		return
	}
	pid, err := s.spawn(name, args)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.all[name] = &process{Args: args, Pid: pid}
}

// spawn starts a process with its output in run/log.
func (s *supervisor) spawn(name string, args []string) (int, error) {
	path := s.dir.Run("log", filepath.Base(name)+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	return syscall.ForkExec(args[0], args, &syscall.ProcAttr{
		Dir:   s.dir.Run(),
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}

// stop ends a process, kills it after 10 s, and answers when it has ended.
func (s *supervisor) stop(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	p := s.all[r.PathValue("name")]
	s.mu.Unlock()
	if p == nil {
		http.Error(w, "no such process", http.StatusNotFound)
		return
	}
	s.signal(p, syscall.SIGTERM)
	insist := time.After(10 * time.Second)
	for {
		s.mu.Lock()
		pid, ended := p.Pid, s.ended
		s.mu.Unlock()
		if pid == 0 {
			return
		}
		select {
		case <-ended:
		case <-insist:
			s.signal(p, syscall.SIGKILL)
		}
	}
}

func (s *supervisor) signal(p *process, sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Pid != 0 {
		_ = syscall.Kill(p.Pid, sig) // It may have ended already.
	}
}
