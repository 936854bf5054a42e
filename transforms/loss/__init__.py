"""What is lost: of one release and of several, and what may be believed after it."""
