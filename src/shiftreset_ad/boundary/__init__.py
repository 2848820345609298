"""What comes in from the user's program, and what goes out to it: structures, arguments, answers, errors."""
