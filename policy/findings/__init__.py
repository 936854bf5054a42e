"""The findings about a document: codes, places, and how they are shown."""
