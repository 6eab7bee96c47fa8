-- JSON decoder for the gate: `decode`, and MALFORMED, which it raises. The chart puts this file before
-- envoy-filter.lua, in one chunk (Lua 5.1, LuaJIT).

local MALFORMED = {}
local MAX_DEPTH = 32
local ESCAPES = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }
local LITERALS = { t = { "true", true }, f = { "false", false }, n = { "null", nil } }

local function malformed()
  error(MALFORMED, 0)
end

local function utf8(code)
  if code < 0x80 then
    return string.char(code)
  elseif code < 0x800 then
    return string.char(0xC0 + math.floor(code / 0x40), 0x80 + code % 0x40)
  elseif code < 0x10000 then
    return string.char(0xE0 + math.floor(code / 0x1000), 0x80 + math.floor(code / 0x40) % 0x40, 0x80 + code % 0x40)
  end
  return string.char(0xF0 + math.floor(code / 0x40000), 0x80 + math.floor(code / 0x1000) % 0x40,
    0x80 + math.floor(code / 0x40) % 0x40, 0x80 + code % 0x40)
end

-- Decodes a JSON document; raises MALFORMED. Objects and arrays become tables (n is the length of an array), null nil.
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
    if code >= 0xD800 and code <= 0xDFFF then -- half of a surrogate pair
      local low = tonumber(text:match("^\\u(%x%x%x%x)", at) or "0", 16)
      if code <= 0xDBFF and low >= 0xDC00 and low <= 0xDFFF then
        at = at + 6
        code = 0x10000 + (code - 0xD800) * 0x400 + low - 0xDC00
      else
        code = 0xFFFD -- the replacement character, as in other decoders
      end
    end
    return utf8(code)
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
    if skip_space() == closing then
      at = at + 1
      return
    end
    while true do
      element()
      local sign = skip_space()
      at = at + 1
      if sign == closing then
        return
      elseif sign ~= "," then
        malformed()
      end
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
