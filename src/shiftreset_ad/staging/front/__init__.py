"""Plain Python with tests of staged values becomes branches and loops that are written down, by its syntax tree."""
