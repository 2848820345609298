"""What a number is, what a program can ask of it, and how each call finds its rule; no mode of differentiation."""
