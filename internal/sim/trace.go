package sim

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/sim/fleet"
)

// maxArrivals is the maximum length of a trace.
const maxArrivals = 10_000_000

// traces reads the recorded arrivals of each group from files in the scenario's
// folder.
func (s *Scenario) traces(folder fs.FS) error {
	var errs []error
	for i := range s.Clients {
		c := &s.Clients[i]
		if c.Trace == "" {
			continue
		}
		text, err := fs.ReadFile(folder, c.Trace)
		if err == nil {
			c.arrivals, err = s.arrivals(text)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: clients[%d].trace: %w", c.Trace, i, err))
		}
	}
	return errors.Join(errs...)
}

// arrivals reads a CSV file with the columns seconds and, if there are several
// models, model. Each line is a request.
func (s *Scenario) arrivals(text []byte) ([]fleet.Arrival, error) {
	rows := csv.NewReader(bytes.NewReader(text))
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil || header[0] != "seconds" || len(header) > 2 || len(header) == 2 && header[1] != "model" {
		return nil, errors.New("the first line must be seconds, or seconds,model")
	}
	var all []fleet.Arrival
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		a, err := s.arrival(row)
		if err != nil {
			line, _ := rows.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if all = append(all, a); len(all) > maxArrivals {
			return nil, fmt.Errorf("must have at most %d requests", maxArrivals)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("must have at least one request")
	}
	slices.SortStableFunc(all, func(a, b fleet.Arrival) int { return int(a.At - b.At) })
	return all, nil
}

func (s *Scenario) arrival(row []string) (fleet.Arrival, error) {
	at, err := strconv.ParseFloat(row[0], 64)
	if err != nil || !(at >= 0 && at <= maxDuration.Seconds()) {
		return fleet.Arrival{}, fmt.Errorf("seconds must be from 0 to %g, got %q", maxDuration.Seconds(), row[0])
	}
	model := 0
	if len(row) == 2 {
		if model = s.index(row[1]); model < 0 {
			return fleet.Arrival{}, fmt.Errorf("model must be one of the models, got %q", row[1])
		}
	} else if len(s.Models) > 1 {
		return fleet.Arrival{}, errors.New("must name a model, since there are several")
	}
	return fleet.Arrival{At: time.Duration(at * float64(time.Second)), Model: model}, nil
}
