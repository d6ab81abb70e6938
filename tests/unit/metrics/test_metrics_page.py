import re
from pathlib import Path

import censquant.metrics

PAGE = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")


def test_the_page_describes_every_metric():
    names = censquant.metrics.__all__
    assert [name for name in names if not re.search(rf"`(?:\w+\()?{name}\b", PAGE)] == []


def test_the_code_of_the_page_runs():
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    names = {}
    exec(code, names)
    result = names["coverage"](names["y"], names["predicted"][:, 0], names["predicted"][:, -1])
    assert abs(result.estimate - 0.8) < 3 * result.standard_error
