package ports

import (
	"net"
	"testing"
)

func TestReserve(t *testing.T) {
	port := Free(t)
	if reserve(port) != nil {
		t.Errorf("port %s is given out twice", port)
	}
}

func TestReserveAfterUse(t *testing.T) {
	var port string
	t.Run("user", func(t *testing.T) { port = Free(t) })
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	if reserve(port) != nil {
		t.Errorf("port %s is given out while something listens on it", port)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	reservation := reserve(port)
	if reservation == nil {
		t.Fatalf("port %s is not given out after its use", port)
	}
	if err := reservation.Close(); err != nil {
		t.Fatal(err)
	}
}
