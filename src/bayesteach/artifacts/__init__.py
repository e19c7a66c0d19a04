"""The values that flow between stages: frozen, and knowing nothing of disk."""

import lazy_loader

# As the public names of the package: a study's server reads stimuli without loading torch.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
