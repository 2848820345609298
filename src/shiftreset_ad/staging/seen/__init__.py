"""What a staged function sees beside its arguments, and has to find as it was."""
