"""How well two colours can be told apart, and what the dark theme makes of a colour."""

import numpy as np
from matplotlib.colors import to_rgb


def contrast(a, b):
    """WCAG 2 contrast ratio of two colours, from 1 to 21; text needs 4.5 (level AA)."""
    luminances = []
    for color in (a, b):
        srgb = np.asarray(to_rgb(color))
        linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
        luminances.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    darker, lighter = sorted(luminances)
    return (lighter + 0.05) / (darker + 0.05)


def dark_theme(color):
    """What the site's CSS filter ``invert(1) hue-rotate(180deg)`` makes of a colour.

    The matrix is that of the Filter Effects specification for 180 degrees.
    """
    matrix = np.array([[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]])
    return tuple(np.clip(matrix @ (1 - np.asarray(to_rgb(color))), 0, 1))
