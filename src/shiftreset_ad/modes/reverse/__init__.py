"""Reverse mode: numbers whose operations capture the rest of the program, and go back."""
