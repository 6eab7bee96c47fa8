package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Size is the fleet's at one moment.
type Size struct {
	At     time.Duration `json:"at"` // since the start of the watch
	Wanted int32         `json:"wanted"`
	Pods   int32         `json:"pods"` // not terminating
	Ready  int32         `json:"ready"`
}

// Sizes is the course of a fleet's size. It records a size only when
// something has changed.
type Sizes struct {
	mu     sync.Mutex
	begin  time.Time
	course []Size
	stop   context.CancelFunc
	ended  chan struct{}
}

// WatchSizes reads the release's Triton Deployment four times a second until Stop.
// It records nothing while the API server is down.
func (r Release) WatchSizes(ctx context.Context) *Sizes {
	ctx, stop := context.WithCancel(ctx)
	s := &Sizes{begin: time.Now(), stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			s.look(ctx, r)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return s
}

func (s *Sizes) look(ctx context.Context, r Release) {
	d, err := r.Kube.AppsV1().Deployments(r.Namespace).Get(ctx, r.Name+"-triton", metav1.GetOptions{})
	if err != nil {
		return
	}
	now := Size{At: time.Since(s.begin), Pods: d.Status.Replicas, Ready: d.Status.ReadyReplicas}
	if d.Spec.Replicas != nil {
		now.Wanted = *d.Spec.Replicas
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.course); n > 0 {
		last := s.course[n-1]
		last.At = now.At
		if last == now {
			return
		}
	}
	s.course = append(s.course, now)
}

// Stop ends the watch and returns the course.
func (s *Sizes) Stop() []Size {
	s.stop()
	<-s.ended
	return s.Course()
}

// Course is the record so far.
func (s *Sizes) Course() []Size {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Size(nil), s.course...)
}

// Since is the time since the start of the watch.
func (s *Sizes) Since() time.Duration { return time.Since(s.begin) }

// Last is the latest size, with -1 for every number before the first reading.
func (s *Sizes) Last() Size {
	course := s.Course()
	if len(course) == 0 {
		return Size{Wanted: -1, Pods: -1, Ready: -1}
	}
	return course[len(course)-1]
}

// Unchanged is the time since the last change, or 0 before the first reading.
func (s *Sizes) Unchanged() time.Duration {
	course := s.Course()
	if len(course) == 0 {
		return 0
	}
	return s.Since() - course[len(course)-1].At
}

// Steady is how long the wanted size has been constant with every replica ready.
func (s *Sizes) Steady() time.Duration {
	course := s.Course()
	if len(course) == 0 {
		return 0
	}
	i := len(course) - 1
	if last := course[i]; last.Ready != last.Wanted || last.Pods != last.Wanted {
		return 0
	}
	for i > 0 && course[i-1].Wanted == course[i].Wanted && course[i-1].Ready == course[i].Ready {
		i--
	}
	return s.Since() - course[i].At
}

// Changes are the wanted sizes in order.
func Changes(course []Size) []int32 {
	var changes []int32
	for _, s := range course {
		if len(changes) == 0 || changes[len(changes)-1] != s.Wanted {
			changes = append(changes, s.Wanted)
		}
	}
	return changes
}

// ReplicaSeconds is the cost of a course until end: every pod counts from its
// creation until its deletion.
func ReplicaSeconds(course []Size, end time.Duration) float64 {
	sum := 0.0
	for i, s := range course {
		until := end
		if i+1 < len(course) {
			until = min(end, course[i+1].At)
		}
		if until > s.At {
			sum += float64(s.Pods) * (until - s.At).Seconds()
		}
	}
	return sum
}

// Describe is a course in words.
func Describe(course []Size) string {
	var s strings.Builder
	for i, size := range course {
		if i > 0 && course[i-1].Wanted == size.Wanted && course[i-1].Ready == size.Ready {
			continue
		}
		fmt.Fprintf(&s, "%s: %d wanted, %d ready; ", size.At.Round(time.Second), size.Wanted, size.Ready)
	}
	return strings.TrimSuffix(s.String(), "; ")
}
