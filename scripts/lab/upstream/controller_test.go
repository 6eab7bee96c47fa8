package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers/autoscaling/v2"
	coreinformers "k8s.io/client-go/informers/core/v1"
	autoscalingclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	autoscalinglisters "k8s.io/client-go/listers/autoscaling/v2"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	defaults "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"

	"github.com/fastmachinelearning/supersonic/internal/hpa"
)

// A cluster is what the controller sees: an HPA, a Deployment and its pods in each namespace.
// The controller's own code runs; only the API server and the metrics are simulated.
type cluster struct {
	worlds  map[string]*world
	objects cache.Indexer // the HPAs
	added   cache.ResourceEventHandler
}

// A world is one namespace.
type world struct {
	fleet   hpa.Fleet
	answers []hpa.Answer
	pods    []*core.Pod
	status  autoscaling.HorizontalPodAutoscalerStatus
}

const name = "fleet"

func newCluster() *cluster {
	return &cluster{
		worlds:  map[string]*world{},
		objects: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
	}
}

// start starts a controller of the cluster's HPAs, which syncs each once a period.
func (c *cluster) start(ctx context.Context, period time.Duration) error {
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{apps})
	mapper.Add(apps.WithKind("Deployment"), meta.RESTScopeNamespace)
	controller := podautoscaler.NewHorizontalController(ctx, events{}, c, c, mapper, sources{c: c}, hpas{c: c}, pods{c: c},
		period, 5*time.Minute, 0.1, 5*time.Minute, 30*time.Second)
	for _, o := range c.objects.List() {
		c.added.OnAdd(o, true)
	}
	go controller.Run(ctx, 1)
	return nil
}

// add adds a namespace with an HPA as KEDA creates it, with the API server's defaults.
func (c *cluster) add(namespace string, spec hpa.Spec, fleet hpa.Fleet) (*world, error) {
	w := &world{fleet: fleet}
	c.worlds[namespace] = w
	least := max(spec.Min, 1)
	object := &autoscaling.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: autoscaling.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscaling.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MinReplicas:    &least,
			MaxReplicas:    spec.Max,
			Behavior:       spec.Behavior.DeepCopy(),
		},
	}
	for i, t := range spec.Triggers {
		object.Spec.Metrics = append(object.Spec.Metrics, metric(i, t))
	}
	defaults.SetDefaults_HorizontalPodAutoscaler(object)
	return w, c.objects.Add(object)
}

// The API server, as the controller uses it.

func (c *cluster) Scales(namespace string) scale.ScaleInterface {
	return scales{w: c.worlds[namespace], namespace: namespace}
}

type scales struct {
	scale.ScaleInterface
	w         *world
	namespace string
}

func (s scales) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       autoscalingv1.ScaleSpec{Replicas: s.w.fleet.Spec},
		Status:     autoscalingv1.ScaleStatus{Replicas: s.w.fleet.Status, Selector: "app=" + name},
	}, nil
}

func (s scales) Update(_ context.Context, _ schema.GroupResource, to *autoscalingv1.Scale, _ metav1.UpdateOptions) (
	*autoscalingv1.Scale, error,
) {
	s.w.fleet.Spec = to.Spec.Replicas
	return to, nil
}

func (c *cluster) HorizontalPodAutoscalers(namespace string) autoscalingclient.HorizontalPodAutoscalerInterface {
	return statuses{c: c, w: c.worlds[namespace]}
}

type statuses struct {
	autoscalingclient.HorizontalPodAutoscalerInterface
	c *cluster
	w *world
}

func (s statuses) UpdateStatus(_ context.Context, object *autoscaling.HorizontalPodAutoscaler, _ metav1.UpdateOptions) (
	*autoscaling.HorizontalPodAutoscaler, error,
) {
	s.w.status = object.Status
	return object, s.c.objects.Update(object)
}

type hpas struct {
	v2.HorizontalPodAutoscalerInformer
	c *cluster
}

func (h hpas) Informer() cache.SharedIndexInformer { return informer{c: h.c} }

func (h hpas) Lister() autoscalinglisters.HorizontalPodAutoscalerLister {
	return autoscalinglisters.NewHorizontalPodAutoscalerLister(h.c.objects)
}

type pods struct {
	coreinformers.PodInformer
	c *cluster
}

func (p pods) Informer() cache.SharedIndexInformer { return informer{c: p.c} }
func (p pods) Lister() corelisters.PodLister       { return podLister{c: p.c} }

type podLister struct {
	corelisters.PodLister
	c *cluster
}

func (p podLister) Pods(namespace string) corelisters.PodNamespaceLister {
	return podsOf{w: p.c.worlds[namespace]}
}

type podsOf struct {
	corelisters.PodNamespaceLister
	w *world
}

func (p podsOf) List(labels.Selector) ([]*core.Pod, error) { return p.w.pods, nil }

type informer struct {
	cache.SharedIndexInformer
	c *cluster
}

func (i informer) HasSynced() bool { return true }

func (i informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (
	cache.ResourceEventHandlerRegistration, error,
) {
	i.c.added = h
	return nil, nil
}

// sources are the external metrics.
type sources struct {
	metrics.MetricsClient
	c *cluster
}

func (s sources) GetExternalMetric(metric, namespace string, _ labels.Selector) ([]int64, time.Time, error) {
	var i int
	if _, err := fmt.Sscanf(metric, "s%d-prometheus", &i); err != nil {
		return nil, time.Time{}, err
	}
	a := s.c.worlds[namespace].answers[i]
	if a.Err != nil {
		return nil, time.Time{}, a.Err
	}
	return []int64{thousandths(a)}, time.Now(), nil
}

var errNoAnswer = errors.New("no answer")

type events struct{ coreclient.EventInterface }

func (e events) Events(string) coreclient.EventInterface { return e }

func (events) CreateWithEventNamespace(e *core.Event) (*core.Event, error) { return e, nil }
func (events) UpdateWithEventNamespace(e *core.Event) (*core.Event, error) { return e, nil }
func (events) PatchWithEventNamespace(e *core.Event, _ []byte) (*core.Event, error) {
	return e, nil
}
