-- The decision by load. Envoy's clock calls `refresh`, which keeps the answer of Prometheus in gauges; calls only read
-- them and never wait. Needs stats and prometheus.
--
-- Gauges: load_micro, at_ms (when it was read, 0 for never) and question (what it answers: a query and a Prometheus);
-- asked_ms (when the last query was sent); load_milli and refuse_ppm (probability of a refusal), for people.

local get, set = stats.get, stats.set
local SLACK_MS = 20 -- the clock has the pace, to a few milliseconds
local LARGEST = 2 ^ 62 -- of a gauge

local load = config.load
local usable_ms = load and 2 * (load.cache_ms + load.timeout_ms)

-- The probability of a refusal.
local function refusal(handle)
  local above = get(handle, "load_micro") / 1e6 - load.threshold
  if above <= 0 then
    return 0
  end
  return above < load.ramp and above / load.ramp or 1
end

local function ask(handle, now)
  local ok, kind, value = pcall(prometheus.ask, handle)
  if not ok then
    kind = "fault"
  end
  stats.count(handle, "answer." .. kind)
  if kind == "load" then
    set(handle, "load_micro", math.min(math.ceil(value * 1e6 - 1e-3), LARGEST))
    set(handle, "load_milli", math.min(math.ceil(value * 1e3 - 1e-6), LARGEST))
    set(handle, "at_ms", now)
  end
end

local function refresh(handle)
  local now, known = handle:timestamp(), get(handle, "question") == prometheus.question
  local since = now - get(handle, "asked_ms")
  if not known then
    set(handle, "at_ms", 0)
    set(handle, "question", prometheus.question)
  end
  if not known or since < 0 or since >= load.cache_ms - SLACK_MS then
    set(handle, "asked_ms", now)
    ask(handle, now)
  end
  set(handle, "refuse_ppm", math.floor(1e6 * refusal(handle)))
end

local function short(number)
  return (string.format("%.3f", number):gsub("0+$", ""):gsub("%.$", ""))
end

-- The outcome of a call by a load that was read at most so long ago, and the message for its client if it is refused;
-- nil if there is no such load.
local function judge_within(handle, ms)
  if get(handle, "question") ~= prometheus.question or math.abs(handle:timestamp() - get(handle, "at_ms")) > ms then
    return nil
  end
  local probability = refusal(handle)
  if probability == 0 or math.random() >= probability then
    return "allowed"
  end
  local message = "overloaded: load %s is above the admission threshold %s, try again later"
  return "refused", message:format(short(get(handle, "load_milli") / 1000), short(load.threshold))
end

-- With unknown = "last", the same by the last known load.
local function judge_last(handle)
  if config.unknown == "last" then
    return judge_within(handle, load.last_known_ms)
  end
end

-- The outcome of a call, and the message for its client if it is refused.
local function judge(handle)
  local outcome, message = judge_within(handle, usable_ms)
  if not outcome then
    outcome, message = judge_last(handle)
  end
  if outcome then
    return outcome, message
  elseif config.unknown == "closed" then
    return "unknown_refused", "the load is unknown, try again later"
  end
  return "unknown_allowed"
end

return { refresh = refresh, judge = judge, judge_last = judge_last }
