std = "luajit"
max_line_length = 120
local parts = { "config", "json", "stats", "prometheus", "gate", "hold" } -- see templates/envoy/_gate.tpl
files["chart/files"] = { read_globals = parts, globals = { "envoy_on_request" } }
