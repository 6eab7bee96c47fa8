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
-- What is known lives in gauges, which all workers share and Prometheus sees: load_milli, refuse_ppm (probability of
-- refusal), at_ms (when the load was read), failed_ms (when a query last failed), asked_id (what was asked, as a
-- number), ready_ms (until when servers count as ready), full_ms (until when no further call may wait), stopping (1
-- once this Envoy is about to stop). They outlive a change of the configuration. A caller waits for the load, for at
-- most timeout_ms, only when it is older than two queries' time, or answers another question, and no query failed
-- since.

local OUTCOMES = {
  "allowed", "refused", "unknown_allowed", "unknown_refused", "fault_allowed", "fault_refused", -- one for each call
  "held", "hold_expired", "hold_full", "hold_stopped", -- held: began to wait
}
local LOAD_PATH, PROBE_PATH, STOP_PATH = "/load", "/probe", "/stop"
local SLACK_MS = 200 -- what a lease adds to the timeout of its work
local PROBE_TIMEOUT_MS = 1000
local FAULT_LOG_MS = 60000
local CERTAIN = 1000000 -- refuse_ppm
local LARGEST = 2 ^ 53
local UNAVAILABLE = 14
local HTTP_STATUS = { [UNAVAILABLE] = "503" } -- for callers that do not speak gRPC; 429 otherwise

local load, hold = config.load, config.hold
local usable_ms = load and 2 * (load.cache_ms + load.timeout_ms)
local look_ms = hold and 3 * hold.poll_ms -- what a call costs while it waits is its looks
local ready_for_ms = hold and 4 * hold.poll_ms -- longer than look_ms, or a call could miss that servers are ready
local counters_exist, logged_ms, first_ms = false, 0, nil -- for each worker; first_ms: the first look at the load

local guarded = {}
for _, path in ipairs(config.methods) do
  guarded[path] = true
end

-- A series exists once it was touched.
local function export_counters(handle)
  for _, name in ipairs(OUTCOMES) do
    handle:stats():counter("outcome." .. name):add(0)
  end
  for _, name in ipairs(ANSWERS) do
    handle:stats():counter("answer." .. name):add(0)
  end
  math.randomseed(handle:timestamp())
  counters_exist = true
end

local function refusal_ppm(value)
  local above = value - load.threshold
  if above <= 0 then
    return 0
  elseif load.ramp <= 0 or above >= load.ramp then
    return CERTAIN
  end
  return math.floor(CERTAIN * above / load.ramp)
end

-- Reads the load into the gauges. Runs in the internal listener.
local function refresh_load(handle)
  local started = handle:timestamp()
  local ok, kind, value = pcall(ask_prometheus, handle, load)
  if not ok then
    kind = "fault"
  end
  count(handle, "answer." .. kind)
  local now, last = handle:timestamp(), get(handle, "at_ms")
  if last > started and last <= now then
    return kind -- of a question that was changed meanwhile, and the new one was quicker
  end
  if kind == "load" then
    set(handle, "refuse_ppm", refusal_ppm(value))
    set(handle, "load_milli", math.min(math.ceil(value * 1000 - 1e-6), LARGEST))
    set(handle, "at_ms", started)
  else
    if get(handle, "asked_id") ~= our_id then
      set(handle, "at_ms", 0)
    end
    set(handle, "failed_ms", now)
  end
  set(handle, "asked_id", our_id)
  set(handle, "lease_ms", started + load.cache_ms)
  return kind
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

-- Time since at_ms or failed_ms; endless where that stems from before this script, which asks something else.
local function age_of(handle, name)
  local time = get(handle, name)
  if time < first_ms and get(handle, "asked_id") ~= our_id then
    return math.huge
  end
  return handle:timestamp() - time
end

-- "known" or "unknown", or nil while it will soon be one of them.
local function look_at_load(handle)
  if not first_ms then
    first_ms = handle:timestamp()
    local asked = get(handle, "asked_id")
    if asked ~= our_id and asked ~= 0 then
      set(handle, "lease_ms", 0) -- it only kept the time between two queries of the other question
    end
  end
  local age = age_of(handle, "at_ms")
  local longest = load.cache_ms + load.timeout_ms + SLACK_MS
  if (age > load.cache_ms or age < -longest) and
      take_lease(handle, "lease_ms", load.timeout_ms + SLACK_MS, longest) then
    start(handle, LOAD_PATH, load.timeout_ms + SLACK_MS)
  end
  if math.abs(age) <= usable_ms then
    return "known"
  elseif math.abs(age_of(handle, "failed_ms")) <= usable_ms then
    return "unknown"
  end
  return nil
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

local function short(number)
  return (string.format("%.3f", number):gsub("0+$", ""):gsub("%.$", ""))
end

-- The outcome of a call, and what to tell its client if it is refused.
local function judge_load(handle)
  local seen = await(handle, look_at_load, handle:timestamp() + load.timeout_ms + SLACK_MS, load.timeout_ms)
  if seen ~= "known" and not (config.unknown == "last" and age_of(handle, "at_ms") <= load.last_known_ms) then
    if config.unknown == "closed" then
      return "unknown_refused", "the server load is unknown, try again later"
    end
    return "unknown_allowed"
  end
  local ppm = get(handle, "refuse_ppm")
  if ppm == 0 or math.random() * CERTAIN >= ppm then
    return "allowed"
  end
  local value, threshold = short(get(handle, "load_milli") / 1000), short(load.threshold)
  return "refused", string.format("server load %s is above %s, try again later", value, threshold)
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
  if load then
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

local function log_fault(handle, fault)
  local now = handle:timestamp()
  if math.abs(now - logged_ms) >= FAULT_LOG_MS then
    logged_ms = now
    handle:logErr("gate: " .. tostring(fault))
  end
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
  if not counters_exist then
    export_counters(handle)
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
    log_fault(handle, outcome)
    outcome = "fault_allowed"
    if config.unknown == "closed" then
      outcome, code, message = "fault_refused", config.status, "the admission gate has a fault"
    end
  end
  count(handle, "outcome." .. outcome)
  if message then
    refuse(handle, code, message)
  end
end
