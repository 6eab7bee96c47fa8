package filter

import (
	"encoding/base64"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// Internal listeners of the gate, as the filter calls them.
const (
	probeCluster = "gate_probe"
	waitCluster  = "gate_wait"
	spareCluster = "gate_wait_spare"
)

var errResponded = errors.New("responded")

var exponent = regexp.MustCompile(`^[+-]?\d+[eE][+-]?\d+$`)

// Header holds the headers of a call or an answer.
type Header map[string]string

// HTTPCall answers a call of the filter.
type HTTPCall func(cluster string, header Header, body string) (Header, string)

// Filter is a filter with the state that Envoy keeps for it. Calls that the filter does not wait for run at its next
// pause, or when it has finished.
type Filter struct {
	NowMS    float64            // the clock
	Gauges   map[string]float64 // shared by all workers
	Counters map[string]float64
	Errors   []string // errors that the filter logged
	Upstream HTTPCall // Prometheus and Triton
	WaitFull bool     // the cluster of waiting calls is full
	Address  string   // the client's address

	lua      *lua.LState
	internal bool
	detached []Header
}

// Response is the filter's own answer to a call. It is nil if the call passed.
type Response struct {
	Header Header
	Body   string
}

// New loads a filter. The clock is at a time in 2025, and all calls of the filter fail.
func New(t testing.TB, source string) *Filter {
	t.Helper()
	f := &Filter{
		NowMS:  1735689600000,
		Gauges: map[string]float64{}, Counters: map[string]float64{},
		Upstream: func(string, Header, string) (Header, string) { return Header{":status": "503"}, "" },
		lua:      lua.NewState(),
	}
	t.Cleanup(f.lua.Close)
	f.mendToNumber()
	if err := f.lua.DoString(source); err != nil {
		t.Fatalf("the filter does not load: %v", err)
	}
	return f
}

// mendToNumber makes the interpreter's tonumber accept numbers such as 1e-05, with an exponent and no point.
func (f *Filter) mendToNumber() {
	original := f.lua.GetGlobal("tonumber")
	f.lua.SetGlobal("tonumber", f.lua.NewFunction(func(l *lua.LState) int {
		if text, ok := l.Get(1).(lua.LString); ok && l.GetTop() == 1 && exponent.MatchString(string(text)) {
			number, _ := strconv.ParseFloat(string(text), 64) // infinite if out of range, as in Lua
			l.Push(lua.LNumber(number))
			return 1
		}
		l.Insert(original, 1)
		l.Call(l.GetTop()-1, 1)
		return 1
	}))
}

// SetRandom makes math.random return the value.
func (f *Filter) SetRandom(value float64) {
	random := f.lua.NewFunction(func(l *lua.LState) int { l.Push(lua.LNumber(value)); return 1 })
	f.lua.SetField(f.lua.GetGlobal("math"), "random", random)
}

// Call runs the filter for a call with these headers.
func (f *Filter) Call(header Header) (*Response, error) {
	response, err := f.run(header, false)
	f.runDetached()
	return response, err
}

// RepositoryIndex runs the filter for an index call.
func (f *Filter) RepositoryIndex() (*Response, error) {
	return f.Call(Header{
		":method": "POST", ":path": "/inference.GRPCInferenceService/RepositoryIndex", "content-type": "application/grpc",
	})
}

// Tick runs the filter as Envoy's clock does.
func (f *Filter) Tick(t testing.TB) {
	t.Helper()
	response, err := f.run(Header{":method": "GET", ":path": "/load"}, true)
	if err != nil || response == nil || response.Header[":status"] != "200" {
		t.Fatalf("the clock gets %v, %v", response, err)
	}
}

func (f *Filter) run(header Header, internal bool) (*Response, error) {
	outer := f.internal
	f.internal = internal
	defer func() { f.internal = outer }()
	var response *Response
	handle := f.handle(header, &response)
	call := lua.P{Fn: f.lua.GetGlobal("envoy_on_request"), Protect: true}
	err := f.lua.CallByParam(call, handle)
	if response != nil {
		err = nil
	}
	return response, err
}

func (f *Filter) runDetached() {
	work := f.detached
	f.detached = nil
	for _, header := range work {
		_, _ = f.run(header, true)
	}
}

func (f *Filter) handle(header Header, response **Response) *lua.LTable {
	internal := lua.LBool(f.internal)
	return f.object(map[string]lua.LGFunction{
		"headers":   f.method(func(*lua.LState) lua.LValue { return f.getter(header) }),
		"metadata":  f.method(func(*lua.LState) lua.LValue { return f.values(map[string]lua.LValue{"internal": internal}) }),
		"timestamp": f.method(func(*lua.LState) lua.LValue { return lua.LNumber(f.NowMS) }),
		"stats":     f.method(func(*lua.LState) lua.LValue { return f.stats() }),
		"streamInfo": f.method(func(*lua.LState) lua.LValue {
			address := f.method(func(*lua.LState) lua.LValue { return lua.LString(f.Address) })
			return f.object(map[string]lua.LGFunction{"downstreamDirectRemoteAddress": address})
		}),
		"base64Escape": f.method(func(l *lua.LState) lua.LValue {
			return lua.LString(base64.StdEncoding.EncodeToString([]byte(l.CheckString(2))))
		}),
		"logErr":   func(l *lua.LState) int { f.Errors = append(f.Errors, l.CheckString(2)); return 0 },
		"httpCall": f.httpCall,
		"respond": func(l *lua.LState) int {
			*response = &Response{tableHeader(l.CheckTable(2)), l.OptString(3, "")}
			l.RaiseError("%s", errResponded)
			return 0
		},
	})
}

func (f *Filter) httpCall(l *lua.LState) int {
	cluster, header, body := l.CheckString(2), tableHeader(l.CheckTable(3)), l.OptString(4, "")
	answer, text := Header{":status": "200"}, ""
	switch {
	case lua.LVAsBool(l.GetField(l.CheckTable(5), "asynchronous")):
		f.detached = append(f.detached, header)
		return 0
	case cluster == waitCluster && f.WaitFull:
		answer = Header{":status": "503"}
	case cluster == waitCluster || cluster == spareCluster:
		f.NowMS += float64(lua.LVAsNumber(lua.LString(header["x-envoy-fault-delay-request"])))
		f.runDetached()
	case cluster == probeCluster:
		l.RaiseError("a caller waits for the probe")
	default:
		answer, text = f.Upstream(cluster, header, body)
	}
	l.Push(f.values(stringValues(answer)))
	if text == "" {
		l.Push(lua.LNil)
	} else {
		l.Push(lua.LString(text))
	}
	return 2
}

func (f *Filter) stats() lua.LValue {
	return f.object(map[string]lua.LGFunction{
		"gauge": f.method(func(l *lua.LState) lua.LValue {
			name := l.CheckString(2)
			f.Gauges[name] += 0 // exists from now on
			return f.object(map[string]lua.LGFunction{
				"value": f.method(func(*lua.LState) lua.LValue { return lua.LNumber(f.Gauges[name]) }),
				"set": func(l *lua.LState) int {
					value := l.CheckNumber(2)
					if value < 0 {
						l.RaiseError("a gauge can't be negative")
					}
					f.Gauges[name] = float64(int64(value))
					return 0
				},
			})
		}),
		"counter": f.method(func(l *lua.LState) lua.LValue {
			name := l.CheckString(2)
			return f.object(map[string]lua.LGFunction{
				"inc": func(*lua.LState) int { f.Counters[name]++; return 0 },
				"add": func(l *lua.LState) int { f.Counters[name] += float64(l.CheckNumber(2)); return 0 },
			})
		}),
	})
}

func (f *Filter) method(result func(*lua.LState) lua.LValue) lua.LGFunction {
	return func(l *lua.LState) int { l.Push(result(l)); return 1 }
}

func (f *Filter) object(methods map[string]lua.LGFunction) *lua.LTable {
	return f.lua.SetFuncs(f.lua.NewTable(), methods)
}

func (f *Filter) getter(header Header) lua.LValue { return f.values(stringValues(header)) }

// values returns a table with access by index, as the headers of an answer, and by get, as those of a call.
func (f *Filter) values(fields map[string]lua.LValue) lua.LValue {
	table := f.lua.NewTable()
	for name, value := range fields {
		table.RawSetString(name, value)
	}
	table.RawSetString("get", f.lua.NewFunction(f.method(func(l *lua.LState) lua.LValue {
		if value, ok := fields[l.CheckString(2)]; ok {
			return value
		}
		return lua.LNil
	})))
	return table
}

func stringValues(header Header) map[string]lua.LValue {
	fields := map[string]lua.LValue{}
	for name, value := range header {
		fields[name] = lua.LString(value)
	}
	return fields
}

func tableHeader(table *lua.LTable) Header {
	header := Header{}
	table.ForEach(func(name, value lua.LValue) { header[name.String()] = value.String() })
	return header
}

// Counted returns the names of the counters that are not 0, sorted.
func (f *Filter) Counted() []string {
	counted := map[string]float64{}
	for name, value := range f.Counters {
		if value != 0 {
			counted[name] = value
		}
	}
	return slices.Sorted(maps.Keys(counted))
}
