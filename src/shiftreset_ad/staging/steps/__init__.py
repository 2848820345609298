"""Values that write down, as steps, what is computed with them."""
