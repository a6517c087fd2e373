std = "lua54"
max_line_length = 120
-- A scenario gets its library by require "srdlab"; nothing else is injected.
files["scripts/scenarios"] = { ignore = { "212" } } -- an unused argument documents a callback
files["scripts/spec"] = { max_line_length = false } -- tables, one fact a line
files["scripts/gen"] = { max_line_length = false } -- templates of text
files["scripts/lib/srdlab.lua"] = { globals = { "require" } } -- it gives scenarios theirs
files["tests/lua"] = { max_line_length = false } -- messages that are compared
