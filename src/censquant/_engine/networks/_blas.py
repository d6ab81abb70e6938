"""The size of matrix products for which the installed BLAS is fastest."""

from functools import cache

from threadpoolctl import threadpool_info

# OpenBLAS has kernels for AVX-512 that skip the packing of small matrices and run a quarter faster
# than its general ones; they take products of up to a million multiplications.
_SMALL = 1_000_000
_ARCHITECTURES = ("skylakex", "cooperlake", "sapphirerapids")


@cache
def small_product() -> int:
    """Return the number of multiplications that a product should not exceed, 0 for no limit."""
    # Compiled code calls the BLAS of scipy, which must be loaded to be found.
    import scipy.linalg.cython_blas  # noqa: F401

    found = {str(library.get("architecture")).lower() for library in threadpool_info()}
    return _SMALL if found & set(_ARCHITECTURES) else 0
