"""Find what two tables have in common, and reveal nothing else to the other side.

    me = vesica.Identity.load("me.identity")      # from Identity.create
    partner = vesica.Partner("vesica1-…", connect="partner.example.org:7788")
    run = vesica.intersect(frame, key="email", normalize="email",
                           learns="both", identity=me, partner=partner)
    run.rows                                      # the matching rows, as a frame

Both sides call the same function, or run the command `vesica run`.

    intersect    the rows whose keys the other side has too; also joins
    linked       the rows that match by rules, without the rules
    count, sum   the number of matching keys; the sum of one side's values over them
    products     the sum of the products of both sides' values
    threshold    whether at least a given number of keys match
    query        numbers by group over both tables, by a query in a subset of SQL
    shares       secret shares of the matching keys, which reveal nothing to either side
    check, plan  checks of a table before a run; the predicted cost of a run
    match_quality  the quality of rules by which rows match, on labelled tables
    publish      a list in which others can look up keys privately
    lookup       the rows whose keys are in a published list
    aio          all of these as coroutines
    preview      the disclosures of a run, before it
    Agreement    an agreement in a file; verify checks the record of a run
    spark, ray   matching rows of tables on a cluster
    simulate     both sides in one call, to try things out; simulate_parties for more
    local_pair   two partners in one process, for two calls

A table is a frame of Polars or pandas, a table of PyArrow, a relation of
DuckDB, any object with Arrow's PyCapsule interface, a path or an address.
Functions raise vesica.Error or a subclass such as vesica.InputError. Runs log
their steps to the logger "vesica", but never a value of a table.
"""

from importlib import import_module

from vesica import aio as aio
from vesica._agreements import Agreement as Agreement
from vesica._agreements import preview as preview
from vesica._agreements import verify as verify
from vesica._api import check as check
from vesica._api import count as count
from vesica._api import intersect as intersect
from vesica._api import linked as linked
from vesica._api import match_quality as match_quality
from vesica._api import plan as plan
from vesica._api import products as products
from vesica._api import query as query
from vesica._api import shares as shares
from vesica._api import sum as sum
from vesica._api import threshold as threshold
from vesica._errors import BugError as BugError
from vesica._errors import CancelledError as CancelledError
from vesica._errors import Error as Error
from vesica._errors import InputError as InputError
from vesica._errors import MissingFileError as MissingFileError
from vesica._errors import NetworkError as NetworkError
from vesica._errors import PeerError as PeerError
from vesica._errors import PolicyError as PolicyError
from vesica._errors import TermsError as TermsError
from vesica._errors import UsageError as UsageError
from vesica._lists import Lookup as Lookup
from vesica._lists import lookup as lookup
from vesica._lists import publish as publish
from vesica._native import Identity as Identity
from vesica._native import Table as Table
from vesica._native import __version__ as __version__
from vesica._partner import Parties as Parties
from vesica._partner import Partner as Partner
from vesica._partner import local_pair as local_pair
from vesica._run import Run as Run
from vesica._simulate import simulate as simulate
from vesica._simulate import simulate_parties as simulate_parties
from vesica._types import NumberOptions as NumberOptions
from vesica._types import Options as Options
from vesica._types import QueryOptions as QueryOptions
from vesica._types import RowOptions as RowOptions
from vesica._types import RuleOptions as RuleOptions

__all__ = [
    "Agreement",
    "BugError",
    "CancelledError",
    "Error",
    "Identity",
    "InputError",
    "Lookup",
    "MissingFileError",
    "NetworkError",
    "NumberOptions",
    "Options",
    "Parties",
    "Partner",
    "PeerError",
    "PolicyError",
    "QueryOptions",
    "RowOptions",
    "RuleOptions",
    "Run",
    "Table",
    "TermsError",
    "UsageError",
    "__version__",
    "aio",
    "check",
    "count",
    "intersect",
    "linked",
    "local_pair",
    "lookup",
    "match_quality",
    "plan",
    "preview",
    "products",
    "publish",
    "query",
    "shares",
    "simulate",
    "simulate_parties",
    "sum",
    "threshold",
    "verify",
]

_PRIVATE = {
    f"vesica.{name}"
    for name in ("_agreements", "_api", "_errors", "_lists", "_partner", "_run", "_simulate")
}

for _name in __all__:
    _thing = globals()[_name]
    # Tracebacks and help then show the public names.
    if getattr(_thing, "__module__", "") in _PRIVATE:
        _thing.__module__ = "vesica"


def __getattr__(name: str) -> object:
    """Import the modules for Spark and Ray on first use."""
    if name in ("ray", "spark"):
        return import_module(f"vesica.{name}")
    raise AttributeError(f"module 'vesica' has no attribute '{name}'")
