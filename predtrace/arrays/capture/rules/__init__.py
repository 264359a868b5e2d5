"""The rules, one module a family of operations; `predtrace.arrays.capture.registry` joins them."""
