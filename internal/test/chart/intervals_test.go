package chart_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// The rate interval is compared with the scrape interval of whichever Prometheus scrapes, and Grafana uses it too.
func TestScrapeInterval(t *testing.T) {
	shown := regexp.MustCompile(`timeInterval: "?(\w+)`)
	const external = "external: {enabled: true, url: metrics.example.org%s}, podMonitors: {enabled: true, labels: {a: b}%s}, " +
		"server: {global: {scrape_interval: 5s, evaluation_interval: 7s}}"
	for _, c := range []struct {
		name, prometheus string
		seconds          int
	}{
		{"embedded", "enabled: true, server: {global: {scrape_interval: 10s, evaluation_interval: 30s}}", 10},
		{"embedded-records-more-often", "enabled: true, server: {global: {scrape_interval: 30s, evaluation_interval: 10s}}", 30},
		{"external", fmt.Sprintf(external, ", scrapeInterval: 20s", ""), 20},
		{"monitors", fmt.Sprintf(external, "", ", interval: 15s"), 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			values := func(window int) map[string]any {
				return manifest.Values(t, fmt.Sprintf("keda: {enabled: true}\ngrafana: {enabled: true}\nprometheus: {%s}\n"+
					"serverLoadRateInterval: %ds", c.prometheus, window))
			}
			four := 4 * c.seconds
			for window, warned := range map[int]bool{four: false, four - 1: true} {
				warnings, err := render.Warnings(manifest.Chart(t), values(window), manifest.Options)
				if got := warnings.Has("serverLoadRateInterval"); err != nil || got != warned {
					t.Errorf("a window of %d s is warned of: %t, %v", window, got, err)
				}
			}
			m, err := render.Chart(manifest.Chart(t), values(four), manifest.Options)
			if err != nil {
				t.Fatal(err)
			}
			all := ""
			for path, text := range m {
				if strings.HasPrefix(path, "grafana/") {
					all += text
				}
			}
			got := shown.FindAllStringSubmatch(all, -1)
			if len(got) == 0 || got[0][1] != (time.Duration(c.seconds)*time.Second).String() {
				t.Errorf("Grafana takes the interval for %q, want %d s", got, c.seconds)
			}
		})
	}
}
