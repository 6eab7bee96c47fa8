package promql_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/fastmachinelearning/supersonic/promql"
)

func ExampleNeededReplicas() {
	q, err := promql.NeededReplicas(promql.ForRelease("sonic", "cms"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(q.Pretty())
	// Output:
	// (
	//           (
	//               sum(
	//                 rate(
	//                   envoy_cluster_upstream_rq_time_sum{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}[1m]
	//                 )
	//               )
	//             or
	//               sum(
	//                 histogram_sum(
	//                   rate(
	//                     envoy_cluster_upstream_rq_time{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}[1m]
	//                   )
	//                 )
	//               )
	//           )
	//         /
	//           1000
	//       or
	//           vector(0)
	//         unless
	//           (
	//               count(
	//                   increase(
	//                     envoy_cluster_upstream_rq_xx{envoy_cluster_name="triton_grpc_service",envoy_response_code_class="2",namespace="cms",release="sonic"}[1m]
	//                   )
	//                 >
	//                   0
	//               )
	//             unless
	//               count(
	//                 envoy_cluster_upstream_rq_time_sum{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}
	//               )
	//           )
	//     )
	//   /
	//     clamp_min(
	//         (
	//               (
	//                   sum(rate(nv_inference_request_duration_us{namespace="cms",release="sonic"}[1m]))
	//                 -
	//                   sum(rate(nv_inference_queue_duration_us{namespace="cms",release="sonic"}[1m]))
	//               )
	//             /
	//               1000000
	//           or
	//               vector(0)
	//             unless
	//               count(increase(nv_inference_request_success{namespace="cms",release="sonic"}[1m]) > 0)
	//         )
	//       /
	//         clamp_min(
	//           max(
	//               avg_over_time(
	//                 envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}[1m]
	//               )
	//             and
	//               envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}
	//           ),
	//           1
	//         ),
	//       1
	//     )
	// and
	//   count(
	//     present_over_time(
	//       envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}[1m] offset 1m
	//     )
	//   )
}

func ExampleOccupancyRatio() {
	p := promql.ForRelease("sonic", "cms")
	p.Replicas = promql.Instant
	q, err := promql.OccupancyRatio(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(q.Pretty())
	// Output:
	// (
	//         (
	//               (
	//                   sum(
	//                     rate(
	//                       envoy_cluster_upstream_rq_time_sum{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}[1m]
	//                     )
	//                   )
	//                 or
	//                   sum(
	//                     histogram_sum(
	//                       rate(
	//                         envoy_cluster_upstream_rq_time{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}[1m]
	//                       )
	//                     )
	//                   )
	//               )
	//             /
	//               1000
	//           or
	//               vector(0)
	//             unless
	//               (
	//                   count(
	//                       increase(
	//                         envoy_cluster_upstream_rq_xx{envoy_cluster_name="triton_grpc_service",envoy_response_code_class="2",namespace="cms",release="sonic"}[1m]
	//                       )
	//                     >
	//                       0
	//                   )
	//                 unless
	//                   count(
	//                     envoy_cluster_upstream_rq_time_sum{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}
	//                   )
	//               )
	//         )
	//       /
	//         clamp_min(
	//             (
	//                   (
	//                       sum(rate(nv_inference_request_duration_us{namespace="cms",release="sonic"}[1m]))
	//                     -
	//                       sum(rate(nv_inference_queue_duration_us{namespace="cms",release="sonic"}[1m]))
	//                   )
	//                 /
	//                   1000000
	//               or
	//                   vector(0)
	//                 unless
	//                   count(increase(nv_inference_request_success{namespace="cms",release="sonic"}[1m]) > 0)
	//             )
	//           /
	//             clamp_min(
	//               max(
	//                 envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}
	//               ),
	//               1
	//             ),
	//           1
	//         )
	//     and
	//       count(
	//         present_over_time(
	//           envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}[1m] offset 1m
	//         )
	//       )
	//   )
	// /
	//   clamp_min(
	//     max(
	//       envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}
	//     ),
	//     1
	//   )
}

// A Prometheus whose labels are not the chart's, scraped each 30 seconds; an
// ensemble that reports the time of its steps once more.
func ExampleForRelease() {
	p := promql.ForRelease("sonic", "cms")
	var err error
	if p.Triton, err = promql.ParseSelector(`job="triton", cluster=~"west|east"`); err != nil {
		fmt.Println(err)
		return
	}
	p.RateInterval = promql.GoodRateInterval(30 * time.Second)
	p.ExcludeModels = []string{"pipeline"}
	q, err := promql.ServingRequests(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(q.Pretty())
	// Output:
	// clamp_min(
	//         (
	//             sum(rate(nv_inference_request_duration_us{cluster=~"west|east",job="triton",model!="pipeline"}[2m]))
	//           -
	//             sum(rate(nv_inference_queue_duration_us{cluster=~"west|east",job="triton",model!="pipeline"}[2m]))
	//         )
	//       /
	//         1000000
	//     or
	//         vector(0)
	//       unless
	//         count(
	//           increase(nv_inference_request_success{cluster=~"west|east",job="triton",model!="pipeline"}[2m]) > 0
	//         ),
	//     0
	//   )
	// and
	//   max(
	//       avg_over_time(
	//         envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}[2m]
	//       )
	//     and
	//       envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}
	//   )
}

// A user's own metric stays as it was written.
func ExampleParse() {
	q, err := promql.Parse("avg(nv_gpu_utilization)   # of every GPU")
	fmt.Println(q, err)
	_, err = promql.Parse("avg(nv_gpu_utilization")
	fmt.Println(err)
	_, err = promql.Parse("nv_gpu_utilization[5m]")
	fmt.Println(err)
	// Output:
	// avg(nv_gpu_utilization)   # of every GPU <nil>
	// 1:23: parse error: unclosed left parenthesis
	// must be an instant vector, got a range vector
}

// Every error is told at once and names its parameter.
func ExampleParams_Validate() {
	p := promql.ForRelease("sonic", "cms")
	p.RateInterval = 0
	p.InFlight = "most"
	err := p.Validate()
	fmt.Println(err)

	var first *promql.FieldError
	if errors.As(err, &first) {
		fmt.Println("the first is of", first.Field)
	}
	// Output:
	// rateInterval: must be at least 1ms, got 0s
	// inFlight: must be completed, larger or active, got "most"
	// the first is of rateInterval
}

// The admission threshold stands above the scaling threshold.
func ExampleThresholds_Validate() {
	t := promql.Thresholds{Scaling: 1.5, Admission: promql.AdmissionFor(1.5)}
	fmt.Println(t, t.Validate())
	t.Scaling = 4
	fmt.Println(t.Validate())
	// Output:
	// {1.5 3} <nil>
	// admission: must be above the scaling threshold of 4, got 3
}
