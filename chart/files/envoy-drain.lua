-- Drains this Envoy before its pod is stopped. Envoy's Lua filter (Lua 5.1, LuaJIT) runs it for one GET.
--
-- Clients get a GOAWAY over the drain time, while their calls continue. The answer is sent once no call has been in
-- progress for a second, after config.least_ms at the earliest and config.most_ms at the latest. Listeners stay open
-- (skip_exit), because clients may reach this pod until every node knows that it is going away. Held calls
-- (config.hold) get their answer shortly before the end, so that none is cut off.

local ADMIN, CLOCK = "supersonic_admin", "drain_clock"
local OURS = { stats = true, drain = true, drain_clock = true, admin = true, gate_wait = true }
-- The regular expression (^http\..+\.downstream|prometheus_cluster\.upstream)_rq_(pending_)?active$
local ACTIVE = "(%5Ehttp%5C..%2B%5C.downstream%7Cprometheus_cluster%5C.upstream)_rq_(pending_)%3Factive%24"
local POLL_MS, QUIET_POLLS = 250, 4
local LAST_MS = 3000 -- enough for held calls to notice, and for QUIET_POLLS

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

function envoy_on_request(handle)
  local began = handle:timestamp()
  if not admin(handle, "POST", "/drain_listeners?graceful&skip_exit" .. config.scope) then
    handle:respond({ [":status"] = "503" }, "the admin interface did not answer\n")
  end
  local quiet = 0
  while true do
    local spent = handle:timestamp() - began
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
