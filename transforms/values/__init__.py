"""The values of a column: their meaning, their generalised form, and the loss of generalising them."""
