"""Debugging for people: `debug()`, and errors on the way back that name the operation they belong to.

`places` says where in the user's program an operation is; `watching` looks for NaNs and infinities; `notes` puts the
operation into an error on the way back. `tags` has the switch, and knows nothing of them.
"""
