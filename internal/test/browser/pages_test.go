// Package browser_test opens the HTML pages in a real browser.
package browser_test

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/sim"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

//go:embed layout.js
var layout string

// widths of a screen and of a phone, in CSS pixels.
var widths = []int64{1280, 400}

// started is a browser that reaches no network but the files of this machine.
func started(t *testing.T) context.Context {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(tools.Debian(t, "chromium")),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"),
		chromedp.WSURLReadTimeout(time.Minute),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which Chromium requires of root; it opens our own files alone
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil { // starts it
		t.Fatal(err)
	}
	return ctx
}

// faults opens a page in a tab for each width, and lists messages on its console, requests, and faults of its layout.
func faults(t *testing.T, browser context.Context, file string) (all []string) {
	t.Helper()
	for _, width := range widths {
		found, err := open(browser, (&url.URL{Scheme: "file", Path: file}).String(), width)
		if err != nil {
			t.Fatalf("%s at %d px: %v", file, width, err)
		}
		for _, text := range found {
			all = append(all, fmt.Sprintf("%d px: %s", width, text))
		}
	}
	return all
}

func open(browser context.Context, page string, width int64) (all []string, err error) {
	tab, stop := chromedp.NewContext(browser)
	defer stop()
	var lock sync.Mutex
	err = chromedp.Listen(tab, func(event any) {
		if text := seen(event, page); text != "" {
			lock.Lock()
			defer lock.Unlock()
			all = append(all, text)
		}
	})
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithTimeout(tab, 2*time.Minute)
	defer end()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(page)); err != nil {
		return nil, err
	}
	found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](layout))
	lock.Lock()
	defer lock.Unlock()
	return append(all, found...), err
}

// seen describes an event that a page of ours must not cause.
func seen(event any, page string) string {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if e.Request.URL != page {
			return "requests " + e.Request.URL
		}
	case *runtime.EventConsoleAPICalled:
		return "writes to the console: " + e.Type.String()
	case *runtime.EventExceptionThrown:
		return "throws: " + e.ExceptionDetails.Text
	case *log.EventEntryAdded:
		return "logs: " + e.Entry.Text
	}
	return ""
}

func saved(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := write(f); err != nil {
		t.Fatal(err)
	}
	return file
}

// simulated are a page that compares policies, and one that recommends values.
func simulated(t *testing.T) map[string]string {
	t.Helper()
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	settings := func(values map[string]any) (sim.Settings, error) {
		manifests, err := render.Chart(c, values, render.Options{Release: sim.Release, Namespace: sim.Namespace})
		if err != nil {
			return sim.Settings{}, err
		}
		return sim.ReadSettings(manifests)
	}
	s, err := sim.Load("lab-waiting-16")
	if err != nil {
		t.Fatal(err)
	}
	s.Seeds = 2
	report, err := sim.Compare(t.Context(), s, sim.Options{Chart: settings})
	if err != nil {
		t.Fatal(err)
	}
	s.Wanted = sim.Goal{P90: 600 * time.Millisecond}
	advice, err := sim.Recommend(t.Context(), s, sim.Search{Chart: settings, Defaults: c.Values})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"simulate":             saved(t, "report.html", report.Page),
		"simulate --recommend": saved(t, "advice.html", advice.Page),
	}
}

// TestPagesInABrowser: no message on the console, no request, every plot visible with its labels, and tables that can be
// read, on a screen and on a phone, without a page that scrolls to the side.
func TestPagesInABrowser(t *testing.T) {
	browser := started(t)
	pages := simulated(t)
	comparison, err := filepath.Abs("../../../docs/comparison.html")
	if err != nil {
		t.Fatal(err)
	}
	pages["docs/comparison.html"] = comparison
	for name, file := range pages {
		for _, fault := range faults(t, browser, file) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

// TestFaultsOfAPageAreFound shows that the checks find what they are for.
func TestFaultsOfAPageAreFound(t *testing.T) {
	file := saved(t, "faulty.html", func(out io.Writer) error {
		_, err := io.WriteString(out, `<!DOCTYPE html><html lang="en"><title>faulty</title>
<script>console.error("an error"); throw new Error("a fault")</script>
<img src="http://example.invalid/picture.png" alt="">
<svg aria-label="tiny" width="50" height="50"><text y="20">label</text></svg>
<svg aria-label="clipped" width="200" height="200"><text x="190" y="50">a long label</text></svg>
<table><tr><td style="white-space: nowrap; min-width: 1500px; font-size: 8px">wide</td></tr></table></html>`)
		return err
	})
	all := strings.Join(faults(t, started(t), file), "\n")
	for _, want := range []string{
		"1280 px: writes to the console: error", "1280 px: throws: ", "1280 px: requests http://example.invalid/picture.png",
		`1280 px: <svg> "tiny" has 50 by 50 px`, `1280 px: <text> "a long label" is clipped`, "1280 px: the page is 15",
		`400 px: <table> "wide" ends at 15`, `400 px: <td> "wide" has a font of 8px`, `400 px: <td> "wide" takes 15`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("not found: %s, in\n%s", want, all)
		}
	}
}
