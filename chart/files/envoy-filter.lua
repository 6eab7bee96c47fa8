-- The admission gate and the hold, run by Envoy's Lua filter (Lua 5.1, LuaJIT).
--
-- A guarded call passes while the load is at or below the threshold, is refused above it, and follows config.unknown
-- when the load is not known. With the hold on, a call that passes waits until a server is ready.
--
-- The chart renders one table in front of this file. Times are whole milliseconds.
--   methods          list of the guarded gRPC paths
--   status           gRPC code of a refusal
--   unknown          "open", "closed" or "last": what an unknown load means; a fault of this script follows it too
--   refresh_cluster  internal listener that runs this same filter, where the work that callers start is done
--   wait_cluster     internal listener that answers after a delay; its circuit breaker limits the calls that wait
--   spare_cluster    the same listener again, for calls that have waited already and lost their place to a new one
--   load             nil when calls are not gated by load
--     threshold         the load above which calls are refused
--     ramp              0, or how far above the threshold the probability of refusal rises from 0 to 1
--     cache_ms          least time between two queries
--     timeout_ms        longest time for a query
--     last_known_ms     unknown = "last": age up to which the last known load still counts
--     max_answer_bytes  longest answer that is read
--     cluster, authority, path, query          where Prometheus is (path: of the query API), and the PromQL
--     headers                                  list of {name, value} that every query carries
--     bearer_file, username_file, password_file  credentials, read again for every query
--   hold             nil when calls are not held
--     cluster           the servers; a probe that finds none is what wakes the fleet
--     poll_ms           time between two probes; a call that waits looks a third as often
--     max_ms            longest time that a call waits
--
-- What is known lives in gauges, which all workers share and Prometheus sees. They may outlive this script, and may be
-- older than it: a change of the configuration brings new scripts, one after the other.

local OUTCOMES = {
  "allowed", "refused", "unknown_allowed", "unknown_refused", "fault_allowed", "fault_refused", -- one for each call
  "held", "hold_expired", "hold_full", "hold_stopped", -- held: began to wait
}
local GAUGES = {
  "load_milli", "refuse_ppm", "at_ms", "failed_ms", "asked_id", "asking_id", "lease_ms", -- see envoy-filter-load.lua
  "ready_ms", -- until when servers count as ready
  "probe_ms", -- the lease of a probe
  "full_ms", -- until when no further call may wait
  "stopping", -- 1 once this Envoy is about to stop
}
local PROBE_PATH, STOP_PATH = "/probe", "/stop"
local PROBE_TIMEOUT_MS = 1000
local FAULT_LOG_MS = 60000
local UNAVAILABLE = 14
local HTTP_STATUS = { [UNAVAILABLE] = "503" } -- for callers that do not speak gRPC; 429 otherwise

local hold = config.hold
local look_ms = hold and 3 * hold.poll_ms -- what a call costs while it waits is its looks
local ready_for_ms = hold and 4 * hold.poll_ms -- longer than look_ms, or a call could miss that servers are ready
local stats_exist, logged_ms = false, 0 -- for each worker

local guarded = {}
for _, path in ipairs(config.methods) do
  guarded[path] = true
end

-- A series exists once it was touched, and a gauge of a script before this one lasts as long as that unless this one
-- has touched it.
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

-- Asks the servers for their health. Runs in the internal listener.
local function probe_servers(handle)
  local headers = {
    [":method"] = "POST",
    [":path"] = "/grpc.health.v1.Health/Check",
    [":authority"] = hold.cluster,
    ["te"] = "trailers",
    ["content-type"] = "application/grpc",
  }
  local options = { timeout_ms = PROBE_TIMEOUT_MS, send_xff = false, trace_sampled = false }
  local answer, body = handle:httpCall(hold.cluster, headers, "\0\0\0\0\0", options) -- an empty message
  local serving = answer[":status"] == "200" and body and body:sub(6, 7) == "\8\1" -- status: SERVING
  local now = handle:timestamp()
  if serving then
    set(handle, "ready_ms", now + ready_for_ms)
  end
  set(handle, "probe_ms", now + hold.poll_ms)
  return serving and "serving" or "not serving"
end

-- Whether servers are ready, and whether this call has started a probe. Probes ahead of time, so that calls in a row
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

-- Waits for a server; the outcome and the message of a call that found none.
local function wait_for_server(handle)
  if look_at_servers(handle) then
    return nil
  end
  count(handle, "outcome.held")
  local began = handle:timestamp()
  local function look()
    local ready, started = look_at_servers(handle)
    -- A call that has just come may be the first to ask, and waits for the answer.
    if not ready and get(handle, "stopping") == 1 and handle:timestamp() - began >= look_ms then
      return "stopping"
    end
    return ready, started
  end
  local seen = await(handle, look, began + hold.max_ms, look_ms)
  if seen == "expired" then
    return "hold_expired", string.format("no server became ready within %s s", short(hold.max_ms / 1000))
  elseif seen == "full" then
    return "hold_full", "no server is ready and too many calls wait for one"
  elseif seen == "stopping" then
    return "hold_stopped", "no server is ready and this proxy is about to stop, call again"
  end
  return nil
end

-- The outcome of a call; with a gRPC code and a message if it is refused.
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
    local failure, message = wait_for_server(handle)
    if failure then
      return failure, UNAVAILABLE, message
    end
  end
  return outcome
end

-- The same after a fault of this script, which is treated like an unknown load.
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

-- Envoy makes trailers of this for gRPC calls, with the body as the message.
local function refuse(handle, code, message)
  local content_type = handle:headers():get("content-type") or ""
  if content_type == "application/grpc" or content_type:find("^application/grpc[+;]") then
    handle:respond({ [":status"] = "200", ["grpc-status"] = string.format("%d", code) }, message)
  end
  handle:respond({ [":status"] = HTTP_STATUS[code] or "429", ["content-type"] = "text/plain" }, message .. "\n")
end

-- Work that others start in the internal listener, by path.
local INTERNAL = {
  [LOAD_PATH] = refresh_load,
  [PROBE_PATH] = probe_servers,
  [STOP_PATH] = function(handle)
    set(handle, "stopping", 1)
    return "stopping"
  end,
}

-- Whether the request came through the internal listener: its route says so, and no client can.
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
