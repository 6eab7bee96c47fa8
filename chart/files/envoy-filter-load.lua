-- The decision by load. The chart puts this file before envoy-filter.lua, in one chunk.
--
-- Gauges: load_milli, refuse_ppm (probability of refusal), at_ms (when the load was read, 0 for never), failed_ms
-- (when the last failed query was sent), asked_id (the question that at_ms and failed_ms belong to), asking_id (the
-- latest question), lease_ms. A question is a query with its threshold, ramp and Prometheus. A caller waits for the
-- load, for little more than timeout_ms, only if the load is older than two queries take, or belongs to another
-- question, and no query has failed since.

local LOAD_PATH = "/load"
local SLACK_MS = 200 -- what a lease adds to the timeout of its work
local CERTAIN = 1000000 -- refuse_ppm
local LARGEST = 2 ^ 53

local usable_ms = load and 2 * (load.cache_ms + load.timeout_ms)
local first -- per worker: when this script first looked, and what it found

local function refusal_ppm(value)
  local above = value - load.threshold
  if above <= 0 then
    return 0
  elseif load.ramp <= 0 or above >= load.ramp then
    return CERTAIN
  end
  return math.floor(CERTAIN * above / load.ramp)
end

-- Reads the load into the gauges, for a caller with this script's question. Runs in the internal listener, whose script
-- may briefly differ from the caller's during a reload: the older script then leaves the work to the newer one.
local function refresh_load(handle)
  if handle:headers():get(QUESTION) ~= tostring(our_id) then
    set(handle, "lease_ms", 0)
    return "other question"
  end
  local started = handle:timestamp()
  local ok, kind, value = pcall(ask_prometheus, handle)
  if not ok then
    kind = "fault"
  end
  count(handle, "answer." .. kind)
  local last = get(handle, "at_ms")
  if last > started and last <= handle:timestamp() then
    return kind -- the question changed meanwhile, and the new one was answered first
  end
  if kind == "load" then
    set(handle, "refuse_ppm", refusal_ppm(value))
    set(handle, "load_milli", math.min(math.ceil(value * 1000 - 1e-6), LARGEST))
    set(handle, "at_ms", started)
  else
    if get(handle, "asked_id") ~= our_id then
      set(handle, "at_ms", 0)
    end
    set(handle, "failed_ms", started)
  end
  set(handle, "asked_id", our_id)
  set(handle, "lease_ms", started + load.cache_ms)
  return kind
end

-- What this worker's script finds when it first looks comes from another script. The first script with a new question
-- does not wait for the minimum time between queries of the old one.
local function look_first(handle)
  first = { ms = handle:timestamp(), at_ms = get(handle, "at_ms"), failed_ms = get(handle, "failed_ms") }
  if get(handle, "asking_id") ~= our_id then
    set(handle, "asking_id", our_id)
    set(handle, "lease_ms", 0)
  end
end

-- Time since at_ms or failed_ms; infinite if that belongs to another question. A replaced script uses the answers of
-- its successor.
local function age_of(handle, name)
  local time = get(handle, name)
  if (not first or time < first.ms or time == first[name]) and get(handle, "asked_id") ~= our_id then
    return math.huge
  end
  return handle:timestamp() - time
end

-- "known" or "unknown", or nil if that will be clear soon.
local function look_at_load(handle)
  if not first then
    look_first(handle)
  end
  local age = age_of(handle, "at_ms")
  local longest = load.cache_ms + load.timeout_ms + SLACK_MS
  if (age > load.cache_ms or age < -longest) and
      take_lease(handle, "lease_ms", load.timeout_ms + SLACK_MS, longest) then
    start(handle, LOAD_PATH, load.timeout_ms + SLACK_MS, our_id)
  end
  if math.abs(age) <= usable_ms then
    return "known"
  elseif math.abs(age_of(handle, "failed_ms")) <= usable_ms then
    return "unknown"
  end
  return nil
end

local function short(number)
  return (string.format("%.3f", number):gsub("0+$", ""):gsub("%.$", ""))
end

-- Whether the last known load may still be used.
local function last_counts(handle)
  return config.unknown == "last" and math.abs(age_of(handle, "at_ms")) <= load.last_known_ms
end

-- The outcome of a call by the last load, and the message for its client if it is refused.
local function judge_last(handle)
  local ppm = get(handle, "refuse_ppm")
  if ppm == 0 or math.random() * CERTAIN >= ppm then
    return "allowed"
  end
  local value, threshold = short(get(handle, "load_milli") / 1000), short(load.threshold)
  return "refused", string.format("server load %s is above %s, try again later", value, threshold)
end

-- The outcome of a call, and the message for its client if it is refused.
local function judge_load(handle)
  local seen = await(handle, look_at_load, handle:timestamp() + load.timeout_ms + SLACK_MS, load.timeout_ms)
  if seen == "known" or last_counts(handle) then
    return judge_last(handle)
  elseif config.unknown == "closed" then
    return "unknown_refused", "the server load is unknown, try again later"
  end
  return "unknown_allowed"
end
