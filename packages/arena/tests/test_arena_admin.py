"""The admin's page and its actions: only for admins, signed, and in a browser without a fault of axe."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import Served, context, settled_votes
from click.testing import CliRunner
from playwright.sync_api import Browser
from small_arena import Clock
from test_arena_over_http import run, visitors
from test_arena_pages import EACH_LOOK, faults

from salon_arena import ArenaDatabase, Material, RefusedError, WorkService, vote_service
from salon_arena.admin import Action, act
from salon_arena.quality import certified, overview
from salon_arena.service import AnswerBody
from salon_arena.verify import verify_answers
from salon_console import main

Body = Callable[..., AnswerBody]


def admin_of(service: WorkService) -> str:
    return service.people.join(invite=service.people.invite("admin").result()).result().rater_id


def test_only_admins_see_and_act_and_each_action_is_signed(
    service: WorkService, database: ArenaDatabase, clock: Clock, tmp_path: Path
) -> None:
    admin = admin_of(service)
    rater = service.people.join(occupation="design").result()
    for who in (rater.rater_id, "rater-none"):
        with pytest.raises(RefusedError, match="403 not_admin"):
            act(database, who, Action(action="forget", rater=rater.rater_id), clock.now)
    with pytest.raises(RefusedError, match="404"):
        act(database, admin, Action(action="suspend", rater="rater-none"), clock.now)
    with pytest.raises(RefusedError, match="422"):
        act(database, admin, Action(action="forget", rater=admin), clock.now)
    assert service.lease(admin).result()["tasks"] == []
    act(database, admin, Action(action="suspend", rater=rater.rater_id, days=3), clock.now)
    assert service.lease(rater.rater_id).result()["state"] == "suspended"
    act(database, admin, Action(action="recertify", rater=rater.rater_id), clock.now)
    assert service.lease(rater.rater_id).result()["state"] == "work"
    assert not database.read(lambda c: certified(c, rater.rater_id, clock.now, 180))
    code = act(database, admin, Action(action="invite", role="auditor"), clock.now)["invite"]
    assert service.people.join(invite=code).result()
    act(database, admin, Action(action="forget", rater=rater.rater_id), clock.now)
    assert service.people.returning(rater.token) is None
    roles = {person.rater_id: person.role for person in database.read(lambda c: overview(c, clock.now))}
    assert sorted(roles.values()) == ["admin", "auditor", "rater"] and roles[rater.rater_id] == "rater"
    log = database.read(lambda c: list(c.exec_driver_sql("SELECT action, detail FROM admin_log ORDER BY number")))
    assert [row[0] for row in log] == ["suspend", "recertify", "invite", "forget"] and code not in str(log)
    assert verify_answers(database).problems == ()
    database.backup(tmp_path / "copy.db")
    for change in ("UPDATE admin_log SET detail = '{}' WHERE number = 2", "DELETE FROM admin_log WHERE number = 1"):
        with sqlite3.connect(tmp_path / "copy.db") as copy:
            for (trigger,) in list(copy.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")):
                copy.execute(f"DROP TRIGGER {trigger}")
            copy.execute(change)
        copy.close()
        assert CliRunner().invoke(main, ["arena", "verify", "--database", str(tmp_path / "copy.db")]).exit_code == 1


def test_the_admins_addresses_are_closed_to_others_over_http(service: WorkService) -> None:
    async def work() -> None:
        async with visitors(service) as [visitor]:
            assert (await visitor.ask("GET", "/admin")).status_code == 404
            reply = await visitor.ask("POST", "/admin/actions", json={"action": "invite"})
            assert reply.status_code == 403 and reply.json() == {"error": "not_admin"}
            for wrong in ({"action": "drop"}, {"action": "suspend", "days": 1e9}, {"action": "invite", "role": "admin"}, []):
                assert (await visitor.ask("POST", "/admin/actions", json=wrong)).status_code in (403, 422)

    run(work)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme", "direction"), EACH_LOOK)
def test_the_admins_page_suspends_forgets_and_invites(
    browser: Browser, tmp_path: Path, material: Material, width: int, scheme: Any, direction: str
) -> None:
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        served = Served(tmp_path, service=vote_service(database, material))
        settled_votes(served, 30)
        rows = [{"rater_id": "x", "reason": "missed_anchors", "explanation": "<b>3 of 4</b>"}]
        rater = database.read(lambda c: overview(c, 0))[0].rater_id
        insert = "INSERT INTO flags (rater_id, reason, explanation) VALUES (?, 'missed_anchors', ?)"
        database.write(lambda c: c.exec_driver_sql(insert, (rater, rows[0]["explanation"])).rowcount).result()
        with context(browser, served, width, color_scheme=scheme, bypass_csp=True) as (person, heard):
            page = person.new_page()
            page.goto(f"{served.address}/#{served.service.people.invite('admin').result()}")
            page.get_by_role("button", name="I agree").click()
            page.wait_for_url(f"{served.address}/admin")
            page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
            assert faults(page) == []
            text = page.locator("main").inner_text()
            assert "missed_anchors: <b>3 of 4</b>" in text and "models listed" in text
            page.get_by_role("button", name=f"Suspend {rater}").click()
            page.get_by_role("button", name=f"Let {rater} go on").wait_for()
            page.get_by_role("button", name="Make an invite").click()
            page.wait_for_function("() => document.querySelector('#link').textContent.includes('#')")
            page.get_by_role("button", name=f"Forget {rater}").click()
            assert faults(page) == []
            page.get_by_role("button", name="No", exact=True).click()
            page.get_by_role("button", name=f"Forget {rater}").click()
            page.get_by_role("button", name="Yes").click()
            page.wait_for_function("() => document.querySelector('.log').textContent.includes('forget')")
            log = database.read(lambda c: list(c.exec_driver_sql("SELECT action, detail FROM admin_log ORDER BY number")))
            assert [row[0] for row in log] == ["suspend", "invite", "forget"] and json.loads(log[2][1])["rater"] == rater
            assert heard == []
        served.close()
