-- The admission gate and the hold, run by Envoy's Lua filter (Lua 5.1, LuaJIT).
--
-- A guarded call passes while the load is at or below the threshold, and is refused above it. If the load is unknown,
-- config.unknown decides. With the hold enabled, a call that passes waits until a replica is ready.
--
-- The chart renders the table config before this file. Times are integers, in milliseconds.
--   methods          list of the guarded gRPC paths
--   status           gRPC code of a refusal
--   unknown          "open", "closed" or "last": what happens while the load is unknown, or if this script fails
--   probe_cluster    internal listener with this same filter, where calls start probes
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
--     share             maximum number of waiting calls of one connection
--
-- State is kept in gauges, which all workers share and Prometheus scrapes. They may be older than this script, and may
-- outlive it: after a change of the configuration, the workers load the new script one after the other.

local FAULT_LOG_MS = 60000
local UNAVAILABLE = 14
local HTTP_STATUS = { [UNAVAILABLE] = "503" } -- for callers that do not speak gRPC; 429 otherwise

local stats_exist, logged_ms = false, 0 -- per worker

local guarded = {}
for _, path in ipairs(config.methods) do
  guarded[path] = true
end

-- The outcome of a call, with a gRPC code and a message if it is refused.
local function judge(handle)
  local outcome = "allowed"
  if config.load then
    local message
    outcome, message = gate.judge(handle)
    if message then
      return outcome, config.status, message
    end
  end
  if config.hold then
    local failure, message = hold.wait(handle)
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
    return "fault_refused", config.status, "the admission gate failed, try again later"
  end
  local ok, outcome, message = pcall(gate.judge_last, handle)
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

-- Work that no client asks for, by path. The route marks the request, which no client can do.
local WORK = { ["/load"] = gate.refresh, ["/probe"] = hold.probe, ["/stop"] = hold.stop }

function envoy_on_request(handle)
  if not stats_exist then
    stats_exist = pcall(stats.touch, handle)
    math.randomseed(handle:timestamp())
  end
  local path = handle:headers():get(":path")
  local work = path and WORK[path]
  if work and handle:metadata():get("internal") == true then
    work(handle)
    handle:respond({ [":status"] = "200" }, "")
  end
  if not path or not guarded[path:match("^[^?]*")] then
    return
  end
  local ok, outcome, code, message = pcall(judge, handle)
  if not ok then
    outcome, code, message = judge_fault(handle, outcome)
  end
  pcall(stats.count, handle, "outcome." .. outcome)
  if message then
    refuse(handle, code, message)
  end
end
