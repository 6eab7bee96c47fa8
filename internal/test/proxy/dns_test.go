package proxy

import (
	"net"
	"sync"
	"testing"

	"github.com/miekg/dns"

	"github.com/fastmachinelearning/supersonic/internal/test/ports"
)

// nameServer is a stub of the cluster's DNS with one name. As CoreDNS does, it truncates long UDP answers, and answers over
// TCP too.
type nameServer struct {
	addr string // host:port

	mu        sync.Mutex
	addresses []string
	rcode     int // of every answer
	overTCP   int // answers
}

func startNameServer(t testing.TB) *nameServer {
	t.Helper()
	s := &nameServer{addr: ports.Loopback(t), rcode: dns.RcodeNameError}
	conn, err := net.ListenPacket("udp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range []*dns.Server{{PacketConn: conn, Handler: s}, {Listener: listener, Handler: s}} {
		go func() { _ = server.ActivateAndServe() }()
		t.Cleanup(func() { _ = server.Shutdown() })
	}
	return s
}

// Answer sets the later answers.
func (s *nameServer) Answer(rcode int, addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rcode, s.addresses = rcode, addresses
}

// OverTCP counts the answers that were given over TCP.
func (s *nameServer) OverTCP() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.overTCP
}

// records are the answers to a question: A for IPv4 addresses, AAAA for IPv6 addresses.
func (s *nameServer) records(q dns.Question) []dns.RR {
	var records []dns.RR
	for _, address := range s.addresses {
		ip, header := net.ParseIP(address), dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET, Ttl: 5}
		switch {
		case q.Qtype == dns.TypeA && ip.To4() != nil:
			records = append(records, &dns.A{Hdr: header, A: ip})
		case q.Qtype == dns.TypeAAAA && ip.To4() == nil:
			records = append(records, &dns.AAAA{Hdr: header, AAAA: ip})
		}
	}
	return records
}

// ServeDNS answers one question.
func (s *nameServer) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply := new(dns.Msg).SetRcode(question, s.rcode)
	q := question.Question[0]
	if s.rcode == dns.RcodeSuccess {
		reply.Answer = s.records(q)
	}
	if q.Name != "sonic-triton.cms.svc.cluster.local." {
		reply = new(dns.Msg).SetRcode(question, dns.RcodeNameError)
	}
	size := dns.MaxMsgSize
	if w.RemoteAddr().Network() == "tcp" {
		s.overTCP++
	} else {
		size = dns.MinMsgSize
		if extra := question.IsEdns0(); extra != nil {
			size = int(extra.UDPSize())
			reply.SetEdns0(extra.UDPSize(), false)
		}
	}
	reply.Truncate(size)
	_ = w.WriteMsg(reply)
}
