"""Section 4: its examples are generated as the paper prints them, and run, in Python and in C++."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from shiftreset_ad.formulations.wang import staged
from shiftreset_ad.formulations.wang.staged import cpp, optimise, pseudo, python, simplify

from .examples import EXAMPLES, VALUES

# As the paper prints them, but for the order of factors.
INTERMEDIATE = {
    "4.1": """
def snippet(in) = {
  d0 = ref 0
  v1 = in * in
  d1 = ref 0
  d1 := 1.0
  d0 += in * !d1
  d0 += in * !d1
  !d0
}
""",
    "4.2": """
def snippet(in) = {
  d0 = ref 0
  k = (x, d) => {
    d := 1.0
  }
  if (in > 0.0) {
    v1 = -in * in
    d1 = ref 0
    k(v1, d1)
    d0 += -in * !d1
    d0 += -in * !d1
    !d0
  } else {
    v1 = in * in
    d1 = ref 0
    k(v1, d1)
    d0 += in * !d1
    d0 += in * !d1
    !d0
  }
}
""",
    "4.3": """
def snippet(in) = {
  d0 = ref 0
  loop = (x, d) => {
    if (x > 1.0) {
      v1 = 0.5 * x
      d1 = ref 0
      loop(v1, d1)
      d += 0.5 * !d1
    } else {
      d := 1.0
    }
  }
  loop(in, d0)
  !d0
}
""",
    "4.4": """
def snippet(tree, in) = {
  d0 = ref 0
  k = (x, d) => {
    d := 1.0
  }
  f1 = (t, k0) => {
    if (t.notEmpty) {
      k_l = (x_l, d_l) => {
        k_r = (x_r, d_r) => {
          v0 = t.value
          v1 = x_l * x_r * v0
          d1 = ref 0
          k0(v1, d1)
          d_l += x_r * v0 * !d1
          d_r += x_l * v0 * !d1
        }
        f1(t.right, k_r)
      }
      f1(t.left, k_l)
    } else {
      k0(in, d0)
    }
  }
  f1(tree, k)
  !d0
}
""",
}

# As the paper prints them, but for names, and for `std::function` where the paper has `auto` for a recursive function.
CPP = {
    "4.1": """
double snippet(double in) {
  return 2.0 * in;
}
""",
    "4.2": """
double snippet(double in) {
  auto k = [&](double x, double& d) {
    d = 1.0;
  };
  double d0 = 0.0;
  if (in > 0.0) {
    k(-in * in, d0);
    return -2.0 * in * d0;
  } else {
    k(in * in, d0);
    return 2.0 * in * d0;
  }
}
""",
    "4.3": """
double snippet(double in) {
  std::function<void(double, double&)> loop = [&](double x, double& d) {
    if (x > 1.0) {
      double d0 = 0.0;
      loop(0.5 * x, d0);
      d += 0.5 * d0;
    } else {
      d = 1.0;
    }
  };
  double d0 = 0.0;
  loop(in, d0);
  return d0;
}
""",
    "4.4": """
double snippet(const Tree* tree, double in) {
  double d0 = 0.0;
  auto k = [&](double x, double& d) {
    d = 1.0;
  };
  std::function<void(const Tree*, const std::function<void(double, double&)>&)> f1 = [&]
      (const Tree* t, const std::function<void(double, double&)>& k0) {
    if (t->notEmpty) {
      auto k_l = [&](double x_l, double& d_l) {
        auto k_r = [&](double x_r, double& d_r) {
          double v0 = t->value;
          double d1 = 0.0;
          k0(x_l * x_r * v0, d1);
          d_l += x_r * v0 * d1;
          d_r += x_l * v0 * d1;
        };
        f1(t->right, k_r);
      };
      f1(t->left, k_l);
    } else {
      k0(in, d0);
    }
  };
  f1(tree, k);
  return d0;
}
""",
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_intermediate_representation_is_that_of_the_paper(example):
    assert pseudo.show(simplify(EXAMPLES[example])) == INTERMEDIATE[example].strip()


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_optimised_program_in_cpp_is_that_of_the_paper(example):
    assert cpp.show(optimise(EXAMPLES[example])).split("\n") == CPP[example].replace(
        "[&]\n      (", "[&]("
    ).strip().split("\n")


@pytest.mark.parametrize("change", [lambda program: program, simplify, optimise], ids=["as is", "simplify", "optimise"])
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_program_in_python(example, change):
    f = python.compiled(change(EXAMPLES[example]))
    for arguments, expected in VALUES[example]:
        assert f(*arguments) == expected


@pytest.mark.skipif(cpp.compiler() is None, reason="no C++ compiler is here")
def test_the_programs_in_cpp():
    programs = {
        (example, change.__name__): replace(change(program), name=f"example_{i}_{change.__name__}")
        for i, (example, program) in enumerate(EXAMPLES.items())
        for change in (replace, simplify, optimise)
    }
    for (example, _), f in zip(programs, cpp.library(list(programs.values())), strict=True):
        for arguments, expected in VALUES[example]:
            assert f(*arguments) == expected


def test_this_room_imports_no_other():
    """It imports itself, the syntax that rooms share, and `shift` and `reset`."""
    shared = ("wang.staged", "overloading")
    for path in Path(staged.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("shiftreset_ad"):
                name = node.module.removeprefix("shiftreset_ad.").removeprefix("formulations.")
                assert name == "control" or name.startswith(shared), f"{path.name} imports {node.module}"
