"""What writes the JSON Schema and the SHACL shapes of policies, from the tables of the language."""
