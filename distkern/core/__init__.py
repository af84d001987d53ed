"""Foundations that every other package imports: errors, protocols, validation, random streams, containers, events."""
