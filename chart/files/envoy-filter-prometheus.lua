-- Queries Prometheus for the load. Needs the JSON reader, json.

local load = config.load

-- The kind of an answer (see envoy-filter-stats.lua), and its load. Only a single finite sample is a load.
local function read_answer(body)
  local answer = json(body)
  if type(answer) ~= "table" then
    return "malformed"
  elseif answer.status ~= "success" then
    return "error_status"
  end
  local data = answer.data
  if type(data) ~= "table" or type(data.result) ~= "table" then
    return "malformed"
  end
  local sample
  if data.resultType == "scalar" then
    sample = data.result
  elseif data.resultType == "vector" then
    if type(data.result.n) ~= "number" then
      return "malformed"
    elseif data.result.n ~= 1 then
      return data.result.n == 0 and "empty" or "several"
    end
    sample = type(data.result[1]) == "table" and data.result[1].value
  end
  local text = type(sample) == "table" and sample[2]
  if type(text) ~= "string" then
    return "malformed"
  elseif text == "NaN" or text:find("^[+-]?Inf$") then
    return "not_finite"
  elseif not (text:find("^[+-]?%d+%.?%d*$") or text:find("^[+-]?%d+%.?%d*[eE][+-]?%d+$")) then
    return "malformed"
  end
  local number = tonumber(text)
  if number - number ~= 0 then
    return "not_finite"
  end
  return "load", math.max(number, 0)
end

-- The content of a mounted secret without its final newline, or nil if it is not a valid header value.
local function read_secret(path)
  local file = io.open(path, "rb")
  if not file then
    return nil
  end
  local text = (file:read(65536) or ""):gsub("%s+$", "")
  file:close()
  if text == "" or text:find("[%z\1-\31\127]") then
    return nil
  end
  return text
end

-- The headers of a query, or nil if its credentials are missing.
local function query_headers(handle)
  local headers = {
    [":method"] = "POST",
    [":path"] = load.path,
    [":authority"] = load.authority,
    ["content-type"] = "application/x-www-form-urlencoded",
    ["accept"] = "application/json",
  }
  for _, header in ipairs(load.headers) do
    headers[header[1]] = header[2]
  end
  if load.bearer_file then
    local token = read_secret(load.bearer_file)
    if not token then
      return nil
    end
    headers["authorization"] = "Bearer " .. token
  elseif load.username_file then
    local username, password = read_secret(load.username_file), read_secret(load.password_file)
    if not username or not password then
      return nil
    end
    headers["authorization"] = "Basic " .. handle:base64Escape(username .. ":" .. password)
  end
  return headers
end

local function form_encode(text)
  return (text:gsub("[^%w%-._~]", function(c)
    return string.format("%%%02X", c:byte())
  end))
end

local form = load and "query=" .. form_encode(load.query)

-- A number that differs for another query or another Prometheus.
local function question_id()
  local parts = { load.authority, load.path, load.query }
  for _, header in ipairs(load.headers) do
    parts[#parts + 1] = header[1] .. ":" .. header[2]
  end
  local id = 0
  for byte in table.concat(parts, "\n"):gmatch(".") do
    id = (id * 257 + byte:byte()) % 4294967291 -- the largest prime below 2^32: all products are exact
  end
  return id + 1
end

-- The kind of the answer, and its load if there is one.
local function ask(handle)
  local headers = query_headers(handle)
  if not headers then
    return "no_credentials"
  end
  local options = { timeout_ms = load.timeout_ms, send_xff = false, trace_sampled = false }
  local answer, body = handle:httpCall(load.cluster, headers, form, options)
  if answer[":status"] ~= "200" then
    return "http_error"
  elseif body and #body > load.max_answer_bytes then
    return "too_long"
  end
  return read_answer(body or "")
end

return { ask = ask, question = load and question_id() }
