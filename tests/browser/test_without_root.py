"""The option to run without root, and a run whose pods are refused, in a real browser."""

import json
import re
import urllib.request
from typing import Any

import pytest
import yaml

from tests.browser.test_accessibility import violations

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

REFUSED_MS = 120_000  # half a minute of refusals, then its verdict
KEPT = "kept"


@pytest.fixture(scope="module")
def kept(demo: Any) -> Any:
    """The demo with a namespace that enforces restricted pod security."""
    server = yaml.safe_load(demo.kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    body = json.dumps({"metadata": {"name": KEPT, "labels": labels}}).encode()
    headers = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(f"{server}/api/v1/namespaces", body, headers), timeout=10).close()
    return demo


def test_the_box_follows_the_namespace(kept: Any, page: Any) -> None:
    page.goto(f"{kept.address}experiments/seed/")
    box, namespace = page.get_by_label("Run without root"), page.get_by_label("Namespace", exact=True)
    assert not box.is_checked()
    assert "enforces by its label: nothing" in page.locator("#about-restricted").inner_text()
    namespace.select_option(KEPT)
    page.locator("#about-restricted", has_text="enforces restricted pod security").wait_for()
    assert box.is_checked()
    page.locator("#manifest", has_text="runAsNonRoot: true").wait_for()
    assert namespace.evaluate("one => one === document.activeElement") or namespace.input_value() == KEPT
    assert not violations(page)
    box.focus()
    page.keyboard.press("Space")
    page.wait_for_function("() => !document.querySelector('#manifest pre').textContent.includes('runAsNonRoot')")
    assert not box.is_checked(), "what somebody chose stays"
    namespace.select_option("default")
    page.locator("#about-restricted", has_text="nothing").wait_for()
    assert not box.is_checked()


@pytest.mark.deep  # half a minute each, until what lasts is told
def test_a_run_whose_pods_are_refused_says_so(kept: Any, page: Any) -> None:
    page.goto(f"{kept.address}experiments/failing-sidecar/?namespace={KEPT}")
    page.get_by_label("Run without root").uncheck()
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(re.compile(r"/experiments/runs/"))
    refused = page.locator("#checklist tr", has_text="The pods can be created.")
    refused.wait_for(timeout=REFUSED_MS)
    assert 'violates PodSecurity "restricted:latest"' in refused.inner_text()
    page.locator("#checklist [data-overall=different]").wait_for(timeout=REFUSED_MS)
    page.locator("#checklist", has_text="cleaned up").wait_for(timeout=REFUSED_MS)
    assert not violations(page)
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    page.set_viewport_size({"width": 390, "height": 900})
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.deep
def test_without_root_it_is_as_expected_there(kept: Any, page: Any) -> None:
    page.goto(f"{kept.address}experiments/failing-sidecar/?namespace={KEPT}")
    assert page.get_by_label("Run without root").is_checked()
    page.get_by_role("button", name="Launch").click()
    page.locator("#checklist [data-overall='as expected']").wait_for(timeout=REFUSED_MS)
