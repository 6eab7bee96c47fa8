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

// A Scenario is a load, a fleet, and the policies to compare. docs/simulating.md
// documents the keys of its file.
type Scenario struct {
	Name string `yaml:"-"` // of the file, without its ending

	About    string         // what the scenario shows
	Duration time.Duration  // simulated time; a run ends earlier if all clients finish
	WarmUp   time.Duration  // before the load, while Prometheus scrapes an idle fleet; not counted
	Settle   time.Duration  // when the fleet should have settled; a quarter of the duration unless set
	Seeds    int            // runs of each policy, each with other random numbers
	Wanted   Goal           // what the least fixed fleet must meet
	Values   map[string]any // of the chart, over its defaults
	Replicas int            // ready at the start
	Envoys   int            // Envoy pods
	Startup  time.Duration  // of a pod, from scheduling to readiness
	// Schedulable is how many pods the cluster has room for; 0 means any number.
	Schedulable int
	Models      []Model
	Clients     []Clients
	Incidents   []Incident
	Policies    []Policy
}

// A Goal is a limit of response times once the fleet has settled.
type Goal struct {
	Inflation float64       // mean response time over mean service time
	P90       time.Duration // in place of Inflation
}

// A Model is what every replica serves.
type Model struct {
	Name         string
	Service      time.Duration // mean time to execute one request
	Distribution fleet.Distribution
	Variation    float64       // of lognormal times: deviation over mean
	Instances    int           // batches that a replica executes at once
	MaxBatch     int           // maximum requests in a batch
	MaxDelay     time.Duration // how long a request waits for its batch to fill
	Further      time.Duration // added to the time of a batch by each further request
	Slowdown     float64       // relative increase of the time for each other busy instance on the GPU
	Steps        []string      // of an ensemble: the models that it calls, in order
	Decoupled    bool          // durations end when the backend accepts the request
}

// Clients is a group of identical clients.
type Clients struct {
	Name        string
	Count       int
	Think       time.Duration // mean, between an answer and the next call
	ThinkTimes  fleet.Distribution
	Requests    int           // of each client, after which it finishes; 0 means unlimited
	Join        time.Duration // when they join
	JoinOver    time.Duration // the time over which they join
	Leave       time.Duration // when they leave; 0 means never
	Stay        time.Duration // mean time that a client stays connected
	Away        time.Duration // mean time that it is away before it returns
	Rate        float64       // of independent arrivals, per second
	Burst       int           // requests that arrive at once
	Every       time.Duration // between arrivals, in place of a rate
	Trace       string        // file of recorded arrivals, in place of a rate
	Models      []Share       // models that they call; by default all, equally often
	Connections int           // that the group shares; 0 means one for each client
	Idle        int           // further connections, without calls
	Timeout     time.Duration // of a call; 0 means none
	Retry       time.Duration // between a failed call and the next

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

// A Policy sizes the fleet by values of the chart, or to a fixed number of replicas.
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

// read reads a scenario from the text of a file. The error lists every invalid
// value by file and key.
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
