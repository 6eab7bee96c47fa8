package chart_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// keda.timeout reaches KEDA in milliseconds, which every version reads.
func TestKEDATimeout(t *testing.T) {
	s := kedaWith(t, "timeout: 1m30s, "+wakesFrom0, "")
	for _, trigger := range s.Spec.Triggers {
		if got := trigger.Metadata["timeout"]; got != "90000" {
			t.Errorf("trigger %s: timeout is %q, want 90000", trigger.Name, got)
		}
	}
	if got, ok := kedaWith(t, "", "").Spec.Triggers[0].Metadata["timeout"]; ok {
		t.Errorf("timeout is %q, want KEDA's own", got)
	}
}

// KEDA queries a managed Prometheus with a pod identity.
func TestKEDAPodIdentity(t *testing.T) {
	for _, tc := range []struct {
		name, auth   string
		metadata     map[string]string
		wantIdentity map[string]any
	}{
		{
			name: "aws", auth: "{podIdentity: {provider: aws, roleArn: arn:aws:iam::1:role/reader}, awsRegion: eu-west-1}",
			metadata:     map[string]string{"awsRegion": "eu-west-1"},
			wantIdentity: map[string]any{"provider": "aws", "roleArn": "arn:aws:iam::1:role/reader"},
		},
		{
			name: "azure", auth: "{podIdentity: {provider: azure-workload, identityId: reader}}",
			wantIdentity: map[string]any{"provider": "azure-workload", "identityId": "reader"},
		},
		{name: "gcp", auth: "{podIdentity: {provider: gcp}}", wantIdentity: map[string]any{"provider": "gcp"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := manifest.Render(t, `
keda: {enabled: true}
serverLoadRateInterval: 2m
prometheus: {external: {enabled: true, url: "https://metrics.example.org", scrapeInterval: 15s, auth: `+tc.auth+`}}
`)
			of := trigger(t, m)
			got := beside(of.Metadata, "serverAddress", "query", "threshold", "activationThreshold", "ignoreNullValues")
			if diff := cmp.Diff(tc.metadata, got); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]any{"podIdentity": tc.wantIdentity}, authentication(t, m)); diff != "" {
				t.Errorf("TriggerAuthentication (-want +got):\n%s", diff)
			}
			delete(m, "NOTES.txt")
			for _, err := range manifest.For(t, "1.34").Check(m) {
				t.Error(err)
			}
		})
	}
}
