// Package ports finds TCP ports for the real parts that tests start.
package ports

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The kernel gives ports of 32768 and above to whoever connects or asks for any port, so one of those may be taken between
// finding it and listening on it.
const first, last = 20000, 29999

// Free returns a port on which nothing listens. No other test gets it before this one ends, in any process.
func Free(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(first + rand.IntN(last-first+1))
		if reservation := reserve(port); reservation != nil {
			t.Cleanup(func() { _ = reservation.Close() })
			return port
		}
	}
	t.Fatalf("no free port between %d and %d", first, last)
	return ""
}

// Loopback returns 127.0.0.1 with a free port.
func Loopback(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", Free(t))
}

// reserve returns nil if something listens on the port or has reserved it. A reservation is an abstract Unix socket, which
// ends with its process.
func reserve(port string) net.Listener {
	reservation, err := net.Listen("unix", "@supersonic-test-port-"+port)
	if err != nil {
		return nil
	}
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		_ = reservation.Close()
		return nil
	}
	_ = listener.Close()
	return reservation
}
