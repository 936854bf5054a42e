"""Work that is asked for now and done later: requests, the queue, and the workers that empty it."""
