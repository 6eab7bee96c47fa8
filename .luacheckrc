std = "luajit"
max_line_length = 120
files["chart/files"] = { read_globals = { "config" }, globals = { "envoy_on_request" } }
files["chart/files/envoy-filter-json.lua"] = { ignore = { "211/decode", "211/MALFORMED" } }
files["chart/files/envoy-filter.lua"] = { read_globals = { "config", "decode", "MALFORMED" } }
