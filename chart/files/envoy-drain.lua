-- Drains this Envoy before its pod is stopped. Envoy's Lua filter (Lua 5.1, LuaJIT) runs it for the GET of the kubelet,
-- and for what that GET starts. Envoy drops the coroutine of a GET when its client goes away.
--
-- While somebody waits for the answer, clients get a GOAWAY with their responses, ever more of them over
-- config.least_ms. The answer is sent once no call has been in progress for QUIET_MS, after config.least_ms at the
-- earliest and config.most_ms at the latest. Until then Envoy accepts connections, because clients may reach this pod
-- until every node knows that it is going away. Held calls (config.hold) get their answer shortly before the end.
--
-- Others than the kubelet may reach the port. So nothing outlasts a drain by more than seconds, and a thousand GETs ask
-- the admin interface as often as one.

local ADMIN, CLOCK, WORK = "supersonic_admin", "drain_clock", "drain_work"
local OURS = { stats = true, drain = true, drain_clock = true, drain_work = true, admin = true, gate_wait = true }
-- The regular expression (^http\..+\.downstream|prometheus_cluster\.upstream)_rq_(pending_)?active$
local ACTIVE = "(%5Ehttp%5C..%2B%5C.downstream%7Cprometheus_cluster%5C.upstream)_rq_(pending_)%3Factive%24"
local POLL_MS, QUIET_MS = 250, 1000
local LEAVE_MS = 200 -- of each POLL_MS, how long clients are asked to leave in the end
local LAST_MS = 3000 -- enough for held calls to notice, and for QUIET_MS

-- Per worker, for all GETs: when the drain began, when a GET last waited for it, when the admin interface was last
-- asked, when it last answered, and when calls were last in progress, or unknown.
local began_ms, waited_ms, asked_ms, read_ms, busy_ms = 0, 0, 0, 0, 0

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

local function pause(handle, ms)
  handle:httpCall(CLOCK, { [":method"] = "GET", [":path"] = "/", [":authority"] = "clock",
    ["x-envoy-fault-delay-request"] = string.format("%d", ms) }, nil, ms + 2000)
end

-- For a while, every response comes with a GOAWAY. Runs detached from the GET that starts it, so that it always ends.
local function leave(handle)
  admin(handle, "POST", "/healthcheck/fail")
  pause(handle, tonumber(handle:headers():get("x-drain-ms")))
  while not admin(handle, "POST", "/healthcheck/ok") do
    pause(handle, POLL_MS)
  end
  handle:respond({ [":status"] = "200" }, "")
end

local function start_leave(handle, ms)
  handle:httpCall(WORK, { [":method"] = "POST", [":path"] = "/leave", [":authority"] = "drain",
    ["x-drain-ms"] = string.format("%d", ms) }, nil, { asynchronous = true, timeout_ms = 60000 })
end

-- What one GET does for all of its worker, at most once per POLL_MS.
local function work(handle)
  local now = handle:timestamp()
  if math.abs(now - waited_ms) > QUIET_MS then
    began_ms, busy_ms = now, now
  end
  waited_ms = now
  if math.abs(now - asked_ms) < POLL_MS then
    return
  end
  asked_ms = now
  start_leave(handle, LEAVE_MS * math.min(1, (now - began_ms) / config.least_ms))
  local calls = active(handle)
  now = handle:timestamp()
  if calls ~= 0 or math.abs(now - read_ms) > QUIET_MS then
    busy_ms = now
  end
  read_ms = calls and now or read_ms
end

local function quiet(now)
  return read_ms - busy_ms >= QUIET_MS and math.abs(now - read_ms) < QUIET_MS
end

-- The gate forgets it after seconds, or when it is reloaded.
local function end_waits(handle)
  handle:httpCall("gate_probe", { [":method"] = "GET", [":path"] = "/stop", [":authority"] = "gate" }, nil, 1000)
end

local function drain(handle)
  local began = handle:timestamp()
  while true do
    local spent = handle:timestamp() - began
    if spent >= config.most_ms then
      handle:respond({ [":status"] = "200" }, "calls are left\n")
    end
    if config.hold and spent >= config.most_ms - LAST_MS then
      end_waits(handle)
    end
    work(handle)
    if spent >= config.least_ms and quiet(handle:timestamp()) then
      handle:respond({ [":status"] = "200" }, "drained\n")
    end
    pause(handle, POLL_MS)
  end
end

function envoy_on_request(handle)
  if handle:headers():get(":path") == "/leave" then -- of the internal listener
    leave(handle)
  end
  drain(handle)
end
