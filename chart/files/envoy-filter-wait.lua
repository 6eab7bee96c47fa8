-- State shared by all workers, and waiting without blocking a worker. The chart puts this file before
-- envoy-filter.lua, in one chunk. Envoy drops a caller's coroutine when its client goes away, so callers never hold a
-- lock: they start the work detached, under leases that expire, and watch the gauges.

local FIRST_PAUSE_MS = 5
local FULL_MS = 250
local QUESTION = "x-gate-question" -- a header

local function count(handle, name)
  handle:stats():counter(name):inc()
end

local function get(handle, name)
  return handle:stats():gauge(name):value()
end

local function set(handle, name, value)
  handle:stats():gauge(name):set(value)
end

-- Whether the caller may start the work that the lease protects. A lease too far in the future was taken before the
-- clock was set back.
local function take_lease(handle, name, ms, longest_ms)
  local now, free = handle:timestamp(), get(handle, name)
  if now < free and free - now <= longest_ms then
    return false
  end
  set(handle, name, now + ms)
  return true
end

-- Starts work in the internal listener, which outlives the call and its client.
local function start(handle, path, timeout_ms, question)
  local headers = { [":method"] = "GET", [":path"] = path, [":authority"] = "gate" }
  headers[QUESTION] = question and tostring(question)
  local options = { asynchronous = true, timeout_ms = timeout_ms, send_xff = false, trace_sampled = false }
  handle:httpCall(config.refresh_cluster, headers, nil, options)
end

-- Waits without blocking the worker; false if too many calls are waiting.
local function pause(handle, cluster, ms)
  local headers = {
    [":method"] = "GET",
    [":path"] = "/",
    [":authority"] = "gate",
    ["x-envoy-fault-delay-request"] = string.format("%d", ms),
  }
  local options = { timeout_ms = ms + 5000, send_xff = false, trace_sampled = false }
  return handle:httpCall(cluster, headers, nil, options)[":status"] == "200"
end

-- Like pause, for new calls and for calls that are already waiting. Between two pauses, a new call can take the place
-- of a waiting one: the waiting one continues in the spare cluster, and no new call is accepted meanwhile.
local function keep_place(handle, waits_already, ms)
  if not waits_already then
    local left = get(handle, "full_ms") - handle:timestamp()
    if left > 0 and left <= FULL_MS then
      return false
    end
  end
  if pause(handle, config.wait_cluster, ms) then
    return true
  end
  set(handle, "full_ms", handle:timestamp() + FULL_MS)
  return waits_already and pause(handle, config.spare_cluster, ms)
end

-- Calls look repeatedly, at growing intervals; returns its result, "expired" or "full". A call that has started the
-- work looks again soon.
local function await(handle, look, deadline, longest_pause)
  local ms, waits_already = FIRST_PAUSE_MS, false
  while true do
    local seen, started = look(handle)
    if seen then
      return seen
    elseif started then
      ms = FIRST_PAUSE_MS
    end
    local left = deadline - handle:timestamp()
    if left <= 0 then
      return "expired"
    elseif not keep_place(handle, waits_already, math.min(ms, left)) then
      return "full"
    end
    ms, waits_already = math.min(2 * ms, longest_pause), true
  end
end
