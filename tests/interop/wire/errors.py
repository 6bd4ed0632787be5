"""Why a run ends early."""


class Refused(Exception):
    """The other side sent what it must not. `code` is the reason of the abort that this side sends."""

    def __init__(self, why, code=4):
        super().__init__(why)
        self.why = why
        self.code = code


class Aborted(Exception):
    """The other side stopped, for the reason `code`."""

    def __init__(self, code):
        super().__init__(f"the other side aborted with code {code}")
        self.code = code


class Closed(Exception):
    """The connection has ended."""
