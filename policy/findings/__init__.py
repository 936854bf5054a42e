"""What is wrong with a document: codes, places, and how they are shown."""
