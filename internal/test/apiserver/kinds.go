package apiserver

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// A kind is one that the server stores.
type kind struct {
	schema.GroupVersionKind
	plural string
	custom bool // defined by a CRD
}

// kinds are those that the chart renders, and those that Helm needs.
var kinds = []kind{
	of("", "v1", "ConfigMap"),
	of("", "v1", "Namespace"),
	of("", "v1", "PersistentVolumeClaim"),
	of("", "v1", "Pod"),
	of("", "v1", "Secret"),
	of("", "v1", "Service"),
	of("", "v1", "ServiceAccount"),
	of("apps", "v1", "Deployment"),
	of("networking.k8s.io", "v1", "Ingress"),
	of("networking.k8s.io", "v1", "NetworkPolicy"),
	of("policy", "v1", "PodDisruptionBudget"),
	of("rbac.authorization.k8s.io", "v1", "Role"),
	of("rbac.authorization.k8s.io", "v1", "RoleBinding"),
	custom("keda.sh", "v1alpha1", "ScaledObject"),
	custom("keda.sh", "v1alpha1", "TriggerAuthentication"),
	custom("monitoring.coreos.com", "v1", "PodMonitor"),
	custom("monitoring.coreos.com", "v1", "PrometheusRule"),
}

func of(group, version, name string) kind {
	plural := strings.ToLower(name)
	switch {
	case strings.HasSuffix(plural, "s"):
		plural += "es"
	case strings.HasSuffix(plural, "y"):
		plural = strings.TrimSuffix(plural, "y") + "ies"
	default:
		plural += "s"
	}
	return kind{schema.GroupVersionKind{Group: group, Version: version, Kind: name}, plural, false}
}

func custom(group, version, name string) kind {
	k := of(group, version, name)
	k.custom = true
	return k
}

func (k kind) resource() schema.GroupVersionResource { return k.GroupVersion().WithResource(k.plural) }

func (k kind) list() schema.GroupVersionKind { return k.GroupVersion().WithKind(k.Kind + "List") }

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := kubernetes.AddToScheme(s); err != nil {
		panic(err)
	}
	for _, k := range kinds {
		if k.custom {
			s.AddKnownTypeWithName(k.GroupVersionKind, &unstructured.Unstructured{})
			s.AddKnownTypeWithName(k.list(), &unstructured.UnstructuredList{})
		}
	}
	return s
}()

// converter uses the schema of Kubernetes' own types, and deduces that of others.
type converter struct{ own, deduced managedfields.TypeConverter }

func (c converter) of(o runtime.Object) managedfields.TypeConverter {
	group := o.GetObjectKind().GroupVersionKind().Group
	if slices.ContainsFunc(kinds, func(k kind) bool { return k.custom && k.Group == group }) {
		return c.deduced
	}
	return c.own
}

func (c converter) ObjectToTyped(o runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return c.of(o).ObjectToTyped(o, options...)
}

func (c converter) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	return c.deduced.TypedToObject(v)
}

func tracker() clienttesting.ObjectTracker {
	fields := converter{applyconfigurations.NewTypeConverter(scheme), managedfields.NewDeducedTypeConverter()}
	return clienttesting.NewFieldManagedObjectTracker(scheme, kubernetes.Codecs.UniversalDecoder(), fields)
}

// addDiscovery serves the list of kinds to clients.
func addDiscovery(mux *http.ServeMux) {
	mux.HandleFunc("GET /api", answer(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}))
	lists := map[schema.GroupVersion]*metav1.APIResourceList{}
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, k := range kinds {
		version := k.GroupVersion()
		if lists[version] == nil {
			lists[version] = &metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.String(),
			}
			discovered := metav1.GroupVersionForDiscovery{GroupVersion: version.String(), Version: version.Version}
			if version.Group != "" {
				groups.Groups = append(groups.Groups, metav1.APIGroup{
					Name: version.Group, Versions: []metav1.GroupVersionForDiscovery{discovered}, PreferredVersion: discovered,
				})
			}
		}
		lists[version].APIResources = append(lists[version].APIResources, metav1.APIResource{
			Name: k.plural, SingularName: strings.ToLower(k.Kind), Kind: k.Kind, Namespaced: k.Kind != "Namespace",
			Verbs: metav1.Verbs{"create", "delete", "get", "list", "patch", "update"},
		})
	}
	mux.HandleFunc("GET /apis", answer(groups))
	documents := map[string]any{}
	for version, list := range lists {
		path := "apis/" + version.String()
		if version.Group == "" {
			path = "api/" + version.Version
		}
		mux.HandleFunc("GET /"+path, answer(list))
		mux.HandleFunc("GET /openapi/v3/"+path, answer(openAPI(version, list)))
		documents[path] = map[string]string{"serverRelativeURL": "/openapi/v3/" + path}
	}
	mux.HandleFunc("GET /openapi/v3", answer(map[string]any{"paths": documents}))
}

// openAPI declares that the server validates fields, so that clients do not.
func openAPI(version schema.GroupVersion, list *metav1.APIResourceList) any {
	type object = map[string]any
	paths := object{}
	for _, r := range list.APIResources {
		paths["/"+r.Name] = object{"patch": object{
			"parameters":                      []any{object{"name": "fieldValidation", "in": "query"}},
			"x-kubernetes-group-version-kind": object{"group": version.Group, "version": version.Version, "kind": r.Kind},
			"responses":                       object{},
		}}
	}
	return object{"openapi": "3.0.0", "info": object{"title": "test", "version": "1"}, "paths": paths}
}
