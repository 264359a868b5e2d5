"""The meaning of scalar functions, by id: each builder gets the call and the settings.

What a builder returns is applied to argument values that are not NULL (except for
functions that are never NULL or have their own NULL rule).
"""

from tests.reference.functions.arrays import ARRAYS
from tests.reference.functions.base import Builder, Settings
from tests.reference.functions.casts import CASTS
from tests.reference.functions.dates import DATES
from tests.reference.functions.numbers import NUMBERS
from tests.reference.functions.pythonic import PYTHONIC
from tests.reference.functions.texts import TEXTS

SCALARS: dict[str, Builder] = {**NUMBERS, **TEXTS, **ARRAYS, **DATES, **CASTS, **PYTHONIC}

__all__ = ["SCALARS", "Settings"]
