"""Everything that bayesteach raises on purpose.

    BayesteachError
    ├── BadInput (a ValueError)   what was given cannot be used
    │   ├── BadShape              a tensor has the wrong sizes
    │   ├── NotFinite             a value is NaN or infinite
    │   ├── OutOfRange            a number or an index lies outside what is possible
    │   ├── Empty                 there is nothing to work on
    │   ├── BadPool               lessons cannot be made of these images
    │   ├── BadClassifier         a model, its weights or its labels do not serve
    │   ├── BadImage              a photo, or a list of photos, cannot be read
    │   ├── BadSettings           study.toml, or an option, asks for what there is not
    │   ├── BadStudy              a study's folder, or something in it, cannot be used
    │   ├── BadResponses          a table of responses cannot be read or analysed
    │   └── BadFormula            a formula cannot be read, or asks more than the responses can tell
    └── NotConverged              a search for an optimum did not settle

A message says what was found, where, and what to do.
"""


class BayesteachError(Exception):
    """The root: catch this to catch them all."""


class BadInput(BayesteachError, ValueError):
    """What was given cannot be used."""


class BadShape(BadInput):
    """A tensor has the wrong sizes."""


class NotFinite(BadInput):
    """A value is NaN or infinite."""


class OutOfRange(BadInput):
    """A number or an index lies outside what is possible."""


class Empty(BadInput):
    """There is nothing to work on."""


class BadPool(BadInput):
    """Lessons cannot be made of these images."""


class BadClassifier(BadInput):
    """A model, its weights or its labels do not serve."""


class BadImage(BadInput):
    """A photo, or a list of photos, cannot be read."""


class BadSettings(BadInput):
    """study.toml, or an option, asks for what there is not."""


class BadStudy(BadInput):
    """A study's folder, or something in it, cannot be used."""


class BadResponses(BadInput):
    """A table of responses cannot be read or analysed."""


class BadFormula(BadInput):
    """A formula cannot be read, or asks more than the responses can tell."""


class NotConverged(BayesteachError):
    """A search for an optimum did not settle; `partial` holds what was found all the same."""

    def __init__(self, message: str, partial: object = None) -> None:
        super().__init__(message)
        self.partial = partial
