"""The service: the functions of the command line over HTTP, for whoever can say who they are.

`operations` says what an operation is, `routes/` has all of them, `handling` is the one way through.
"""
