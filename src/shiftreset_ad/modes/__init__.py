"""The kinds of numbers, one package each: how a number of that kind carries its derivative."""
