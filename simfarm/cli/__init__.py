"""The commands: each parses, makes one call and renders."""
