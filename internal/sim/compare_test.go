package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/fastmachinelearning/supersonic/internal/sim"
)

// A seed determines the outcome, however many runs execute at the same time.
func TestSeedsDecideEverything(t *testing.T) {
	var first []byte
	var report *sim.Report
	for range 2 {
		report = compared(t, "lab-waiting-16", 3)
		text, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = text
		} else if diff := cmp.Diff(first, text); diff != "" {
			t.Errorf("the second time (-first +second):\n%s", diff)
		}
	}
	for _, p := range report.Policies {
		if o := p.Runs; p.Name != "least fixed fleet" && (len(o) != 3 || o[0].Completed == o[1].Completed) {
			t.Errorf("%s: different seeds give the same run", p.Name)
		}
	}
}

// An interrupted comparison returns the results so far, and says that it was interrupted.
func TestInterruptedComparison(t *testing.T) {
	s, err := sim.Load("day")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r, err := sim.Compare(ctx, s, sim.Options{
		Chart: rendered(t), Policies: []string{"built-in", "written-form"},
		Progress: func(_, of int, share float64) {
			if of != 2 {
				t.Errorf("progress counts %d runs", of)
			}
			if share > 0.02 {
				stop()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || len(r.Policies) == 0 {
		t.Fatalf("interrupted: %v, with %d policies", r.Interrupted, len(r.Policies))
	}
	for _, p := range r.Policies {
		o := p.Runs[0]
		if day := 24 * time.Hour; !o.Interrupted || o.Until <= 0 || o.Until >= day.Seconds() || o.Completed == 0 {
			t.Errorf("%s: interrupted %v, until %g s, %d completed", p.Name, o.Interrupted, o.Until, o.Completed)
		}
	}
	var table bytes.Buffer
	if err := r.Table(&table); err != nil || !strings.Contains(table.String(), "\ninterrupted: ") {
		t.Errorf("%v\n%s", err, table.String())
	}
}

// The page loads nothing, and escapes what a user writes.
func TestPageIsSelfContained(t *testing.T) {
	r := compared(t, "lab-waiting-16", 2)
	r.About = `<script>alert(1)</script> & more`
	var page bytes.Buffer
	if err := r.Page(&page); err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(&page)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		count[n.Data]++
		for _, a := range n.Attr {
			if a.Key == "href" || a.Key == "src" || strings.HasPrefix(a.Key, "on") || strings.Contains(a.Val, "url(") {
				t.Errorf("<%s> refers to %s=%s", n.Data, a.Key, a.Val)
			}
		}
	}
	rows := 1 + len(r.Policies)
	for element, want := range map[string]int{"script": 0, "link": 0, "img": 0, "svg": rows, "table": 1, "tr": rows} {
		if count[element] != want {
			t.Errorf("%d elements <%s>, want %d", count[element], element, want)
		}
	}
}
