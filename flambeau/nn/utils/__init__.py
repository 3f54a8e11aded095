"""Helpers for modules and their parameters."""
