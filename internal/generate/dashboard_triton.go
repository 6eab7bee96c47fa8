package generate

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// triton shows Triton by model and by replica, and the GPUs.
func triton() *board {
	b := newDashboard("supersonic-servers", "SuperSONIC Triton")
	tritonModels(b)
	tritonReplicas(b)
	tritonGPUs(b)
	return b
}

// tritonModels shows each model over all replicas.
func tritonModels(b *board) {
	b.WithRow(row("Models")).
		WithPanel(graph(third, "Inferences by model", units.Short,
			"Inferences per second over all replicas; a batched request counts each of its items.",
			target{"A", by("model", "nv_inference_count"), "{{model}}"},
		)).
		WithPanel(graph(third, "Requests by model", units.RequestsPerSecond,
			"Successful requests per second over all replicas.",
			target{"A", by("model", "nv_inference_request_success"), "{{model}}"},
		)).
		WithPanel(graph(third, "Failed requests", units.RequestsPerSecond,
			"Failed requests per second by model and reason; they do not count as serving time.",
			target{"A", by("model, reason", "nv_inference_request_failure"), "{{model}} {{reason}}"},
		)).
		WithPanel(graph(third, "Queue time by model", units.Milliseconds,
			"Time in Triton's queue, per request.",
			target{"A", perRequest("model", "nv_inference_queue_duration_us"), "{{model}}"},
		)).
		WithPanel(graph(third, "Compute time by model", units.Milliseconds,
			"Time that the model computes, per request.",
			target{"A", perRequest("model", "nv_inference_compute_infer_duration_us"), "{{model}}"},
		)).
		WithPanel(graph(third, "Queued requests by model", units.Short,
			"Requests that Triton has received but not started.",
			target{"A", fmt.Sprintf("sum by (model) (nv_inference_pending_request_count{%s})", of), "{{model}}"},
		)).
		WithPanel(graph(third, "Batch size by model", units.Short,
			"Inferences per execution: above 1 if Triton batches.",
			target{"A", by("model", "nv_inference_count") + " / " + by("model", "nv_inference_exec_count"), "{{model}}"},
		)).
		WithPanel(stacked(graph(twoThirds, "Latency of a request", units.Milliseconds,
			"Time spent in Triton per request, by stage, over all models.",
			target{"A", perRequest("release", "nv_inference_queue_duration_us"), "queue"},
			target{"B", perRequest("release", "nv_inference_compute_input_duration_us"), "input"},
			target{"C", perRequest("release", "nv_inference_compute_infer_duration_us"), "inference"},
			target{"D", perRequest("release", "nv_inference_compute_output_duration_us"), "output"},
		)))
}

// tritonReplicas shows each replica over all models.
func tritonReplicas(b *board) {
	b.WithRow(row("Replicas")).
		WithPanel(graph(half, "Inferences by replica", units.Short,
			"Inferences per second of each replica, over all models.",
			target{"A", by("pod", "nv_inference_count"), "{{pod}}"},
		)).
		WithPanel(graph(half, "Memory by replica", units.BytesIEC,
			"Memory of the host in use, as Triton reports it.",
			target{"A", gauge("nv_cpu_memory_used_bytes"), "{{pod}}"},
		))
}

// tritonGPUs shows each GPU.
func tritonGPUs(b *board) {
	b.WithRow(row("GPUs")).
		WithPanel(graph(third, "GPU utilization", units.PercentUnit,
			"Share of the time that a GPU was busy, as its driver reports it; no data without a GPU.",
			target{"A", gauge("nv_gpu_utilization"), "{{pod}} {{gpu_uuid}}"},
		)).
		WithPanel(graph(third, "GPU memory", units.PercentUnit,
			"Share of the GPU's memory in use.",
			target{"A", gauge("nv_gpu_memory_used_bytes") + " / " + gauge("nv_gpu_memory_total_bytes"), "{{pod}} {{gpu_uuid}}"},
		)).
		WithPanel(graph(third, "GPU power", units.PercentUnit,
			"Power draw of a GPU as a share of its limit.",
			target{"A", gauge("nv_gpu_power_usage") + " / " + gauge("nv_gpu_power_limit"), "{{pod}} {{gpu_uuid}}"},
		))
}

// gauge is a series of the selected release.
func gauge(series string) string { return fmt.Sprintf("%s{%s}", series, of) }
