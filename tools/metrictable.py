"""The table of metrics, its page and the alerts, for tools/check-tables."""
import re

from csource import read

PAGE = "docs/guide/monitoring.md"


def pages(rows):
    """{page's name: its table}"""
    metrics = [r for r in rows if r["table"] == "metric"]
    if not metrics:
        return {}
    lines = ["| Metric | Type | Labels | Meaning |", "|---|---|---|---|"]
    lines += [f"| `{m['name']}` | {m['type']} | {', '.join(m['labels']) or '-'} | {m['help']} |" for m in metrics]
    return {"metrics": "\n".join(lines) + "\n"}


def check(metrics, routes):
    where, alerts = "src/master/watch/metric_rows.c", "etc/prometheus/det-alerts.yml"
    if not metrics:
        return
    names, text, page = [m["name"] for m in metrics], read(alerts), read(PAGE)
    for m in metrics:
        if not m["help"] or names.count(m["name"]) > 1:
            yield where, 1, f"'{m['name']}' has no help, or is there twice"
    for found in re.finditer(r"\bdet_[a-z_]+", text):
        name = re.sub(r"_(bucket|sum|count)$", "", found.group())
        if name not in names and found.group() not in names:
            yield alerts, text[:found.start()].count("\n") + 1, f"no metric is called '{found.group()}'"
    for pattern in re.findall(r'route=~"([^"]+)"', text):
        for part in pattern.split("|"):
            if not any(re.fullmatch(part, r["name"]) for r in routes):
                yield alerts, 1, f"no route is called '{part}'"
    for alert in re.findall(r"alert: (\w+)", text):
        if f"`{alert}`" not in page:
            yield PAGE, 1, f"does not say what to do about {alert}"
