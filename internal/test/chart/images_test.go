package chart_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

const pin = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// podImages returns the images of all containers, by pod and container.
func podImages(t *testing.T, m render.Manifests) map[string]string {
	t.Helper()
	images := map[string]string{}
	add := func(pod string, spec corev1.PodSpec) {
		for _, c := range append(spec.InitContainers, spec.Containers...) {
			images[pod+"/"+c.Name] = c.Image
		}
		for _, v := range spec.Volumes {
			if v.Image != nil {
				images[pod+"/"+v.Name] = v.Image.Reference
			}
		}
	}
	for _, d := range all[appsv1.Deployment](t, m, "Deployment") {
		add(d.Name, d.Spec.Template.Spec)
	}
	for _, p := range all[corev1.Pod](t, m, "Pod") {
		add(p.Name, p.Spec)
	}
	return images
}

// The images of one values file are all pinned by digest.
func TestImagesOfLockedDown(t *testing.T) {
	images := podImages(t, named(t, "locked-down").manifests(t))
	if len(images) != 8 {
		t.Errorf("%d containers are rendered, want 8: %v", len(images), images)
	}
	for container, image := range images {
		if _, hex, ok := strings.Cut(image, "@sha256:"); !ok || len(hex) != 64 {
			t.Errorf("%s: %s has no digest", container, image)
		}
	}
}

// Each image value, with a digest alone or with a tag too, changes its own image and no other.
func TestImagesByDigest(t *testing.T) {
	const collector = "opentelemetry-collector.image."
	usual := podImages(t, manifest.Render(t, everyPart))
	for _, tc := range []struct {
		name, image string
		set         []string
		pods        []string
	}{
		{"triton", "a@" + pin, []string{"triton.image=a@" + pin}, []string{"sonic-triton", "sonic-test"}},
		{"triton-with-a-tag", "a:1@" + pin, []string{"triton.image=a:1@" + pin}, []string{"sonic-triton", "sonic-test"}},
		{"envoy", "b@" + pin, []string{"envoy.image=b@" + pin}, []string{"sonic-envoy", "sonic-metrics-collector"}},
		{"prometheus", "c@" + pin, []string{"prometheus.server.image=c@" + pin}, []string{"sonic-prometheus"}},
		{"grafana", "d@" + pin, []string{"grafana.image=d@" + pin}, []string{"sonic-grafana-server"}},
		{"tempo", "e@" + pin, []string{"tempo.tempo.image=e@" + pin}, []string{"sonic-tempo"}},
		{
			"collector", "f:1@" + pin,
			[]string{collector + "repository=f", collector + "tag=1", collector + "digest=" + pin},
			[]string{"sonic-otel-collector"},
		},
		{
			"collector-without-a-tag", "f@" + pin,
			[]string{collector + "repository=f", collector + "tag=", collector + "digest=" + pin},
			[]string{"sonic-otel-collector"},
		},
		{
			"collector-by-its-tag", "f:1@" + pin,
			[]string{collector + "repository=f", collector + "tag=1@" + pin},
			[]string{"sonic-otel-collector"},
		},
		{
			"collector-by-its-repository", "f@" + pin,
			[]string{collector + "repository=f@" + pin, collector + "tag="},
			[]string{"sonic-otel-collector"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			user, err := render.Inputs{Files: []string{"-"}, Stdin: strings.NewReader(everyPart), SetString: tc.set}.Merge()
			if err != nil {
				t.Fatal(err)
			}
			m, err := render.Chart(manifest.Chart(t), user.Values, manifest.Options)
			if err != nil {
				t.Fatal(err)
			}
			want := maps.Clone(usual)
			for container := range want {
				if pod, _, _ := strings.Cut(container, "/"); slices.Contains(tc.pods, pod) {
					want[container] = tc.image
				}
			}
			if diff := cmp.Diff(want, podImages(t, m)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The list of images contains that of every container, with the value that sets it.
func TestListOfImages(t *testing.T) {
	forEachValuesFile(t, func(t *testing.T, c valuesCase) {
		images, err := render.Images(manifest.Chart(t), c.vals, c.options())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, image := range images {
			got = append(got, image.Name)
			if len(image.Keys) == 0 {
				t.Errorf("%s: no value names it", image.Name)
			}
		}
		want := slices.Compact(slices.Sorted(maps.Values(podImages(t, c.manifests(t)))))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-rendered +listed):\n%s", diff)
		}
	})
}
