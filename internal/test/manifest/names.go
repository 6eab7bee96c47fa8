package manifest

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkNames checks an object's name, labels, annotations and selectors with the functions of the API server.
func checkNames(doc map[string]any) []error {
	var meta metav1.ObjectMeta
	if err := convert(doc["metadata"], &meta); err != nil {
		return nil // of a wrong type, which the schema reports
	}
	errs := validation.ValidateObjectMeta(&meta, meta.Namespace != "", nameRule(text(doc, "kind")), field.NewPath("metadata"))
	spec := members(doc, "spec")
	if text(doc, "kind") == "Service" {
		errs = append(errs, checkLabels(spec["selector"], field.NewPath("spec", "selector"))...)
	}
	errs = append(errs, checkSelector(spec)...)
	return toErrors(append(errs, walk(spec, field.NewPath("spec"))...))
}

func nameRule(kind string) validation.ValidateNameFunc {
	switch kind {
	case "Service":
		return validation.NameIsDNS1035Label
	case "Namespace":
		return validation.NameIsDNSLabel
	case "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		return func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	}
	return validation.NameIsDNSSubdomain
}

// walk checks the labels at any depth of a spec: of pod templates, selectors and node selectors.
func walk(value any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			errs = append(errs, walk(item, at.Index(i))...)
		}
	case map[string]any:
		for key, item := range value {
			at := at.Child(key)
			switch key {
			case "matchLabels", "nodeSelector":
				errs = append(errs, checkLabels(item, at)...)
			case "metadata":
				errs = append(errs, checkInnerMeta(item, at)...)
			default:
				errs = append(errs, walk(item, at)...)
			}
		}
	}
	return errs
}

func checkInnerMeta(value any, at *field.Path) field.ErrorList {
	var meta metav1.ObjectMeta
	if err := convert(value, &meta); err != nil {
		return nil // of a wrong type, which the schema reports; or a list, as a trigger's metadata may be
	}
	return append(metavalidation.ValidateLabels(meta.Labels, at.Child("labels")),
		validation.ValidateAnnotations(meta.Annotations, at.Child("annotations"))...)
}

func checkLabels(value any, at *field.Path) field.ErrorList {
	var set map[string]string
	if err := convert(value, &set); err != nil {
		return nil // of a wrong type, which the schema reports
	}
	return metavalidation.ValidateLabels(set, at)
}

// checkSelector rejects a workload whose selector does not match its own pods.
func checkSelector(spec map[string]any) field.ErrorList {
	template := members(spec, "template")
	at := field.NewPath("spec", "template", "metadata", "labels")
	var selector metav1.LabelSelector
	var meta metav1.ObjectMeta
	if template == nil || spec["selector"] == nil ||
		convert(spec["selector"], &selector) != nil || convert(template["metadata"], &meta) != nil {
		return nil // not a workload, or of a wrong type, which the schema reports
	}
	matcher, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "selector"), selector, err.Error())}
	}
	if !matcher.Matches(labels.Set(meta.Labels)) {
		return field.ErrorList{field.Invalid(at, meta.Labels, fmt.Sprintf("does not match the selector %s", matcher))}
	}
	return nil
}

func convert(value, into any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

func toErrors(list field.ErrorList) []error {
	errs := make([]error, len(list))
	for i, e := range list {
		errs[i] = e
	}
	return errs
}
