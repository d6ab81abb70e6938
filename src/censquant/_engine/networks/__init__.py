"""Networks: dense ones compiled with numba, heads on top, and the protocol any other must keep."""
