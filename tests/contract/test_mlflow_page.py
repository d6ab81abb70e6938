"""The page about production: its MLflow model answers as the model that it was made of."""

import os
import subprocess
import sys
from pathlib import Path

from test_docs_pages import blocks

ROOT = Path(__file__).parents[2]
PAGE = blocks((ROOT / "docs" / "production.md").read_text(encoding="utf-8"))


def test_the_mlflow_model_of_the_page_answers_as_the_model_and_holds_no_pickle(tmp_path):
    (wrapper,) = (block for block in PAGE if "import mlflow" in block)
    (tmp_path / "page.py").write_text(f"{PAGE[0]}\n{wrapper}", encoding="utf-8")
    # In a process of its own: MLflow changes logging, and warns of its own dependencies.
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "MLFLOW_DISABLE_TELEMETRY": "true",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "True\n", done.stderr
    stored = {path.name for path in (tmp_path / "mlflow-model").rglob("*") if path.is_file()}
    assert {"quantiles_model.py", "model.safetensors", "MLmodel"} <= stored
    assert not [name for name in stored if name.endswith(".pkl")]
    requirements = (tmp_path / "mlflow-model" / "requirements.txt").read_text(encoding="utf-8")
    assert "censquant==" in requirements
