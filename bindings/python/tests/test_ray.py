"""A Ray cluster with a gateway, and the command line on the other side: in the second tier."""

from __future__ import annotations

from pathlib import Path

from gateways import Pair


def test_a_ray_cluster_and_the_command_line(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    pair.here.start_gateway()
    driver = pair.here.start_driver("ray_driver.py")
    run = pair.there.start("run", "acme", "--resume", "journal", "--wait", "120")
    pair.check(pair.here, driver)
    assert run.wait(60) == 0, pair.said()
    assert pair.there.found() == pair.expected["accepter"]
    left = [path for path in (pair.here.folder / "scratch").rglob("*.parquet") if path.is_file()]
    assert left and all("matched" in str(path) for path in left)
