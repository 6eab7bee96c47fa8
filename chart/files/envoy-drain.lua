-- Drains this Envoy before its pod is stopped. Envoy's Lua filter (Lua 5.1, LuaJIT) runs it for one GET.
--
-- While its health check fails, Envoy sends a GOAWAY to each client with the next response; calls continue. The answer
-- is sent once no call has been in progress for a second, after config.least_ms at the earliest and config.most_ms at
-- the latest. Listeners stay open, because clients may reach this pod until every node knows that it is going away.
-- Held calls (config.hold) get their answer shortly before the end, so that none is cut off.
--
-- Any pod that reaches the port can start a drain, and leave at any time. If no stop follows, everything ends by
-- itself: the health check passes again, and calls are held.

local ADMIN, CLOCK = "supersonic_admin", "drain_clock"
local OURS = { stats = true, drain = true, drain_clock = true, admin = true, gate_wait = true }
-- The regular expression (^http\..+\.downstream|prometheus_cluster\.upstream)_rq_(pending_)?active$
local ACTIVE = "(%5Ehttp%5C..%2B%5C.downstream%7Cprometheus_cluster%5C.upstream)_rq_(pending_)%3Factive%24"
local POLL_MS, QUIET_POLLS = 250, 4
local LAST_MS = 3000 -- enough for held calls to notice, and for QUIET_POLLS
local ENDS_MS = config.most_ms + 2000 -- a stopping Envoy has stopped by then

local function admin(handle, method, path)
  local headers, body = handle:httpCall(ADMIN, { [":method"] = method, [":path"] = path, [":authority"] = "admin" },
    nil, 2000)
  return headers[":status"] == "200" and (body or "") or nil
end

-- Number of client calls in progress, or nil if unknown. The gate's clock counts as a client while it asks Prometheus.
local function active(handle)
  local stats = admin(handle, "GET", "/stats?filter=" .. ACTIVE)
  if not stats then
    return nil
  end
  local calls = 0
  for prefix, value in stats:gmatch("http%.([^\n]-)%.downstream_rq_active: (%d+)") do
    if not OURS[prefix] then
      calls = calls + tonumber(value)
    end
  end
  for queries in stats:gmatch("prometheus_cluster%.[%w_]+: (%d+)") do
    calls = calls - tonumber(queries)
  end
  return math.max(calls, 0)
end

local function pause(handle)
  handle:httpCall(CLOCK, { [":method"] = "GET", [":path"] = "/", [":authority"] = "clock",
    ["x-envoy-fault-delay-request"] = tostring(POLL_MS) }, nil, 10 * POLL_MS)
end

-- Set each time, because the gate forgets it when it is reloaded.
local function end_waits(handle)
  handle:httpCall("gate_probe", { [":method"] = "GET", [":path"] = "/stop", [":authority"] = "gate" }, nil, 1000)
end

-- Detached, so that it happens even if the caller leaves.
local function end_drain_later(handle)
  handle:httpCall(CLOCK, { [":method"] = "POST", [":path"] = "/healthcheck/ok", [":authority"] = "admin",
    ["x-envoy-fault-delay-request"] = tostring(ENDS_MS) }, nil, { asynchronous = true, timeout_ms = 2 * ENDS_MS })
end

function envoy_on_request(handle)
  local began = handle:timestamp()
  end_drain_later(handle)
  local quiet = 0
  while true do
    local spent = handle:timestamp() - began
    -- Each time, because an earlier drain may have ended meanwhile.
    if not admin(handle, "POST", "/healthcheck/fail") then
      handle:respond({ [":status"] = "503" }, "the admin interface did not answer\n")
    end
    if spent >= config.most_ms then
      handle:respond({ [":status"] = "200" }, "calls are left\n")
    end
    if config.hold and spent >= config.most_ms - LAST_MS then
      end_waits(handle)
    end
    quiet = active(handle) == 0 and quiet + 1 or 0
    if quiet >= QUIET_POLLS and spent >= config.least_ms then
      handle:respond({ [":status"] = "200" }, "drained\n")
    end
    pause(handle)
  end
end
