// Package fleet simulates clients, Envoy and a fleet of Triton replicas, event
// by event, with the counters of the real ones.
//
// A request goes from a client through an Envoy to the replica with the fewest
// active requests, waits there in the queue of its model, is executed by one of
// the model's instances, alone or in a batch, and ends. Replicas start, drain
// and stop as pods do. The metrics that Envoy and Triton would export, and what
// really happened, can be read at any time.
//
// Every client has its own random numbers, so that two policies see the same
// clients. A World is not safe for concurrent use; separate Worlds are independent.
package fleet
