package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTableInTheREADMEIsCurrent(t *testing.T) {
	readme, err := os.ReadFile("../../" + readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	values, err := os.ReadFile("../../" + valuesFile)
	if err != nil {
		t.Fatal(err)
	}
	want, err := put(readme, values)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(readme)); diff != "" {
		t.Errorf("%s is not current: run make generate (-generated +committed):\n%s", readmeFile, diff)
	}
}

func TestTable(t *testing.T) {
	for _, tc := range []struct{ name, values, want, wantErr string }{
		{
			name:   "nested",
			values: "# -- One | two\na: \"\"\nb:\n  # -- Three\n  c: {d: 1, e: [x]}\n  f:\n    # -- Four\n    g: null\n",
			want: "| key | default | what |\n|---|---|---|\n| `a` | `\"\"` | One \\| two |\n" +
				"\n### b\n\n| key | default | what |\n|---|---|---|\n| `b.c` | `{d: 1, e: [x]}` | Three |\n| `b.f.g` | `null` | Four |\n",
		},
		{
			name:    "without-a-comment",
			values:  "a:\n  # one\n  b: 1\n",
			wantErr: `values.yaml:3: a.b: has no comment that begins with "# -- "`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := table([]byte(tc.values))
			if err != nil || tc.wantErr != "" {
				if err == nil || err.Error() != tc.wantErr {
					t.Errorf("error is %v, want %q", err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}
