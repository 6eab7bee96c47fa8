-- The counters and gauges of the filter, which all workers share and Prometheus scrapes. A series exists once it has
-- been touched, and disappears with the last script that touched it. Therefore one script is never reloaded: it runs
-- on the clock and touches them all, so that they outlive a change of the gate.

local COUNTERS = {
  outcome = {
    "allowed", "refused", "unknown_allowed", "unknown_refused", "fault_allowed", "fault_refused", -- one per call
    "held", "hold_expired", "hold_full", "hold_stopped", -- held: started to wait
  },
  answer = {
    "load", "empty", "several", "not_finite", "malformed", "too_long", "error_status", "http_error", "no_credentials",
    "fault",
  },
}
local GAUGES = {
  "load_milli", "refuse_ppm", "load_micro", "at_ms", "asked_ms", "question", -- see envoy-filter-gate.lua
  "ready_ms", "probe_ms", "full_ms", "stopping_ms", "absent_ms", -- see envoy-filter-hold.lua
}

local stats = {}

function stats.count(handle, name)
  handle:stats():counter(name):inc()
end

function stats.get(handle, name)
  return handle:stats():gauge(name):value()
end

function stats.set(handle, name, value)
  handle:stats():gauge(name):set(value)
end

function stats.touch(handle)
  for label, values in pairs(COUNTERS) do
    for _, value in ipairs(values) do
      handle:stats():counter(label .. "." .. value):add(0)
    end
  end
  for _, name in ipairs(GAUGES) do
    stats.get(handle, name)
  end
end

return stats
