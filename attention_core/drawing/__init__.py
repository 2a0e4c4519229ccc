"""The drawing that grows through the book: the data flow of attention, one SVG per chapter.

What a chapter adds is lit, in the colours of the roles; what earlier chapters explained is grey
and leads back to them. Needs torch, and IPython to `show` a drawing.

``pen``      shapes, arrows, numbers and words, as SVG
``scene``    what a drawing shows, and its numbers, computed by `attention_core`
``inside``   one attention: chapters 1 to 5
``around``   several attentions, and a layer: chapters 6 to 8
``machine``  the Transformer: chapters 9 and later
``book``     the scenes of the chapters, with their captions
``figure``   SVG, description, and the figure with its caption
"""

from attention_core.drawing._figure import description, show, svg

__all__ = ["description", "show", "svg"]
