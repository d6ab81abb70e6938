"""The shape of the package: which way imports point, what they load, what is compiled when."""

import ast
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import censquant

PACKAGE = Path(censquant.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = (
    {
        "exceptions",
        "_compile",
        "_files",
        "_frames",
        "_leaks",
        "_plugins",
        "_progress",
        "_typing",
        "_units",
        "_validation",
        "_version",
        "_warn",
    },
    {"survival", "quantiles"},
    {"_storage"},
    {"datasets", "adapters", "io"},
    {"_calibration", "_engine"},
    {"_rows"},
    {"_trees", "metrics", "torch"},
    {"export"},
    {"estimators"},
    {"engine", "dask", "inspection", "_warm_up"},
    {"plotting"},
    {"report"},
    {"_qualification"},
    {"cli"},
    {"__main__"},
)
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}


def part_of(path):
    """Name of the subpackage or top-level module that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def is_file(module):
    """Whether a dotted name is a file or folder of the package, and not a name inside one."""
    place = PACKAGE.parent.joinpath(*module.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


@cache
def imports(path):
    """Modules that a file names in imports at any depth, and whether each is inside a function."""
    return list(_imports(path))


def _imports(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    inner = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in inner) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            for alias in node.names:
                # `from censquant import x` imports the part x, not the root.
                named = f"{node.module}.{alias.name}"
                is_part = node.module == "censquant" or is_file(named)
                yield named if is_part else node.module, id(node) in inner


def of_censquant(path):
    for module, inside in imports(path):
        if module.startswith("censquant."):
            yield module.split(".")[1], inside


def offenders(find, part=None):
    """What is found in files, by their names; those of one part may be left out."""
    found = {
        str(path.relative_to(PACKAGE)): list(find(path))
        for path in MODULES
        if part_of(path) != part
    }
    return {name: what for name, what in found.items() if what}


def test_imports_point_down():
    def upward(path):
        own = part_of(path)
        for part, _ in of_censquant(path):
            if RANK.get(own) and part not in (own, "torch") and not RANK[part] < RANK[own]:
                yield part

    assert offenders(upward) == {}


def test_the_benchmark_is_found_by_entry_points_and_never_imported():
    assert offenders(imported_from("censquant_bench")) == {}


def test_the_ground_floor_imports_only_itself():
    ground = [PACKAGE / f"{part}.py" for part in LAYERS[0]]
    assert {part for p in ground for part, _ in of_censquant(p)} <= LAYERS[0]


def test_the_architecture_page_shows_these_layers():
    page = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if re.match(r"\| \d+ \| `", line)]
    shown = [set(re.findall(r"`(\w+)`", row)) for row in rows]
    there = {part_of(path) for path in MODULES}
    assert shown == [layer & there for layer in LAYERS if layer & there]


def test_every_part_has_a_layer():
    assert {part_of(path) for path in MODULES} - {"__init__"} <= set(RANK)


def test_the_import_reader_sees_imports_inside_functions_and_of_private_files(tmp_path):
    source = tmp_path / "source.py"
    source.write_text(
        "import a.b\ndef f():\n    from censquant import survival\n"
        "from censquant.survival import Surv, _target\n"
    )
    assert list(imports(source)) == [
        ("a.b", False),
        ("censquant.survival", False),
        ("censquant.survival._target", False),
        ("censquant.survival", True),
    ]


def test_the_torch_part_is_imported_inside_functions_of_estimators_only():
    users = {
        (part_of(path), inside)
        for path in MODULES
        for part, inside in of_censquant(path)
        if part == "torch" and part_of(path) != "torch"
    }
    assert users <= {("estimators", True)}


def imported_from(*packages):
    """Return what finds the imports of other packages in a file."""
    return lambda path: [m for m, _ in imports(path) if m.split(".")[0] in packages]


def test_only_the_torch_part_imports_torch():
    assert offenders(imported_from("torch"), part="torch") == {}


def test_only_the_dask_part_imports_dask():
    assert offenders(imported_from("dask", "distributed"), part="dask") == {}


def test_no_other_part_needs_the_dask_part():
    users = offenders(lambda path: [p for p, _ in of_censquant(path) if p == "dask"], part="dask")
    assert users == {}


def test_no_file_is_longer_than_eight_hundred_lines():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > 800} == {}


def run(code, **environment):
    """Output of a program in a process of its own."""
    inherited = {k: v for k, v in os.environ.items() if k != "SCIPY_ARRAY_API"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
        env={**inherited, "PYTHONPATH": str(PACKAGE.parent), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


HEAVY = ("torch", "numba", "sklearn", "scipy", "pandas", "matplotlib", "numpy")


def test_importing_the_package_loads_nothing_heavy():
    loaded = run("import sys, censquant; print(*sorted(sys.modules))").split()
    assert "censquant" in loaded
    assert not set(HEAVY) & set(loaded)


def test_fitting_loads_neither_torch_nor_matplotlib():
    code = """
import sys
import numpy as np
from censquant import CQRNN
x = np.linspace(0, 1, 20)[:, None]
CQRNN(max_epochs=1, hidden_layer_sizes=(2,)).fit(x, 1 + x[:, 0])
print(*sorted(sys.modules))
"""
    assert not {"torch", "matplotlib"} & set(run(code).split())


@pytest.mark.parametrize(
    "part", ["survival", "quantiles", "adapters", "datasets", "exceptions", "export"]
)
def test_parts_with_nothing_to_compile_do_not_load_the_compiler(part):
    loaded = run(f"import sys, censquant.{part}; print(*sys.modules)").split()
    assert not {"numba", "torch", "sklearn", "pandas", "matplotlib"} & set(loaded)


SESSION = """
import json
import numpy as np
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    from censquant import CQRNN, CensoredQuantileRegressor
    from censquant.datasets import make_norm_linear
    data = make_norm_linear(80, random_state=0)
    bits = []
    for model in ({models}):
        model.fit(data.X, data.y)
        bits.append(model.predict_quantiles(data.X, [0.1, 0.5], beyond="inf").tobytes().hex())
        bits.append(model.identified_level(data.X).tobytes().hex())
        bits.append(model.score(data.X, data.y).hex())
print(json.dumps({{"compiled": len(recorder.buffer), "bits": bits}}))
"""
SMALL = "hidden_layer_sizes=(4,), max_epochs=2, random_state=0"
NETWORKS = f"""
CQRNN({SMALL}, dropout=0.2, time_transform="log"),
CQRNN({SMALL}, head="increasing", activation="gelu", level_rule="interpolate", y_star=None),
CQRNN({SMALL}, early_stopping=True, validation_fraction=0.3, n_members=2, n_jobs=2),
"""


@pytest.mark.parametrize(
    "models",
    [
        pytest.param(NETWORKS, id="networks", marks=pytest.mark.slow),
        # Compiles every kernel of the package, which takes a minute or two.
        pytest.param(
            "CensoredQuantileRegressor(random_state=0),", id="recommended", marks=pytest.mark.slow
        ),
    ],
)
def test_a_second_process_compiles_nothing_and_gives_the_same_bits(tmp_path, models):
    session = SESSION.format(models=models)
    first, second = (
        json.loads(run(session, NUMBA_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT="0"))
        for _ in range(2)
    )
    assert first["compiled"] > 0
    assert second["compiled"] == 0
    assert second["bits"] == first["bits"]
