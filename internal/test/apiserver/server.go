// Package apiserver is a Kubernetes API server without a cluster, for programs that install and upgrade. It stores
// objects and the owners of their fields, with the code of client-go, and runs no pods.
package apiserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
)

// A Server can be reached with its kubeconfig.
type Server struct {
	t          testing.TB
	Kubeconfig string
	objects    clienttesting.ObjectTracker
}

// Start starts an empty server, which stops at the end of the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, objects: tracker()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", answer(map[string]string{"major": "1", "minor": "34", "gitVersion": "v1.34.0"}))
	addDiscovery(mux)
	mux.HandleFunc("/", s.serve)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	config := `{"apiVersion": "v1", "kind": "Config", "current-context": "test",
"clusters": [{"name": "test", "cluster": {"server": "` + server.URL + `"}}],
"contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
"users": [{"name": "test", "user": {}}]}`
	if err := os.WriteFile(s.Kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func answer(object any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, object) }
}

func write(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

var statusType = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}

// A target is the resource or the object that a path names.
type target struct {
	kind            kind
	namespace, name string
}

// parse reads a path such as /apis/apps/v1/namespaces/cms/deployments/sonic-triton.
func parse(path string) (target, bool) {
	words := strings.Split(strings.Trim(path, "/"), "/")
	if len(words) < 3 {
		return target{}, false
	}
	group, version, rest := "", words[1], words[2:]
	if words[0] == "apis" {
		group, version, rest = words[1], words[2], words[3:]
	}
	var found target
	if len(rest) > 2 && rest[0] == "namespaces" {
		found.namespace, rest = rest[1], rest[2:]
	}
	if len(rest) == 0 || len(rest) > 2 {
		return target{}, false
	}
	if len(rest) == 2 {
		found.name = rest[1]
	}
	for _, k := range kinds {
		if k.Group == group && k.Version == version && k.plural == rest[0] {
			found.kind = k
			return found, true
		}
	}
	return target{}, false
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	where, ok := parse(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	var object runtime.Object
	if err == nil {
		object, err = s.act(r, where, body)
	}
	if err != nil {
		status := apierrors.NewInternalError(err)
		if known, ok := err.(apierrors.APIStatus); ok {
			status.ErrStatus = known.Status()
		}
		status.ErrStatus.TypeMeta = statusType
		write(w, int(status.ErrStatus.Code), status.ErrStatus)
		return
	}
	write(w, http.StatusOK, object)
}

// act executes a request.
func (s *Server) act(r *http.Request, at target, body []byte) (runtime.Object, error) {
	resource, query := at.kind.resource(), r.URL.Query()
	manager := query.Get("fieldManager")
	react := func(action clienttesting.Action) (runtime.Object, error) {
		_, object, err := clienttesting.ObjectReaction(s.objects)(action)
		if err != nil || object == nil {
			return &metav1.Status{TypeMeta: statusType, Status: metav1.StatusSuccess}, err
		}
		object.GetObjectKind().SetGroupVersionKind(at.kind.GroupVersionKind)
		return object, nil
	}
	switch r.Method {
	case http.MethodGet:
		if at.name != "" {
			return react(clienttesting.NewGetAction(resource, at.namespace, at.name))
		}
		list, err := react(clienttesting.NewListAction(resource, at.kind.GroupVersionKind, at.namespace, metav1.ListOptions{}))
		if err != nil {
			return nil, err
		}
		list.GetObjectKind().SetGroupVersionKind(at.kind.list())
		return list, selectItems(list, query.Get("labelSelector"))
	case http.MethodDelete:
		return react(clienttesting.NewDeleteAction(resource, at.namespace, at.name))
	case http.MethodPatch:
		force := query.Get("force") == "true"
		patch := types.PatchType(r.Header.Get("Content-Type"))
		action := clienttesting.NewPatchAction(resource, at.namespace, at.name, patch, body)
		action.PatchOptions = metav1.PatchOptions{FieldManager: manager, Force: &force}
		return s.defaulted(react(action))
	}
	object, err := at.kind.decode(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s.defaulted(react(put(r.Method, at, object, manager)))
}

// put creates or updates an object.
func put(method string, at target, object runtime.Object, manager string) clienttesting.Action {
	if method == http.MethodPut {
		action := clienttesting.NewUpdateAction(at.kind.resource(), at.namespace, object)
		action.UpdateOptions = metav1.UpdateOptions{FieldManager: manager}
		return action
	}
	action := clienttesting.NewCreateAction(at.kind.resource(), at.namespace, object)
	action.CreateOptions = metav1.CreateOptions{FieldManager: manager}
	return action
}

// defaulted sets the default size of a Deployment, as the API server does.
func (s *Server) defaulted(object runtime.Object, err error) (runtime.Object, error) {
	if d, ok := object.(*appsv1.Deployment); ok && err == nil && d.Spec.Replicas == nil {
		d = d.DeepCopy()
		one := int32(1)
		d.Spec.Replicas = &one
		return d, s.objects.Update(appsv1.SchemeGroupVersion.WithResource("deployments"), d, d.Namespace,
			metav1.UpdateOptions{FieldManager: "apiserver"})
	}
	return object, err
}

// selectItems filters a list by a selector.
func selectItems(list runtime.Object, selector string) error {
	wanted, err := labels.Parse(selector)
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	var kept []runtime.Object
	for _, item := range items {
		m, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		if wanted.Matches(labels.Set(m.GetLabels())) {
			kept = append(kept, item)
		}
	}
	return meta.SetList(list, kept)
}

// Deployment returns a live Deployment.
func (s *Server) Deployment(namespace, name string) *appsv1.Deployment {
	s.t.Helper()
	object, err := s.objects.Get(appsv1.SchemeGroupVersion.WithResource("deployments"), namespace, name)
	if err != nil {
		s.t.Fatal(err)
	}
	return object.(*appsv1.Deployment)
}

// Scale sets the size of a Deployment, as the HPA does.
func (s *Server) Scale(namespace, name string, size int32) {
	s.t.Helper()
	d := s.Deployment(namespace, name)
	d.Spec.Replicas = &size
	err := s.objects.Update(appsv1.SchemeGroupVersion.WithResource("deployments"), d, namespace,
		metav1.UpdateOptions{FieldManager: "kube-controller-manager"})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Names returns the objects in a namespace, as Kind/name, without Helm's own records of releases.
func (s *Server) Names(namespace string) map[string]bool {
	s.t.Helper()
	all := map[string]bool{}
	for _, k := range kinds {
		list, err := s.objects.List(k.resource(), k.GroupVersionKind, namespace)
		if err != nil {
			s.t.Fatal(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, item := range items {
			m, err := meta.Accessor(item)
			if err != nil {
				s.t.Fatal(err)
			}
			if !strings.HasPrefix(m.GetName(), "sh.helm.release.") {
				all[k.Kind+"/"+m.GetName()] = true
			}
		}
	}
	return all
}

// decode reads an object. Unknown fields are errors, as in a server with strict field validation.
func (k kind) decode(body []byte) (runtime.Object, error) {
	if bytes.HasPrefix(body, []byte("k8s\x00")) { // protobuf, in which clients send Kubernetes' own kinds
		object, _, err := kubernetes.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		return object, err
	}
	object, err := scheme.New(k.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return object, d.Decode(object)
}
