"""Control that a staged function writes down."""
