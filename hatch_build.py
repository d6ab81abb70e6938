"""Compiles the kernels while a wheel is built, for the machine that builds it.

``pip install .`` builds a wheel, and so the first fit finds its kernels compiled. Nothing here is
needed: where it fails, or the wheel comes to another processor or meets another version of numba,
the first fit compiles. ``HATCH_BUILD_NO_HOOKS=true`` leaves all of it out, as for a wheel that is
made for everybody.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_RUN = "from censquant._warm_up import warm_up; warm_up()"


class KernelHook(BuildHookInterface):
    """Puts files of machine code beside the sources that they were made of."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and include what was compiled."""
        source = Path(self.root) / "src"
        if version == "editable":
            _compile(source)  # the files stay beside the sources
            return
        self._folder = tempfile.mkdtemp()
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, self._folder, ignore=ignored, dirs_exist_ok=True)
        _compile(Path(self._folder))
        for file in Path(self._folder).rglob("*.nbc"):
            build_data["force_include"][str(file)] = str(file.relative_to(self._folder))
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copy that was compiled."""
        if version != "editable":
            shutil.rmtree(self._folder, ignore_errors=True)


def _compile(folder: Path) -> None:
    """Compile the package in a folder, in a process of its own."""
    dropped = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    path = [str(folder), os.environ.get("PYTHONPATH")]
    environment["PYTHONPATH"] = os.pathsep.join(each for each in path if each)
    done = subprocess.run([sys.executable, "-c", _RUN], cwd=folder, env=environment, check=False)
    if done.returncode:
        print("censquant: kernels were not compiled; the first fit will do it", file=sys.stderr)
