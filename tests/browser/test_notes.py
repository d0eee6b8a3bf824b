# SPDX-License-Identifier: Apache-2.0
"""Notes in Markdown: what is shown, and that nothing a writer writes becomes markup or a script."""
from harness import BrowserTest, expect

TEXT = """# Result

See [the *first* paper](https://example.org/a_(b)?x=1&y=2 "a title"), [trial 2](/det/trials/2) and https://example.org/c_d_e. Snake_case_name, 2*3*4 and **bold**.
![a picture](https://example.org/p.png) \\*no star\\*

| name | `code` | value |
|:-----|:------:|------:|
| lr   | `a|b`  | 0.1   |
| **loss** | a \\| b | 0.02 | too many |
| short |

- one
  - inside
    1. deeper
- two
3. third

> quoted
> - in a list

```python
def f(x): return "<b>text</b>"  # comment
```
---
last
"""
ATTACKS = r"""<script>window.hit = 1</script>
<img src=x onerror="window.hit = 1">
<svg/onload=hit=1><a href="javascript:hit=1">x</a>
[a](javascript:window.hit=1)
[a](JaVaScRiPt:window.hit=1)
[a](java&#x73;cript:window.hit=1)
[a](&#106;avascript:window.hit=1)
[a](data:text/html,<script>window.hit=1</script>)
[a](vbscript:msgbox)
[a](blob:http://127.0.0.1/x)
[a](file:///etc/passwd)
[a](//example.org/x)
[a](https://example.org/"onmouseover="window.hit=1)
[a](<javascript:window.hit=1>)
[a]( javascript:window.hit=1)
[<img src=x onerror=hit=1>](https://example.org)
[a](https://example.org "x" onclick="hit=1")
![x](javascript:window.hit=1)
![" onerror="hit=1](x)
https://example.org/"onmouseover="hit=1
<https://example.org/><script>hit=1</script>
**<b onclick=hit=1>x</b>** *<i>* `<u>`
# <style>*{display:none}</style>
| <th onclick=hit=1> | [x](javascript:hit=1) |
|---|---|
| <td><script>hit=1</script> | <iframe srcdoc="<script>parent.hit=1</script>"> |

```<script>hit=1</script>
</code></pre><script>hit=1</script>
```
&lt;script&gt; {{7*7}} ${7*7}
[a](http://[bad) [b](http://)
"""
ALLOWED = {"H2", "H3", "H4", "P", "BR", "A", "EM", "STRONG", "CODE", "PRE", "SPAN", "UL", "OL", "LI", "BLOCKQUOTE", "HR", "DIV", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD"}


class Notes(BrowserTest):
    def shown(self, text):
        id_ = self.testbed.create("noted", "#!/bin/sh\n", paused=True)
        self.testbed.api("PATCH", f"/api/v1/experiments/{id_}", {"notes": text})
        page = self.page_at(f"/det/experiments/{id_}/notes")
        expect(page.locator(".prose")).to_be_visible()
        return page

    def test_links_tables_and_lists_are_shown(self):
        page = self.shown(TEXT)
        prose = page.locator(".prose")
        links = prose.get_by_role("link")
        expect(links).to_have_text(["the first paper", "trial 2", "https://example.org/c_d_e", "a picture"])
        self.assertEqual(links.evaluate_all("(all) => all.map((one) => [one.getAttribute('href'), one.rel, one.target])"), [
            ["https://example.org/a_(b)?x=1&y=2", "noopener noreferrer", "_blank"], [self.testbed.url + "/det/trials/2", "noopener noreferrer", ""],
            ["https://example.org/c_d_e", "noopener noreferrer", "_blank"], ["https://example.org/p.png", "noopener noreferrer", "_blank"]])
        expect(prose.locator("p").first).to_contain_text("Snake_case_name, 2*3*4 and bold.")
        expect(prose.locator("p").first).to_contain_text("*no star*")
        expect(prose.get_by_role("columnheader")).to_have_text(["name", "code", "value"])
        expect(prose.get_by_role("cell")).to_have_text(["lr", "a|b", "0.1", "loss", "a | b", "0.02", "short", "", ""])
        expect(prose.get_by_role("cell").nth(2)).to_have_css("text-align", "right")
        expect(prose.locator("ul > li > ul > li > ol > li")).to_have_text("deeper")
        expect(prose.locator(":scope > ol")).to_have_attribute("start", "3")
        expect(prose.locator("blockquote li")).to_have_text("in a list")
        expect(prose.locator("pre")).to_have_text('def f(x): return "<b>text</b>"  # comment')
        expect(prose.locator("pre .y-comment")).to_have_text("# comment")
        self.looks(page, "notes-markdown")

    def test_nothing_that_is_written_becomes_markup(self):
        page = self.shown(ATTACKS)
        prose = page.locator(".prose")
        tags = set(prose.locator("*").evaluate_all("(all) => all.map((one) => one.tagName)"))
        self.assertLessEqual(tags, ALLOWED)
        names = set(prose.locator("*").evaluate_all("(all) => all.flatMap((one) => one.getAttributeNames())"))
        self.assertLessEqual(names, {"href", "rel", "target", "class", "scope", "style", "start", "tabindex", "role", "aria-label"})
        addresses = prose.get_by_role("link").evaluate_all("(all) => all.map((one) => one.protocol)")
        self.assertGreater(len(addresses), 3)
        self.assertLessEqual(set(addresses), {"http:", "https:"})
        self.assertEqual(prose.get_by_role("link").evaluate_all("(all) => all.filter((one) => one.rel !== 'noopener noreferrer').length"), 0)
        expect(prose).to_contain_text("<script>window.hit = 1</script>")
        expect(prose).to_contain_text("[a](javascript:window.hit=1)")
        self.assertIsNone(page.evaluate("window.hit ?? null"))
        self.fits(page)

    def test_no_text_is_too_odd(self):
        page = self.shown("x")
        sizes = page.evaluate("""async () => {
            const base = document.querySelector('link[rel=modulepreload]').href;
            const {rendered} = await import(new URL('markdown.js', base).href);
            const texts = ['>', '- ', '* ', '[', '](', '**', '`', '|', '|-', '![a](', '_a', '1. ', '\\n- ', '\\n> ', '\\n|-|', 'http://', '\\\\', '(', '#', '\\n```\\n'].map((one) => one.repeat(10000 / one.length));
            return texts.map((text) => rendered(text).length);
        }""")
        self.assertEqual([size for size in sizes if not size], [])

    def test_the_notes_of_a_project_are_shown_in_the_same_way(self):
        space = self.testbed.api("POST", "/api/v1/workspaces", {"name": "Notes"})["workspace"]["id"]
        project = self.testbed.api("POST", f"/api/v1/workspaces/{space}/projects", {"name": "noted"})["project"]["id"]
        self.testbed.api("POST", f"/api/v1/projects/{project}/notes", {"name": "Plan", "contents": "| a | b |\n|---|---|\n| [x](https://example.org) | [y](javascript:1) |\n"})
        page = self.page_at(f"/det/projects/{project}/notes")
        expect(page.get_by_role("cell")).to_have_text(["x", "[y](javascript:1)"])
        expect(page.locator(".prose").get_by_role("link")).to_have_count(1)
