"""From the bytes of a document, JSON-LD or Turtle, to nodes that know their place."""
