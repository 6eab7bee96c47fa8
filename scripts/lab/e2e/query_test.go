package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// query queries the release's own Prometheus, which must answer with one number.
func (f fleet) query(ctx context.Context, expr string) (float64, error) {
	address, err := f.Address(ctx, f.Name+"-prometheus-server", "http")
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+address+"/api/v1/query?query="+url.QueryEscape(expr), nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result []struct{ Value sample } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("%s: %s: %w", expr, resp.Status, err)
	}
	if answer.Error != "" || len(answer.Data.Result) != 1 {
		return 0, fmt.Errorf("%s: %d series, want 1 %s", expr, len(answer.Data.Result), answer.Error)
	}
	return float64(answer.Data.Result[0].Value), nil
}

// A sample is a number as Prometheus' API writes it: [time, "number"].
type sample float64

func (s *sample) UnmarshalJSON(data []byte) error {
	var pair [2]any
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	text, _ := pair[1].(string)
	number, err := strconv.ParseFloat(text, 64)
	*s = sample(number)
	return err
}

// promtool queries with the real promtool, as a person does.
func (f fleet) promtool(ctx context.Context, expr string) (float64, error) {
	address, err := f.Address(ctx, f.Name+"-prometheus-server", "http")
	if err != nil {
		return 0, err
	}
	out, err := lab.Promtool(ctx, "query", "instant", "-o", "json", "http://"+address, expr)
	if err != nil {
		return 0, err
	}
	var samples []struct{ Value sample }
	if err := json.Unmarshal([]byte(out), &samples); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", expr, err, out)
	}
	if len(samples) != 1 {
		return 0, fmt.Errorf("%s: %d series, want 1", expr, len(samples))
	}
	return float64(samples[0].Value), nil
}
