"""Membership inference: the library of D5.1 chapter 3, and the attacks of the literature."""
