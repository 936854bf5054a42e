"""What sanitizing does to a table; knows no policy and no backend."""

from smalti.transforms.base import Transform
from smalti.transforms.mondrian import MondrianKAnonymity, MondrianLDiversity

ALL_TRANSFORMS: tuple[type[Transform], ...] = (MondrianKAnonymity, MondrianLDiversity)
"""Every transform that a policy can select by `m:method` and `s:algorithm`."""

if __name__ != "smalti.transforms":
    raise ImportError("import smalti.transforms, not transforms")
