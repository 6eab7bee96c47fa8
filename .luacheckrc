std = "luajit"
max_line_length = 120
files["chart/files"] = { read_globals = { "config" }, globals = { "envoy_on_request" } }
