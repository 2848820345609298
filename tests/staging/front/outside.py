"""Programs with a loop that is written down, and what they read from outside: all of it are globals here."""

from shiftreset_ad import value


class Point:
    def __init__(self, height):
        self.height = height


TABLE, NUMBERS, POINTS = {"a": 2.0, "b": 3.0}, [1.0, 2.0], [Point(1.0), Point(2.0)]
ROWS, PAIRS, SOME, TWO = [[1.0], [2.0]], [(1.0, 2.0), (3.0, 1.0)], {1.0, 2.0}, (Point(1.0), Point(5.0))
VALUES, ITEMS, KEYS = TABLE.values(), TABLE.items(), TABLE.keys()


def grown(x):
    while x < 3.0:
        x = x * 1.5
    return x


def any_of_values(x):
    y = grown(x)
    return y if any(v > y for v in VALUES) else -y


def all_of_items(x):
    y = grown(x)
    return y if all(v < y for _, v in ITEMS) else -y


def any_by_keys(x):
    y = grown(x)
    return y if any(TABLE[k] > y for k in KEYS) else -y


def any_of_points(x):
    y = grown(x)
    return y if any(p.height > y for p in POINTS) else -y


def any_of_rows(x):
    y = grown(x)
    return y if any(row[0] > y for row in ROWS) else -y


def any_of_a_set(x):
    y = grown(x)
    return y if any(v > y for v in SOME) else -y


def any_of_a_tuple(x):
    y = grown(x)
    return y if any(p.height > y for p in TWO) else -y


def any_of_a_list(x):
    y = grown(x)
    heights = [p.height > y for p in POINTS]
    return y if any(heights) else -y


def in_a_branch(x):
    """The first call does not reach it."""
    y = grown(x)
    if y < 3.5:
        return y if any(v > 4.0 for v in VALUES) else -y
    return 2.0 * y


def in_a_branch_with_points(x):
    y = grown(x)
    if y < 3.5:
        y = y + (1.0 if all(p.height < 3.0 for p in TWO) else 2.0)
        for i, p in enumerate(reversed(POINTS)):
            y = y + i * p.height
        for p, row in zip(POINTS, ROWS, strict=False):
            y = y * p.height + row[0]
    return 2.0 * y


def zipped(x):
    y = grown(x)
    for p, row in zip(POINTS, ROWS, strict=False):
        if y > p.height * row[0]:
            break
        y = y + p.height
    return y


def numbered(x):
    y = grown(x)
    for i, p in enumerate(POINTS):
        if y > p.height + i:
            y = y - 0.5 * p.height
    return y


def from_the_end(x):
    y = grown(x)
    for p in reversed(POINTS):
        if y > p.height:
            break
        y = y + p.height
    return y


def by_an_index(x):
    y = grown(x)
    k, j = int(value(y)) % 2, 1
    return POINTS[k].height * y + ROWS[k][0] + POINTS[j].height * y + ROWS[j][0] * TWO[j].height


def greatest(x):
    y = grown(x)
    return max(p.height for p in POINTS) * y + max(v for v in VALUES) + min(NUMBERS)


def sums(x):
    y = grown(x)
    return sum(v for v in VALUES) * y + sum(b for _, b in PAIRS) + sum(NUMBERS)


def pairs(x):
    y = grown(x)
    for a, b in PAIRS:
        if y > a * b + 20.0:
            break
        y = y + a * b
    return y


PROGRAMS = [
    *(any_of_values, all_of_items, any_by_keys, any_of_points, any_of_rows, any_of_a_set, any_of_a_tuple),
    *(
        any_of_a_list,
        in_a_branch,
        in_a_branch_with_points,
        zipped,
        numbered,
        from_the_end,
        by_an_index,
        greatest,
        sums,
        pairs,
    ),
]
CHANGES = [
    lambda: TABLE.update(a=50.0),
    lambda: NUMBERS.__setitem__(0, 9.0),
    lambda: setattr(POINTS[0], "height", 90.0),
    lambda: ROWS[1].__setitem__(0, 9.0),
    lambda: TABLE.update(c=0.5),
    lambda: NUMBERS.append(7.0),
    lambda: POINTS.append(Point(0.1)),
    lambda: SOME.add(50.0),
    lambda: setattr(TWO[0], "height", 70.0),
    lambda: TABLE.update(b=-1.0),
    lambda: setattr(POINTS[1], "height", -3.0),
    lambda: ROWS[0].__setitem__(0, 4.0),
    lambda: setattr(TWO[1], "height", 3.0),
    lambda: PAIRS.__setitem__(1, (5.0, 6.0)),
    lambda: POINTS.__setitem__(0, Point(2.5)),
    lambda: ROWS.append([100.0]),
]
