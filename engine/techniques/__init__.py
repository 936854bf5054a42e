"""Single techniques: stated, bound to columns, carried out on rows, and said in certificates."""
