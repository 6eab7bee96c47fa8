-- What luacheck knows of the filter: Envoy runs LuaJIT, calls envoy_on_request, and the chart writes config before it.
std = "luajit"
globals = { "envoy_on_request" }
read_globals = { "config" }
max_line_length = 120
