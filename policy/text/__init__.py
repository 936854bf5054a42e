"""JSON text: values that know their place, and the one layout of documents."""
