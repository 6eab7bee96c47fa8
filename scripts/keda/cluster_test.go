package keda

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/events"
	"k8s.io/metrics/pkg/apis/external_metrics"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kedav1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/fallback"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"

	"github.com/fastmachinelearning/supersonic/internal/hpa"
)

const namespace = "fleets"

// A cluster has a ScaledObject, its Deployment and the Deployment's ready pods.
type cluster struct {
	scale.ScaleInterface
	t       *testing.T
	api     client.Client
	object  *kedav1.ScaledObject
	metrics []autoscaling.MetricSpec
	execute executor.ScaleExecutor
	ready   int
}

func newCluster(t *testing.T, spec hpa.Spec, size int32) *cluster {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kedav1.AddToScheme, apps.AddToScheme, core.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &cluster{t: t, object: scaledObject(spec)}
	for i, trigger := range spec.Triggers {
		c.metrics = append(c.metrics, metric(i, trigger))
	}
	deployment := &apps.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fleet"}}
	deployment.Spec.Replicas = &size
	c.api = fake.NewClientBuilder().WithScheme(scheme).WithObjects(deployment, c.object).WithStatusSubresource(c.object).Build()
	c.execute = executor.NewScaleExecutor(c.api, c, scheme, time.Second, events.NewFakeRecorder(1000))
	return c
}

func scaledObject(spec hpa.Spec) *kedav1.ScaledObject {
	so := &kedav1.ScaledObject{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fleet", CreationTimestamp: metav1.Now()}}
	so.Spec = kedav1.ScaledObjectSpec{
		ScaleTargetRef:        &kedav1.ScaleTarget{Name: "fleet"},
		MinReplicaCount:       &spec.Min,
		MaxReplicaCount:       &spec.Max,
		IdleReplicaCount:      spec.Idle,
		PollingInterval:       new(int32(spec.PollingInterval / time.Second)),
		CooldownPeriod:        new(int32(spec.Cooldown / time.Second)),
		InitialCooldownPeriod: new(int32(spec.InitialCooldown / time.Second)),
	}
	if f := spec.Fallback; f != nil {
		so.Spec.Fallback = &kedav1.Fallback{FailureThreshold: f.FailureThreshold, Replicas: f.Replicas, Behavior: f.Behavior}
	}
	so.Status.ScaleTargetGVKR = &kedav1.GroupVersionKindResource{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments"}
	return so
}

func metric(i int, trigger hpa.Trigger) autoscaling.MetricSpec {
	target := autoscaling.MetricTarget{Type: trigger.MetricType}
	quantity := resource.MustParse(fmt.Sprintf("%.3f", trigger.Threshold))
	if trigger.MetricType == autoscaling.ValueMetricType {
		target.Value = &quantity
	} else {
		target.AverageValue = &quantity
	}
	name := autoscaling.MetricIdentifier{Name: fmt.Sprintf("s%d-prometheus", i)}
	return autoscaling.MetricSpec{External: &autoscaling.ExternalMetricSource{Metric: name, Target: target}}
}

// look reads a trigger with the code that both of KEDA's loops use. The answer is in thousandths.
func (c *cluster) look(i int, answer hpa.Answer) (value int64, fellBack bool, err error) {
	var raw []external_metrics.ExternalMetricValue
	if answer.Err == nil {
		raw = append(raw, external_metrics.ExternalMetricValue{Value: resource.MustParse(fmt.Sprintf("%.3f", answer.Value))})
	}
	handler := fallback.ScaledObjectHandler{
		Ctx: context.Background(), KubeClient: c.api, ScaleClient: c, UpdateLock: &sync.RWMutex{}, ScaledObject: c.object,
	}
	got, fellBack, err := fallback.GetMetricsWithFallback(handler, raw, answer.Err, c.metrics[i].External.Metric.Name, c.metrics[i])
	if err != nil {
		return 0, false, err
	}
	return got[0].Value.MilliValue(), fellBack, nil
}

// poll changes the fleet, and stores what KEDA stores, as the API server would.
func (c *cluster) poll(active, failed bool) {
	result := c.execute.RequestScale(context.Background(), c.object, active, failed, executor.ScaleExecutorOptions{})
	if result.LastActiveTime != nil {
		c.object.Status.LastActiveTime = result.LastActiveTime
	}
	text, err := json.Marshal(c.object)
	if err != nil {
		c.t.Fatal(err)
	}
	c.object = &kedav1.ScaledObject{}
	if err := json.Unmarshal(text, c.object); err != nil {
		c.t.Fatal(err)
	}
	c.must(c.api.Status().Update(context.Background(), c.object))
}

func (c *cluster) size() int32 { return *c.deployment().Spec.Replicas }

func (c *cluster) resize(to int32) {
	d := c.deployment()
	d.Spec.Replicas = &to
	c.must(c.api.Update(context.Background(), d))
}

func (c *cluster) deployment() *apps.Deployment {
	d := &apps.Deployment{}
	c.must(c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "fleet"}, d))
	return d
}

// setReady starts or ends pods.
func (c *cluster) setReady(want int) {
	for ; c.ready < want; c.ready++ {
		p := pod(c.ready)
		p.Status.Phase = core.PodRunning
		p.Status.Conditions = []core.PodCondition{{Type: core.PodReady, Status: core.ConditionTrue}}
		c.must(c.api.Create(context.Background(), p))
	}
	for ; c.ready > want; c.ready-- {
		c.must(c.api.Delete(context.Background(), pod(c.ready-1)))
	}
}

func pod(i int) *core.Pod {
	return &core.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: fmt.Sprintf("fleet-%d", i), Labels: map[string]string{"app": "fleet"},
	}}
}

func (c *cluster) must(err error) {
	if err != nil {
		c.t.Fatal(err)
	}
}

// Scales, Get and Update are the scale subresource of the Deployment.
func (c *cluster) Scales(string) scale.ScaleInterface { return c }

func (c *cluster) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	s := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fleet"}}
	s.Spec.Replicas, s.Status.Selector = c.size(), "app=fleet"
	return s, nil
}

func (c *cluster) Update(_ context.Context, _ schema.GroupResource, to *autoscalingv1.Scale, _ metav1.UpdateOptions) (
	*autoscalingv1.Scale, error,
) {
	c.resize(to.Spec.Replicas)
	return to, nil
}
