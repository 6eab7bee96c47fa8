package envoy

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Answer is the stub's answer to a query.
type Answer struct {
	Status int // 0 means 200
	Body   string
	Delay  time.Duration
	Hang   bool // never answers
}

// Sample returns Prometheus' answer of one series with the value.
func Sample(value string) Answer {
	return Answer{Body: fmt.Sprintf(
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1735689600.123,%q]}]}}`, value)}
}

// Prometheus is a stub that records queries and gives all of them the same answer.
type Prometheus struct {
	Addr string // host:port, the same when it comes back

	mu      sync.Mutex
	answer  Answer
	queries []Query
	server  *http.Server
	port    net.Listener
	tls     *tls.Config
	ended   chan struct{}
}

// Query is a query that the stub received.
type Query struct {
	At     time.Time
	Method string
	Host   string
	Path   string
	Tenant string // the parameter namespace of the URL
	PromQL string // from the form in the body
	Header http.Header
	SNI    string // with TLS
}

// StartPrometheus runs a stub that answers with a load of 0.
func StartPrometheus(t testing.TB) *Prometheus {
	t.Helper()
	p := &Prometheus{Addr: "127.0.0.1:0", answer: Sample("0"), ended: make(chan struct{})}
	p.Up(t)
	t.Cleanup(func() { close(p.ended); p.Down() })
	return p
}

// Set changes the answer to later queries.
func (p *Prometheus) Set(a Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = a
}

// Queries returns the received queries, in order.
func (p *Prometheus) Queries() []Query {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Query(nil), p.queries...)
}

// Down closes the port and every connection.
func (p *Prometheus) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.server.Close()
	_ = p.port.Close() // the server may not have it yet
}

// Up opens the port.
func (p *Prometheus) Up(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	// A client that does not trust the stub is expected.
	quiet := log.New(io.Discard, "", 0)
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: quiet}
	p.mu.Lock()
	p.Addr, p.server, p.port = l.Addr().String(), server, l
	if p.tls != nil {
		l = tls.NewListener(l, p.tls)
	}
	p.mu.Unlock()
	go func() { _ = server.Serve(l) }()
}

// UseTLS closes every connection, and uses TLS with the certificate from then on.
func (p *Prometheus) UseTLS(t testing.TB, certificate tls.Certificate) {
	t.Helper()
	p.Down()
	p.mu.Lock()
	p.tls = &tls.Config{Certificates: []tls.Certificate{certificate}}
	p.mu.Unlock()
	p.Up(t)
}

// ServeHTTP answers one query.
func (p *Prometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	q := Query{
		At: time.Now(), Method: r.Method, Host: r.Host, Path: r.URL.Path, Tenant: r.URL.Query().Get("namespace"),
		PromQL: form.Get("query"), Header: r.Header.Clone(),
	}
	if r.TLS != nil {
		q.SNI = r.TLS.ServerName
	}
	p.mu.Lock()
	p.queries = append(p.queries, q)
	a := p.answer
	p.mu.Unlock()
	delay := time.After(a.Delay)
	if a.Hang {
		delay = nil
	}
	select {
	case <-delay:
	case <-r.Context().Done():
		return
	case <-p.ended:
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	_, _ = io.WriteString(w, a.Body)
}
