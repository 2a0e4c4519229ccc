"""The role colours: one colour per role in formulas, words and pictures.

The light shades are the ones authors write in formulas, ``\\textcolor{#0072B2}{Q}``.  They are
Okabe-Ito colours, darkened where needed to reach a contrast of 4.5:1 on white; the dark shades
reach it on the dark page.  ``attention_core.plotting`` owns the same table for the pictures
(importing it here would load torch for every build), and a test keeps the two, and the
stylesheet, equal.
"""

ROLE_COLORS = {
    "query": "#0072B2",
    "key": "#B34700",
    "value": "#00735A",
    "weights": "#9B4579",
    "scores": "#595959",
}

ROLE_COLORS_DARK = {
    "query": "#6CB8EA",
    "key": "#FF9A57",
    "value": "#3CC9A5",
    "weights": "#E59AC6",
    "scores": "#B5B5B5",
}
