"""The kinds of numbers, one package each: how a number carries its derivative."""
