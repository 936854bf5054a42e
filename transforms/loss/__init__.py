"""Privacy losses of one release and of several, and the beliefs that they allow."""
