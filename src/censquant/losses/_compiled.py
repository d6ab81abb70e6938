"""The options that every loss kernel is compiled with."""

from numba import njit

# fastmath and numpy's division let LLVM use vector registers; it may then assume that no NaN or
# infinity occurs, so the training loop looks for non-finite values itself.
compiled = njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
