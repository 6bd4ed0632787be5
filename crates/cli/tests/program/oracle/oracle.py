"""The two halves of the matrix test: `make DIR` before the runs, `judge DIR` after them. `texts DIR COUNT` is another test's."""

import json
import pathlib
import sys

from cases import Cases, every_profile, every_shape, every_type
from joins import every_join
from judge import judge
from texts import every_text


def make(root):
    cases = Cases(root)
    for kind in (every_type, every_profile, every_shape, every_join):
        kind(cases)
    (pathlib.Path(root) / "cases.json").write_text(json.dumps(cases.cases))


match sys.argv[1:]:
    case ["make", root]:
        make(root)
    case ["judge", root]:
        sys.exit(0 if judge(root) else 1)
    case ["texts", root, count]:
        every_text(root, int(count))
    case _:
        sys.exit("usage: oracle.py make|judge DIR, or texts DIR COUNT")
