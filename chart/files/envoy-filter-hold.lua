-- The hold: a call waits until a replica is ready. Needs stats. Envoy drops a caller's coroutine when its client goes
-- away, so callers never hold a lock: they start probes detached, under a lease that expires, and watch the gauges.
--
-- Gauges: ready_ms (until when a replica counts as ready), probe_ms (the lease of a probe), full_ms (until when no
-- further call may wait), stopping_ms (until when this Envoy counts as shutting down), absent_ms (until when it is
-- known that no replica is ready).

local get, set = stats.get, stats.set
local hold = config.hold
local FIRST_PAUSE_MS = 5
local FULL_MS = 250
local STOPPING_MS = 4000 -- longer than the last part of a drain (envoy-drain.lua)
local PROBE_MS = 1000 -- timeout
local LEASE_MS = PROBE_MS + 200
local LATE_MS = 250 -- by which a pause may last longer
local look_ms = hold and 3 * hold.poll_ms -- checking is what a held call costs
local ready_for_ms = hold and 4 * hold.poll_ms -- longer than look_ms, or a call could miss a ready replica
local absent_for_ms = hold and 4 * hold.poll_ms + LEASE_MS -- longer than from one probe to the end of the next

-- Probes the health of the replicas. Runs in the internal listener.
local function probe(handle)
  local headers = {
    [":method"] = "POST",
    [":path"] = "/inference.GRPCInferenceService/ServerReady",
    [":authority"] = hold.cluster,
    ["te"] = "trailers",
    ["content-type"] = "application/grpc",
  }
  local options = { timeout_ms = PROBE_MS, send_xff = false, trace_sampled = false }
  local answer, body = handle:httpCall(hold.cluster, headers, "\0\0\0\0\0", options) -- an empty message
  local now = handle:timestamp()
  if answer[":status"] == "200" and body and body:sub(6, 7) == "\8\1" then -- ready: true
    set(handle, "ready_ms", now + ready_for_ms)
    set(handle, "absent_ms", 0)
  else
    set(handle, "absent_ms", now + absent_for_ms)
  end
  set(handle, "probe_ms", now + hold.poll_ms)
end

-- Whether a replica is ready, and whether this call has started a probe. Probes ahead of time, so that calls in a row
-- never wait for it. A lease too far in the future was taken before the clock was set back.
local function look(handle)
  local now = handle:timestamp()
  local left, lease = get(handle, "ready_ms") - now, get(handle, "probe_ms") - now
  local ready = left > 0 and left <= ready_for_ms
  local start = left <= ready_for_ms - hold.poll_ms or not ready
  if start and (lease <= 0 or lease > LEASE_MS + hold.poll_ms) then
    set(handle, "probe_ms", now + LEASE_MS)
    local headers = { [":method"] = "GET", [":path"] = "/probe", [":authority"] = "gate" }
    local options = { asynchronous = true, timeout_ms = LEASE_MS, send_xff = false, trace_sampled = false }
    handle:httpCall(config.probe_cluster, headers, nil, options)
    return ready, true
  end
  return ready, false
end

-- Waits without blocking the worker; false if too many calls are waiting.
local function pause(handle, cluster, ms)
  local headers = { [":method"] = "GET", [":path"] = "/", [":authority"] = "gate" }
  headers["x-envoy-fault-delay-request"] = string.format("%d", ms)
  local options = { timeout_ms = ms + 5000, send_xff = false, trace_sampled = false }
  return handle:httpCall(cluster, headers, nil, options)[":status"] == "200"
end

-- Like pause. Between two pauses, a new call can take the place of a waiting one: the waiting one continues in the
-- spare cluster, and no new call is accepted meanwhile. A call that is not within the share of its connection waits
-- there too, until a probe has said whether a replica is ready.
local function keep_place(handle, within_share, waits_already, ms)
  if not within_share then
    return pause(handle, config.spare_cluster, ms)
  end
  local left = get(handle, "full_ms") - handle:timestamp()
  if not waits_already and left > 0 and left <= FULL_MS then
    return false
  elseif pause(handle, config.wait_cluster, ms) then
    return true
  end
  set(handle, "full_ms", handle:timestamp() + FULL_MS)
  return waits_already and pause(handle, config.spare_cluster, ms)
end

-- Whether the time in the gauge is still to come, and not from before the clock was set back.
local function lasts(handle, name, most_ms)
  local left = get(handle, name) - handle:timestamp()
  return left > 0 and left <= most_ms
end

-- The calls that wait, by the address of their connection, which belongs to one worker. A call counts until the end of
-- its pause, and leaves if it ends otherwise: it may never continue.
local connections, counted_ms = {}, 0

-- Removes the calls that no longer count.
local function recount(address, now)
  local connection = connections[address]
  connection.number, connection.counted_ms = 0, now
  for call, until_ms in pairs(connection.calls) do
    if until_ms > now and until_ms <= now + look_ms + LATE_MS then
      connection.number = connection.number + 1
    else
      connection.calls[call] = nil
    end
  end
  if connection.number == 0 then
    connections[address] = nil
  end
end

local function recount_all(now)
  if math.abs(now - counted_ms) >= 1000 then
    counted_ms = now
    for address in pairs(connections) do
      recount(address, now)
    end
  end
end

-- Whether the call is one of the first hold.share of its connection, and counts for another pause.
local function enter(handle, call, ms)
  local now = handle:timestamp()
  recount_all(now)
  local connection = connections[call.address]
  if connection and not call.counts and connection.number >= hold.share and
    math.abs(now - connection.counted_ms) >= FULL_MS then
    recount(call.address, now)
    connection = connections[call.address]
  end
  connection = connection or { calls = {}, number = 0, counted_ms = now }
  if not call.counts and connection.number >= hold.share then
    return false
  end
  connections[call.address], call.counts = connection, true
  if not connection.calls[call] then
    connection.number = connection.number + 1
  end
  connection.calls[call] = now + ms + LATE_MS
  return true
end

local function leave(call)
  local connection = connections[call.address]
  if connection and connection.calls[call] then
    connection.calls[call] = nil
    connection.number = connection.number - 1
  end
end

-- Waits for a replica; returns the outcome and the message if there is none. A call checks at growing intervals, and
-- soon after it has started a probe.
local function wait_as(handle, call, started)
  local began, ms, ready = handle:timestamp(), FIRST_PAUSE_MS, false
  while not ready do
    local waited = handle:timestamp() - began
    -- A new call may be the first to probe, and waits for the result.
    if lasts(handle, "stopping_ms", STOPPING_MS) and waited >= look_ms then
      return "hold_stopped", "no replica is ready, and this Envoy is shutting down; try again"
    elseif waited >= hold.max_ms then
      return "hold_expired", string.format("no replica became ready within %g s", hold.max_ms / 1000)
    end
    ms = started and FIRST_PAUSE_MS or ms
    local within = enter(handle, call, ms)
    if not within and lasts(handle, "absent_ms", absent_for_ms) then
      return "hold_full", "no replica is ready, and too many calls of this connection are waiting"
    elseif not keep_place(handle, within, waited > 0, math.min(ms, hold.max_ms - waited)) then
      return "hold_full", "no replica is ready, and too many calls are waiting"
    end
    ms = math.min(2 * ms, look_ms)
    ready, started = look(handle)
  end
end

local function wait(handle)
  local ready, started = look(handle)
  if ready then
    return nil
  end
  stats.count(handle, "outcome.held")
  local call = { address = handle:streamInfo():downstreamDirectRemoteAddress() }
  local outcome, message = wait_as(handle, call, started)
  leave(call)
  return outcome, message
end

local function stop(handle)
  set(handle, "stopping_ms", handle:timestamp() + STOPPING_MS)
end

return { wait = wait, probe = probe, stop = stop }
