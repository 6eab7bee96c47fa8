-- JSON reader of the gate: a function that decodes a document, and returns nil if it is malformed. Objects and arrays
-- become tables (n is the length of an array), null becomes nil. An escaped character outside ASCII becomes "?",
-- because no text that the gate looks for has one.

local MALFORMED = {}
local MAX_DEPTH = 32
local ESCAPES = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }
local LITERALS = { t = { "true", true }, f = { "false", false }, n = { "null", nil } }

local function malformed()
  error(MALFORMED, 0)
end

local function decode(text)
  local at = 1
  local value

  local function skip_space()
    at = text:find("[^ \t\r\n]", at) or #text + 1
    return text:sub(at, at)
  end

  local function number()
    local _, to = text:find("^%-?%d+", at)
    if not to or text:find("^%-?0%d", at) then
      malformed()
    end
    to = select(2, text:find("^%.%d+", to + 1)) or to
    to = select(2, text:find("^[eE][+-]?%d+", to + 1)) or to
    local digits = text:sub(at, to)
    at = to + 1
    return tonumber(digits)
  end

  local function escape()
    local letter = text:sub(at, at)
    at = at + 1
    if letter ~= "u" then
      return ESCAPES[letter] or malformed()
    end
    local code = tonumber(text:match("^%x%x%x%x", at) or malformed(), 16)
    at = at + 4
    return code < 0x80 and string.char(code) or "?"
  end

  local function quoted()
    local parts = {}
    at = at + 1
    while true do
      local stop = text:find('["\\%z\1-\31]', at) or malformed()
      parts[#parts + 1] = text:sub(at, stop - 1)
      local found = text:sub(stop, stop)
      at = stop + 1
      if found == '"' then
        return table.concat(parts)
      elseif found ~= "\\" then
        malformed()
      end
      parts[#parts + 1] = escape()
    end
  end

  -- Reads everything up to the closing bracket, with the given function for each element.
  local function sequence(closing, element)
    at = at + 1
    local sign = skip_space() == closing and closing or ","
    if sign == closing then
      at = at + 1
    end
    while sign == "," do
      element()
      sign = skip_space()
      at = at + 1
    end
    if sign ~= closing then
      malformed()
    end
  end

  local function array(depth)
    local items = { n = 0 }
    sequence("]", function()
      items.n = items.n + 1
      items[items.n] = value(depth)
    end)
    return items
  end

  local function object(depth)
    local fields = {}
    sequence("}", function()
      if skip_space() ~= '"' then
        malformed()
      end
      local key = quoted()
      if skip_space() ~= ":" then
        malformed()
      end
      at = at + 1
      fields[key] = value(depth)
    end)
    return fields
  end

  function value(depth)
    local sign = skip_space()
    if depth > MAX_DEPTH then
      malformed()
    elseif sign == "{" then
      return object(depth + 1)
    elseif sign == "[" then
      return array(depth + 1)
    elseif sign == '"' then
      return quoted()
    elseif LITERALS[sign] then
      local word = LITERALS[sign]
      if text:sub(at, at + #word[1] - 1) ~= word[1] then
        malformed()
      end
      at = at + #word[1]
      return word[2]
    end
    return number()
  end

  local result = value(1)
  if skip_space() ~= "" then
    malformed()
  end
  return result
end

return function(text)
  local ok, result = pcall(decode, text)
  if not ok and result ~= MALFORMED then
    error(result, 0)
  end
  return ok and result or nil
end
