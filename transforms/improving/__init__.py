"""Groups of tuples, improved by a search of limited effort; the caller says what groups must meet."""
