"""What is planned: nodes, their JSON and digest, and what plans of all kinds share."""
