"""One function a figure, drawn on matplotlib axes."""
