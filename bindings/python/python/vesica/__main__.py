"""The command ``vesica``, which comes with the package."""

import sys

from vesica import _native


def main() -> int:
    """Run the command with the arguments of this process."""
    return _native.main(["vesica", *sys.argv[1:]], sys.executable)


if __name__ == "__main__":
    sys.exit(main())
