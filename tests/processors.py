"""Run the tests whose numbers depend on the processor as other kinds of processors run them.

Sums of floats depend on the order of their terms, which BLAS, numpy and compiled kernels choose by
the processor::

    python tests/processors.py                   # all kinds that this machine can act as
    python tests/processors.py Nehalem generic   # these
    python tests/processors.py another           # one that differs from the machine itself
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Fits, and what is printed of them. Kernels and metrics are compared with slow versions of them by
# tolerances that no processor comes near, and are left to the other targets.
TESTS = [
    "tests/cli/test_console_blocks.py",
    "tests/cli/test_page.py",
    "tests/contract/test_docs_pages.py",
    "tests/contract/test_readme.py",
    "tests/reference",
    "tests/statistical",
    "tests/unit/calibration",
    "tests/unit/estimators/linear",
    "tests/unit/estimators/ensemble",
    "tests/unit/estimators/neural",
    "tests/unit/estimators/test_conformal.py",
    "tests/unit/estimators/test_consistent_bounds.py",
    "tests/unit/estimators/trees",
    "tests/unit/torch_modules",
    "tests/unit/training",
    "src/censquant/_calibration",
    "src/censquant/estimators",
    "src/censquant/inspection",
    "src/censquant/metrics",
]
# For each kind of OpenBLAS, what a processor of this kind needs, and how the vector instructions
# begin that numpy must leave aside.
OPENBLAS = {
    "Nehalem": ("SSE42", ("AVX", "FMA3", "F16C", "X86_V3", "X86_V4")),
    "Sandybridge": ("AVX", ("AVX2", "AVX512", "FMA3", "F16C", "X86_V3", "X86_V4")),
    "Haswell": ("AVX2", ("AVX512", "X86_V4")),
    "SkylakeX": ("AVX512F", ()),
}
# Kernels for any processor of this family, beside the oldest BLAS and numpy: the farthest from most
# machines, and the slowest, as everything is compiled again.
GENERIC = "generic"
ASK_BLAS = """
from threadpoolctl import threadpool_info
import numpy
print(*{info["architecture"] for info in threadpool_info() if info["internal_api"] == "openblas"})
"""


def kinds():
    """Return the environment of each kind that this machine can act as."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return {GENERIC: {"NUMBA_CPU_NAME": GENERIC}}
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    found = {}
    for name, (needed, without) in OPENBLAS.items():
        if __cpu_features__[needed]:
            aside = [f for f in __cpu_dispatch__ if __cpu_features__[f] and f.startswith(without)]
            found[name] = {"OPENBLAS_CORETYPE": name, "NPY_DISABLE_CPU_FEATURES": " ".join(aside)}
    return found | {GENERIC: {**found["Nehalem"], "NUMBA_CPU_NAME": GENERIC}}


def blas(**environment):
    """Return the kinds of processors that OpenBLAS computes for, one or none."""
    command = [sys.executable, "-c", ASK_BLAS]
    asked = subprocess.run(
        command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return asked.stdout.split()


def run(name, environment):
    """Run the tests as one kind of processor; return whether they passed."""
    # Where BLAS is another library than OpenBLAS, it does not listen.
    listening = blas()
    if listening and "OPENBLAS_CORETYPE" in environment:
        assert blas(**environment) == [environment["OPENBLAS_CORETYPE"]]
    print(f"As {name}: {environment}", flush=True)
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider"]
    command += ["--numprocesses", "auto", "--dist", "loadfile", *TESTS]
    return subprocess.run(command, env=os.environ | environment, cwd=ROOT).returncode == 0


def main(names):
    """Run the tests as the kinds with these names; return the exit code."""
    possible = kinds()
    if names == ["another"]:
        own = blas()
        names = [next(name for name in possible if name not in own)]
    unknown = [name for name in names if name not in possible]
    if unknown:
        print(f"This machine cannot act as {', '.join(unknown)}, only as {', '.join(possible)}.")
        return 2
    failed = [name for name in names or possible if not run(name, possible[name])]
    if failed:
        print(f"Failed as {', '.join(failed)}.")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
