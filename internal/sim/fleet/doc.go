// Package fleet simulates clients, Envoy and a fleet of Triton replicas, event
// by event, and counts as the real ones count.
//
// A request goes from a client through an Envoy to the replica with the fewest
// active requests, waits there in the queue of its model, is executed by one of
// the model's instances, alone or in a batch, and ends. Replicas start, drain
// and stop as pods do. What Envoy and Triton would export can be read at any
// time; what really happened is counted beside it.
//
// Every client has its own random numbers, so that two policies see the same
// clients. A World is not safe for concurrent use; several are independent.
package fleet
