"""The README's Python runs as it stands there, and prints what its comments say."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_readme_runs_and_prints_what_it_says():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 7
    (term,) = re.findall(r"```ocaml\n(.*?)```", README, re.DOTALL)
    names = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(block, names)
    assert term in printed.getvalue()
    first, second, gradient, *derivatives, heat, slopes, another, ways, cube = (
        printed.getvalue().replace(term, "").splitlines()
    )
    assert first == "0.35355339059327373"
    np.testing.assert_allclose(float(second), -(2.0**-1.5) / 4, rtol=1e-9)
    assert gradient.startswith("{'w'")
    assert derivatives == [
        *("[-2. -2.  4.]", "[-2.  4. -2.]", "[1. 1. 1. 1. 1.]", "16.0"),
        *("(12.0, 12.0)", "{'mass': 4.5, 'spring': 0.5}"),
    ]
    assert heat == "[1.4375 0.625  0.9375 0.9375 0.625  1.4375]"
    assert f"print(slope(2.0), slope(3.0))           # {slopes}\n" in README
    assert f"# {another}, after more rounds" in README
    assert ways == "2"
    assert cube == "12.0"
    np.testing.assert_array_equal(names["grad"](names["f"])(np.ones(3)), [6.0, 6.0, 6.0])
