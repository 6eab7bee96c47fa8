-- The admission gate and the hold, run by Envoy's Lua filter (Lua 5.1, LuaJIT).
--
-- A guarded call passes while the load is at or below the threshold, and is refused above it. If the load is unknown,
-- config.unknown decides. With the hold enabled, a call that passes waits until a replica is ready.
--
-- The chart renders the table config before this file. Times are integers, in milliseconds.
--   methods          list of the guarded gRPC paths
--   status           gRPC code of a refusal
--   unknown          "open", "closed" or "last": what happens while the load is unknown, or if this script fails
--   refresh_cluster  internal listener with this same filter, which does the work that callers start
--   wait_cluster     internal listener that answers after a delay; its circuit breaker limits the waiting calls
--   spare_cluster    the same listener, for waiting calls that have lost their place to a new one
--   load             nil if the gate is disabled
--     threshold         the load above which calls are refused
--     ramp              distance above the threshold over which the probability of refusal rises from 0 to 1
--     cache_ms          minimum time between two queries
--     timeout_ms        timeout of a query
--     last_known_ms     unknown = "last": maximum age of the last known load
--     max_answer_bytes  maximum size of an answer
--     cluster, authority, path, query          address of Prometheus (path: of the query API), and the PromQL
--     headers                                  list of {name, value}, sent with every query
--     bearer_file, username_file, password_file  credentials, read for every query
--   hold             nil if the hold is disabled
--     cluster           the Triton cluster; a probe that finds no replica wakes the fleet
--     poll_ms           time between two probes; a held call checks a third as often
--     max_ms            maximum wait of a call
--
-- State is kept in gauges, which all workers share and Prometheus scrapes. They may be older than this script, and may
-- outlive it: after a change of the configuration, the workers load the new script one after the other.

local OUTCOMES = {
  "allowed", "refused", "unknown_allowed", "unknown_refused", "fault_allowed", "fault_refused", -- one per call
  "held", "hold_expired", "hold_full", "hold_stopped", -- held: started to wait
}
local GAUGES = {
  "load_milli", "refuse_ppm", "at_ms", "failed_ms", "asked_id", "asking_id", "lease_ms", -- see envoy-filter-load.lua
  "ready_ms", -- until when a replica counts as ready
  "probe_ms", -- the lease of a probe
  "full_ms", -- until when no further call may wait
  "stopping", -- 1 while this Envoy is shutting down
}
local PROBE_PATH, STOP_PATH = "/probe", "/stop"
local PROBE_TIMEOUT_MS = 1000
local FAULT_LOG_MS = 60000
local UNAVAILABLE = 14
local HTTP_STATUS = { [UNAVAILABLE] = "503" } -- for callers that do not speak gRPC; 429 otherwise

local hold = config.hold
local look_ms = hold and 3 * hold.poll_ms -- checking is what a held call costs
local ready_for_ms = hold and 4 * hold.poll_ms -- longer than look_ms, or a call could miss a ready replica
local stats_exist, logged_ms = false, 0 -- per worker

local guarded = {}
for _, path in ipairs(config.methods) do
  guarded[path] = true
end

-- A series exists once it has been touched. A gauge from an earlier script disappears with it, unless this one has
-- touched it too.
local function touch_stats(handle)
  for _, name in ipairs(OUTCOMES) do
    handle:stats():counter("outcome." .. name):add(0)
  end
  for _, name in ipairs(ANSWERS) do
    handle:stats():counter("answer." .. name):add(0)
  end
  for _, name in ipairs(GAUGES) do
    get(handle, name)
  end
  math.randomseed(handle:timestamp())
  stats_exist = true
end

-- Probes the health of the replicas. Runs in the internal listener.
local function probe_servers(handle)
  local headers = {
    [":method"] = "POST",
    [":path"] = "/inference.GRPCInferenceService/ServerReady",
    [":authority"] = hold.cluster,
    ["te"] = "trailers",
    ["content-type"] = "application/grpc",
  }
  local options = { timeout_ms = PROBE_TIMEOUT_MS, send_xff = false, trace_sampled = false }
  local answer, body = handle:httpCall(hold.cluster, headers, "\0\0\0\0\0", options) -- an empty message
  local serving = answer[":status"] == "200" and body and body:sub(6, 7) == "\8\1" -- ready: true
  local now = handle:timestamp()
  if serving then
    set(handle, "ready_ms", now + ready_for_ms)
  end
  set(handle, "probe_ms", now + hold.poll_ms)
  return serving and "serving" or "not serving"
end

-- Whether a replica is ready, and whether this call has started a probe. Probes ahead of time, so that calls in a row
-- never wait for it.
local function look_at_servers(handle)
  local left = get(handle, "ready_ms") - handle:timestamp()
  local ready = left > 0 and left <= ready_for_ms
  if not ready or left <= ready_for_ms - hold.poll_ms then
    local longest = PROBE_TIMEOUT_MS + SLACK_MS + hold.poll_ms
    if take_lease(handle, "probe_ms", PROBE_TIMEOUT_MS + SLACK_MS, longest) then
      start(handle, PROBE_PATH, PROBE_TIMEOUT_MS + SLACK_MS)
      return ready, true
    end
  end
  return ready, false
end

-- Waits for a replica; returns the outcome and the message of a call that found none.
local function wait_for_replica(handle)
  if look_at_servers(handle) then
    return nil
  end
  count(handle, "outcome.held")
  local began = handle:timestamp()
  local function look()
    local ready, started = look_at_servers(handle)
    -- A new call may be the first to probe, and waits for the result.
    if not ready and get(handle, "stopping") == 1 and handle:timestamp() - began >= look_ms then
      return "stopping"
    end
    return ready, started
  end
  local seen = await(handle, look, began + hold.max_ms, look_ms)
  if seen == "expired" then
    return "hold_expired", string.format("no replica became ready within %s s", short(hold.max_ms / 1000))
  elseif seen == "full" then
    return "hold_full", "no replica is ready, and too many calls are waiting"
  elseif seen == "stopping" then
    return "hold_stopped", "no replica is ready, and this Envoy is shutting down; try again"
  end
  return nil
end

-- The outcome of a call, with a gRPC code and a message if it is refused.
local function judge(handle)
  local outcome = "allowed"
  if config.load then
    local message
    outcome, message = judge_load(handle)
    if message then
      return outcome, config.status, message
    end
  end
  if hold then
    local failure, message = wait_for_replica(handle)
    if failure then
      return failure, UNAVAILABLE, message
    end
  end
  return outcome
end

-- The same after this script has failed, which is treated like an unknown load.
local function judge_fault(handle, fault)
  local now = handle:timestamp()
  if math.abs(now - logged_ms) >= FAULT_LOG_MS then
    logged_ms = now
    handle:logErr("gate: " .. tostring(fault))
  end
  if config.unknown == "closed" then
    return "fault_refused", config.status, "the admission gate has a fault"
  end
  local ok, outcome, message = pcall(function()
    if last_counts(handle) then
      return judge_last(handle)
    end
  end)
  if ok and outcome == "refused" then
    return "fault_refused", config.status, message
  end
  return "fault_allowed"
end

-- For gRPC calls, Envoy turns this into trailers, with the body as the message.
local function refuse(handle, code, message)
  local content_type = handle:headers():get("content-type") or ""
  if content_type == "application/grpc" or content_type:find("^application/grpc[+;]") then
    handle:respond({ [":status"] = "200", ["grpc-status"] = string.format("%d", code) }, message)
  end
  handle:respond({ [":status"] = HTTP_STATUS[code] or "429", ["content-type"] = "text/plain" }, message .. "\n")
end

-- Work that callers start in the internal listener, by path.
local INTERNAL = {
  [LOAD_PATH] = refresh_load,
  [PROBE_PATH] = probe_servers,
  [STOP_PATH] = function(handle)
    set(handle, "stopping", 1)
    return "stopping"
  end,
}

-- Whether the request came through the internal listener: its route marks it, which no client can do.
local function is_internal(handle)
  return handle:metadata():get("internal") == true
end

function envoy_on_request(handle)
  if not stats_exist then
    pcall(touch_stats, handle)
  end
  local path = handle:headers():get(":path")
  local work = path and INTERNAL[path]
  if work and is_internal(handle) then
    handle:respond({ [":status"] = "200" }, work(handle))
  end
  if not path or not guarded[path:match("^[^?]*")] then
    return
  end
  local ok, outcome, code, message = pcall(judge, handle)
  if not ok then
    outcome, code, message = judge_fault(handle, outcome)
  end
  pcall(count, handle, "outcome." .. outcome)
  if message then
    refuse(handle, code, message)
  end
end
