"""Words that nothing says of its results."""

import re

CLAIMS = re.compile(r"\b(?:anonymous|safe|compliant|certified private)\b", re.IGNORECASE)
