"""Chapters lie outside tests/, and a plugin for all folders is named at the root."""

pytest_plugins = ["notebook_plugin"]
