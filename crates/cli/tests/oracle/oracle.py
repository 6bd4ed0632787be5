"""The two halves of the matrix test: `make DIR` before the runs, `judge DIR` after them."""

import sys

match sys.argv[1:]:
    case ["make", root]:
        from cases import make

        make(root)
    case ["judge", root]:
        from judge import judge

        sys.exit(0 if judge(root) else 1)
    case _:
        sys.exit("usage: oracle.py make|judge DIR")
