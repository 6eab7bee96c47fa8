package sim

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/input"
	"github.com/fastmachinelearning/supersonic/internal/sim/fleet"
)

// A Scenario is a load, a fleet, and the policies that are to size it. Its keys
// in a file are those of docs/simulating.md.
type Scenario struct {
	Name string `yaml:"-"` // of the file, without its ending

	About    string         // what the scenario shows
	Duration time.Duration  // simulated time; a run ends before if all clients are done
	WarmUp   time.Duration  // before the load, while Prometheus scrapes an idle fleet; not counted
	Settle   time.Duration  // when the fleet should have settled; a quarter of the duration unless set
	Seeds    int            // runs of each policy, each with other random numbers
	Wanted   Goal           // what the least fixed fleet has to keep
	Values   map[string]any // of the chart, over its defaults
	Replicas int            // ready at the start
	Envoys   int            // Envoy pods
	Startup  time.Duration  // of a pod, from its GPU to its readiness
	// Schedulable is how many pods the cluster has room for; 0 means any number.
	Schedulable int
	Models      []Model
	Clients     []Clients
	Incidents   []Incident
	Policies    []Policy
}

// A Goal is a time within which answers have to come, once the fleet has settled.
type Goal struct {
	Inflation float64       // mean time of an answer over the time that it is executed
	P90       time.Duration // in place of Inflation
}

// A Model is what every replica serves.
type Model struct {
	Name         string
	Service      time.Duration // mean time to execute one request
	Distribution fleet.Distribution
	Variation    float64       // of lognormal times: deviation over mean
	Instances    int           // batches that a replica executes at once
	MaxBatch     int           // most requests in a batch
	MaxDelay     time.Duration // how long a request waits for its batch to fill
	Further      time.Duration // what each further request adds to the time of a batch
	Slowdown     float64       // what each other busy instance on the GPU adds to the time, as a share of it
	Steps        []string      // of an ensemble: the models that it calls, in order
	Decoupled    bool          // durations end when the back end takes the request over
}

// Clients are a group of clients that are alike.
type Clients struct {
	Name        string
	Count       int
	Think       time.Duration // mean, between an answer and the next call
	ThinkTimes  fleet.Distribution
	Requests    int           // of each client, after which it is done; 0 means without end
	Join        time.Duration // when they join
	JoinOver    time.Duration // the time over which they join
	Leave       time.Duration // when they leave; 0 means never
	Stay        time.Duration // mean, after which a client goes away for a while
	Away        time.Duration // mean
	Rate        float64       // of arrivals that wait for nobody, a second
	Burst       int           // requests that arrive at once
	Every       time.Duration // between arrivals, in place of a rate
	Trace       string        // file of recorded arrivals, in place of a rate
	Models      []Share       // that they call; all alike unless set
	Connections int           // that the group shares; 0 means one for each client
	Idle        int           // connections more, that never call
	Timeout     time.Duration // how long a client waits for an answer; 0 means for ever
	Retry       time.Duration // between a call that failed and the next

	arrivals []fleet.Arrival // of Trace
}

// A Share is how often a model is called.
type Share struct {
	Model  string
	Weight float64
}

// An Incident is something that goes wrong.
type Incident struct {
	At   time.Duration
	What string
	For  time.Duration
}

// A Policy is a way to size the fleet: values of the chart, or a fixed number.
type Policy struct {
	Name     string
	Values   map[string]any
	Replicas int // of a fixed fleet
}

//go:embed scenarios
var shipped embed.FS

const ending = ".yaml"

// Names are the shipped scenarios.
func Names() []string {
	files, err := fs.Glob(shipped, "scenarios/*"+ending)
	if err != nil {
		panic(err) // the pattern is wrong
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ending))
	}
	return names
}

// Load reads a scenario: a shipped one by its name, or a file.
func Load(name string) (*Scenario, error) {
	folder, err := fs.Sub(shipped, "scenarios")
	if err != nil {
		return nil, err
	}
	file := name + ending
	if !slices.Contains(Names(), name) {
		folder, file = os.DirFS(filepath.Dir(name)), filepath.Base(name)
	}
	f, err := folder.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file, and no shipped scenario", name)
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := input.All(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return read(strings.TrimSuffix(name, ending)+ending, text, folder)
}

// read reads a scenario from the text of a file. The error joins every fault,
// each with file and key.
func read(file string, text []byte, folder fs.FS) (*Scenario, error) {
	s := &Scenario{
		Name:     strings.TrimSuffix(filepath.Base(file), ending),
		Seeds:    3,
		Replicas: 1,
		Envoys:   1,
		Startup:  30 * time.Second,
		WarmUp:   2 * time.Minute,
	}
	if err := decode(file, text, s); err != nil {
		return nil, err
	}
	if err := s.complete(file); err != nil {
		return nil, err
	}
	return s, s.traces(folder)
}
