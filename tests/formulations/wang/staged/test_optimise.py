"""What a compiler would do."""

from shiftreset_ad.formulations.wang.staged import FUN, IF, WHILE, cpp, generate, grad, optimise, pseudo, python


def lines(f):
    return pseudo.show(optimise(generate(f))).split("\n")[1:-1]


def test_a_straight_line_program_is_its_derivative():
    assert cpp.show(optimise(generate(grad(lambda x: x * x)))).split("\n")[1:-1] == ["  return 2.0 * in;"]
    assert lines(grad(lambda x: 2.0 * x + 3.0)) == ["  2.0"]


def test_a_function_that_is_called_once_is_written_there():
    assert lines(grad(lambda x: FUN(lambda t: t * t)(x))) == ["  2.0 * in"]


def test_a_function_that_calls_itself_stays():
    assert any("loop = " in line for line in lines(grad(lambda x: WHILE(x, lambda t: t > 1.0, lambda t: t * 0.5))))


def test_cells_of_both_branches_are_made_before():
    text = lines(grad(lambda x: IF(x > 0.0, lambda: -1.0 * x * x, lambda: x * x)))
    assert [line for line in text if "ref" in line] == ["  d0 = ref 0"]


def test_digits():
    """Sums are put into another order, so that the last digits may differ; no more than these."""
    f = generate(grad(lambda x: x * 0.1 + x * 0.2 + x * 0.3))
    assert abs(python.compiled(optimise(f))(1.0) - python.compiled(f)(1.0)) <= 2e-16
